"""Notebook kernels forked from a process that has imported what notebooks import.

A kernel spends more time on its imports than most notebooks do on their numbers. Here one process imports
everything once and, for each notebook, forks a child that becomes the kernel: an ordinary one with its own
namespace, folder, environment, random numbers, sockets and threads. Where processes cannot be forked, or the
kernel that is asked for is not this Python's own, the kernel is started as Jupyter starts it.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, TypeAlias

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

_NAME = "storm-lab-warm"
_LAUNCHER = "ipykernel_launcher"

_IMPORTED = (
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "storm_lab.papers.registry",
    "storm_lab.pipeline.summary",
    "storm_lab.reporting.figures.shown",
    "storm_lab.runs.study",
)
"""What takes long to import and most notebooks need. None of it may start a thread, which a fork would lose:
then no kernel is forked."""

_START_S = 60.0
"""Time for these imports, far more than they take: then something has got stuck."""

_PAUSE_S = 0.005
_LEAVE_S = 2.0
"""A kernel that was asked to end takes some hundredths of a second: it is looked at that often for that long,
before its manager goes on looking every tenth of a second, and ends it in its own ways."""

_Order: TypeAlias = tuple[list[str], str, dict[str, str]]
"""A kernel to fork: arguments of its program, folder, environment."""


class _Forked:
    """A forked kernel, as far as `LocalProvisioner` knows processes."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int, pipe: Connection[Any, Any]) -> None:
        self.pid = pid
        self._pipe = pipe
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None and (self._pipe.closed or self._pipe.poll()):
            self.wait()
        return self._code

    def wait(self) -> int:
        if self._code is None:
            try:
                self._code = int(self._pipe.recv())
            except (EOFError, OSError):
                # Without the warm process a kernel ends by itself.
                self._code = 1
        return self._code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _WarmProcess:
    """The process that forks kernels, one at a time, seen from outside. It ends when this process does."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self._kernel: _Forked | None = None
        self._pipe, theirs = Pipe()
        with theirs:
            # Out of reach of the terminal's Ctrl-C, and in a folder that nothing is imported from.
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import serve; serve({theirs.fileno()})"],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=os.sep,
                start_new_session=True,
            )
        atexit.register(self.end)

    def fork(self, order: _Order) -> _Forked | None:
        """A new kernel; None if the last one is still running, or the process does not answer."""
        if self._kernel is not None and self._kernel.poll() is None:
            return None
        try:
            self._pipe.send(order)
            if self._pipe.poll(_START_S):
                self._kernel = _Forked(self._pipe.recv(), self._pipe)
                return self._kernel
        except (EOFError, OSError):
            pass
        self.end()
        return None

    def end(self) -> None:
        """End the process, which ends its kernel."""
        atexit.unregister(self.end)
        self._pipe.close()
        self._process.kill()
        self._process.wait()


_warm: _WarmProcess | None = None


class WarmProvisioner(LocalProvisioner):
    """Has a kernel forked where that is possible, and starts it like its parent class where it is not."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Fork the kernel from the warm process, or start it as usual where there is none."""
        if _warm is not None and cmd[:3] == [sys.executable, "-m", _LAUNCHER]:
            folder = str(kwargs.get("cwd") or Path.cwd())
            process = _warm.fork((cmd[3:], folder, kwargs["env"]))
            if process is not None:
                self.process = process  # type: ignore[assignment]
                self.pid = self.pgid = process.pid
                self.cwd = folder
                return self.connection_info
        return await super().launch_kernel(cmd, **kwargs)

    async def shutdown_requested(self, restart: bool = False) -> None:
        """Wait a moment for the kernel to leave by itself."""
        end = time.monotonic() + _LEAVE_S
        while await self.poll() is None and time.monotonic() < end:
            await asyncio.sleep(_PAUSE_S)


def warm_up() -> None:
    """Have the kernels that this process starts from now on forked.

    Returns at once, while the other process imports. Nothing happens where that process runs already, or
    where processes cannot be forked; in a changed environment it is started anew.
    """
    global _warm
    if _warm is not None:
        if _warm.environment == os.environ:
            return
        _warm.end()
    elif not _can_fork():
        return
    _warm = _WarmProcess()
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[_NAME] = EntryPoint(_NAME, f"{__name__}:WarmProvisioner", factory.GROUP_NAME)
    factory.default_provisioner_name = _NAME


def _can_fork() -> bool:
    """Whether a process with libraries like ours may fork and watch its children here.

    That is so on a Linux that is not too old.
    """
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def serve(handle: int) -> None:
    """Main function of the warm process: forks kernels as they are ordered, until nobody can order any more.

    Returns in a kernel's process too, when the kernel has ended.
    """
    # As a kernel sets it for itself before a cell can import matplotlib.
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    if sys.path[0] == "":
        del sys.path[0]
    for name in _IMPORTED:
        importlib.import_module(name)
    # Kernels share what is there now, and none need look through it for garbage.
    gc.collect()
    gc.freeze()
    parent = os.getpid()
    with Connection(handle) as pipe:
        order = _last_order(pipe)
    if order is not None:
        _be_kernel(order, parent)


def _last_order(pipe: Connection[Any, Any]) -> _Order | None:
    """Fork for each order from the pipe. In a child returns its order; in the parent None, at the end."""
    while threading.active_count() == 1:
        try:
            order: _Order = pipe.recv()
            kernel = os.fork()
            if kernel == 0:
                return order
            pipe.send(kernel)
            pipe.send(_end_of(kernel, pipe))
        except (EOFError, OSError):
            return None
    return None


def _end_of(kernel: int, pipe: Connection[Any, Any]) -> int:
    """Wait for a kernel's end, and return its exit status.

    Raises:
        EOFError: whoever ordered the kernel is gone.
    """
    ended = os.pidfd_open(kernel)
    try:
        if pipe in wait([pipe, ended]):
            raise EOFError
    finally:
        os.close(ended)
    return os.waitstatus_to_exitcode(os.waitpid(kernel, 0)[1])


def _be_kernel(order: _Order, parent: int) -> None:
    """Bring this process to where a fresh one would be, and run the kernel in it."""
    import numpy as np
    from ipykernel.kernelapp import IPKernelApp

    arguments, folder, environment = order
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment, JPY_PARENT_PID=str(parent))
    # Python's own generator sees to itself.
    np.random.seed()  # noqa: NPY002
    launcher = find_spec(_LAUNCHER)
    sys.argv = [str(launcher and launcher.origin), *arguments]
    IPKernelApp.launch_instance(parent_handle=parent)
