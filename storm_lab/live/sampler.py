"""What the machine does while real Storm runs: CPU of workers, hosts and everybody else, once a window.

Workers tell the CPU of their own Java threads; only the kernel tells that of the compiler's and the garbage
collector's, of daemons, and of the rest of the machine. Read from ``/proc`` and the hosts' control groups.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from storm_lab.live.cgroups import CpuUse
from storm_lab.live.processes import LiveWorker
from storm_lab.live.running_storm import RunningStorm

_PROC = Path("/proc")
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_COMPILER = ("C1 Compiler", "C2 Compiler")
_COLLECTOR = ("GC Thread", "G1 ", "VM Thread", "Gang worker", "Parallel", "Concurrent Mark", "CMS")


@dataclass(frozen=True, slots=True)
class WorkerSample:
    """A worker that was found running, with what it has used since it was first seen.

    CPU in ns, and the time that its threads have waited for a core.
    """

    worker: LiveWorker
    total_ns: int
    compiler_ns: int
    collector_ns: int
    waited_ns: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look. ``time_ns`` is CLOCK_MONOTONIC; CPU counts from some fixed time on, in ns of one core.

    ``hosts`` has the nodes whose use is counted; ``busy_ns`` is that of the whole machine.
    """

    time_ns: int
    workers: tuple[WorkerSample, ...]
    hosts: Mapping[str, CpuUse]
    busy_ns: int
    load_average: float


class ProcessSampler:
    """CPU of one process by kind of thread, kept over the ends of threads."""

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._tasks = proc / str(pid) / "task"
        self._names: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._sums = {"compiler": 0, "collector": 0, "other": 0}
        self._waits: dict[str, int] = {}
        self.waited_ns = 0
        """Time that its threads have waited for a core, at the last look."""

    def look(self) -> tuple[int, int, int]:
        """CPU so far: all, compiler's, collector's. A thread's last moments are lost with it."""
        try:
            threads = list(self._tasks.iterdir())
        except OSError:
            threads = []
        for folder in threads:
            thread = folder.name
            try:
                used, waited = map(int, (folder / "schedstat").read_bytes().split()[:2])
                if thread not in self._names:
                    self._names[thread] = _kind((folder / "comm").read_text().strip())
            except (OSError, ValueError, IndexError):
                continue
            self._sums[self._names[thread]] += used - self._last.get(thread, 0)
            self._last[thread] = used
            self.waited_ns += waited - self._waits.get(thread, 0)
            self._waits[thread] = waited
        return sum(self._sums.values()), self._sums["compiler"], self._sums["collector"]


class MachineSampler:
    """Looks at the end of every window, from when it is entered to when it is left.

    The first window starts at ``origin_ns`` of CLOCK_MONOTONIC.
    """

    def __init__(self, storm: RunningStorm, origin_ns: int, window_ns: int) -> None:
        self.samples: list[Sample] = []
        self._storm = storm
        self._origin_ns = origin_ns
        self._window_ns = window_ns
        self._processes: dict[int, ProcessSampler] = {}
        self._over = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> MachineSampler:
        self.look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if error is None:
            if self._problem is not None:
                raise self._problem
            self.look()

    def look(self) -> None:
        """Take one sample."""
        found = []
        for worker in self._storm.workers():
            process = self._processes.setdefault(worker.pid, ProcessSampler(worker.pid))
            found.append(WorkerSample(worker, *process.look(), process.waited_ns))
        hosts = {}
        for node in self._storm.cluster.nodes:
            with suppress(OSError):
                if (use := self._storm.host(node.id).cpu_use()) is not None:
                    hosts[node.id] = use
        now = time.monotonic_ns()
        self.samples.append(Sample(now, tuple(found), hosts, busy_ns(), os.getloadavg()[0]))

    def _run(self) -> None:
        turn = 0
        try:
            while True:
                turn = max(turn + 1, (time.monotonic_ns() - self._origin_ns) // self._window_ns + 1)
                left_ns = self._origin_ns + turn * self._window_ns - time.monotonic_ns()
                if self._over.wait(max(0, left_ns) / 1e9):
                    return
                self.look()
        except Exception as error:
            self._problem = error


def busy_ns(stat: Path = _PROC / "stat") -> int:
    """CPU time that the whole machine has used since it was started, waits for disks not counted."""
    user, nice, system, _idle, _wait, irq, soft = map(
        int, stat.read_text(encoding="ascii").split("\n", 1)[0].split()[1:8]
    )
    return (user + nice + system + irq + soft) * _TICK_NS


def _kind(name: str) -> str:
    if name.startswith(_COMPILER):
        return "compiler"
    return "collector" if name.startswith(_COLLECTOR) else "other"
