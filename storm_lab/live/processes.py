"""Finds and ends the processes of a live cluster, workers among them, by a mark in their environment.

Every process that a cluster starts carries its token in an environment variable and passes it on to its
children. So they can be found even when the process that started the cluster is gone.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storm_lab.machine.facts import lines_of
from storm_lab.model.cluster import Slot

MARK = "STORM_LAB_LIVE"
"""Environment variable with the token of the cluster to which a process belongs."""

NOBODYS_ADDRESS = "127.77.255.254"
"""An address that no cluster uses: a process that listens there listens at all addresses of the machine."""

_PROC = Path("/proc")
_END_SECONDS = 60.0


def run_program(
    command: Sequence[str], *, stderr: int = subprocess.PIPE, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program (as `subprocess.run`) to its end, without input; return its status and output."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        errors="replace",
        check=False,
        **options,
    )


def marked(token: str) -> list[int]:
    """Return the ids of this user's running processes that belong to the cluster with that token."""
    wanted = f"{MARK}={token}".encode()
    return [pid for pid in all_pids() if wanted in _environment(pid) and not is_zombie(pid)]


def all_pids() -> Iterator[int]:
    """Yield the ids of all visible processes."""
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def end_all(find: Callable[[], list[int]]) -> list[int]:
    """Kill (SIGKILL) what `find` returns until it returns nothing; after a minute, return what is left.

    `find` is called again after each round, as a process may start another while it is being killed.
    """
    end = time.monotonic() + _END_SECONDS
    while found := find():
        for pid in found:
            kill(pid, lambda pid: pid in find())
        for pid in found:
            _wait_for_end(pid, max(0.0, end - time.monotonic()))
        if time.monotonic() > end:
            return find()
    return []


def kill(pid: int, belongs: Callable[[int], bool]) -> bool:
    """Kill (SIGKILL) a process if it still belongs to the cluster; return False if it does not, or ended."""
    with _handle(pid) as handle, suppress(ProcessLookupError):
        if handle is not None and belongs(pid):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return True
    return False


@contextmanager
def _handle(pid: int) -> Iterator[int | None]:
    """Provide a handle of a process, whose id cannot be reused in the block; None if it has ended."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP to the end of the block: a second one must not interrupt cleanup."""
    # Programs run in the block inherit the mask: Ctrl-C at a terminal reaches them too.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ASKING_TO_END)
    received: list[int] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        # Other threads receive signals that this one blocks, and Python then runs their handlers here.
        handlers = {
            number: signal.signal(number, lambda number, frame: received.append(number))
            for number in _ASKING_TO_END
        }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in received[:1]:
            signal.raise_signal(number)


_ASKING_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def started_ns(pid: int) -> int:
    """Return the start of a process in ns of CLOCK_MONOTONIC (to 10 ms); `ProcessLookupError` if it ended."""
    try:
        ticks = int(_stat(pid)[19])
    except OSError as error:
        raise ProcessLookupError(pid) from error
    # The kernel counts from boot, including time in suspension.
    asleep_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK") - asleep_ns


def command_line(pid: int) -> tuple[str, ...]:
    """Return the arguments of a process; empty if it is gone."""
    try:
        data = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(part.decode(errors="replace") for part in data.split(b"\0")[:-1])


def is_zombie(pid: int) -> bool:
    """Return whether a process has ended, even if its status has not been collected yet."""
    try:
        return _stat(pid)[0] in ("Z", "X")
    except OSError:
        return True


def listens(pid: int, port: int, address: str | None = None) -> bool:
    """Return whether any process in the network of ``pid`` listens on a TCP port, at ``address`` if given."""
    wanted = f"{port:04X}"
    for name in ("tcp", "tcp6"):
        for fields in map(str.split, lines_of(_PROC / str(pid) / "net" / name)[1:]):
            host, _, number = fields[1].rpartition(":")
            if fields[3] == _LISTEN and number == wanted and (address is None or _holds(host, address)):
                return True
    return False


_LISTEN = "0A"


def _holds(host: str, address: str) -> bool:
    """Return whether an address in the kernel's notation covers an IPv4 address: the same one, or all."""
    number = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    return set(host) == {"0"} or host.endswith(number)


def _stat(pid: int) -> list[str]:
    """Return the kernel's status fields of a process, from its state on."""
    text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


def _environment(pid: int) -> list[bytes]:
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _wait_for_end(pid: int, seconds: float) -> None:
    with _handle(pid) as handle:
        if handle is not None:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            poll.poll(min(seconds, 2.0) * 1000)


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A running worker JVM."""

    slot: Slot
    pid: int
    topology_id: str
    """Storm's own id of the topology: name, number and time."""
    started_ns: int
    """CLOCK_MONOTONIC."""


def find_workers(pids: Iterable[int], nodes: Mapping[str, str], main: str) -> list[LiveWorker]:
    """Return the workers among processes, in order of nodes and ports.

    ``nodes`` maps each storm.home folder to its node's id; ``main`` is the class of a worker in this release.
    """
    order = {node: index for index, node in enumerate(nodes.values())}
    found = []
    for pid in pids:
        words = command_line(pid)
        # The command of a log writer (from 1.0 on) ends with that of its worker.
        if main not in words or any(word.endswith(".LogWriter") for word in words):
            continue
        values = dict(word[2:].split("=", 1) for word in words if word.startswith("-D") and "=" in word)
        node = nodes.get(values.get("storm.home", ""))
        if node is None:
            continue
        try:
            since = started_ns(pid)
        except ProcessLookupError:
            continue
        found.append(LiveWorker(Slot(node, int(values["worker.port"])), pid, values["storm.id"], since))
    return sorted(found, key=lambda worker: (order[worker.slot.node], worker.slot.port))
