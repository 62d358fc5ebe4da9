"""Measures the machine while real Storm runs: CPU once a window, and the time of messages between hosts.

Workers record the CPU of their own Java threads. That of the JIT compiler, the garbage collector, daemons and
the rest of the machine is read from ``/proc`` and the hosts' control groups.

A message takes half of a round trip over TCP between two programs that poll their sockets all the time
(`echo`). That excludes the time to wake a thread; Python's share of it is about 1 us.
"""

from __future__ import annotations

import itertools
import os
import platform
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError
from storm_lab.live import echo
from storm_lab.live.cgroups import CpuUse, slice_us
from storm_lab.live.hosts import Host, machine_mhz, processor
from storm_lab.live.processes import MARK, LiveWorker, run_program
from storm_lab.live.storm import LiveStorm
from storm_lab.machine.facts import usable_cores

_PROC = Path("/proc")
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_COMPILER = ("C1 Compiler", "C2 Compiler")
_COLLECTOR = ("GC Thread", "G1 ", "VM Thread", "Gang worker", "Parallel", "Concurrent Mark", "CMS")


@dataclass(frozen=True, slots=True)
class WorkerSample:
    """A running worker, its CPU since it was first seen, and how long its threads waited for a core."""

    worker: LiveWorker
    total_ns: int
    compiler_ns: int
    collector_ns: int
    waited_ns: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample. ``time_ns`` is CLOCK_MONOTONIC; CPU is counted from some fixed time on, in ns of one core.

    ``hosts`` has the nodes whose use is counted; ``busy_ns`` is that of the whole machine.
    """

    time_ns: int
    workers: tuple[WorkerSample, ...]
    hosts: Mapping[str, CpuUse]
    busy_ns: int
    load_average: float


class ProcessSampler:
    """CPU of one process by kind of thread, including threads that have ended."""

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._tasks = proc / str(pid) / "task"
        self._names: dict[str, str] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._sums = {"compiler": 0, "collector": 0, "other": 0}
        self._waited_ns = 0

    def sample(self) -> tuple[int, int, int, int]:
        """Return the CPU so far (total, compiler's, collector's) and how long threads waited for a core.

        What a thread uses between its last sample and its end is lost.
        """
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
            used_before, waited_before = self._last.get(thread, (0, 0))
            self._sums[self._names[thread]] += used - used_before
            self._waited_ns += waited - waited_before
            self._last[thread] = used, waited
        sums = self._sums
        return sum(sums.values()), sums["compiler"], sums["collector"], self._waited_ns


class MachineSampler:
    """Takes a sample at the end of each window from ``origin_ns`` on, as long as a ``with`` block lasts."""

    def __init__(self, storm: LiveStorm, origin_ns: int, window_ns: int) -> None:
        self.samples: list[Sample] = []
        self._storm = storm
        self._origin_ns = origin_ns
        self._window_ns = window_ns
        self._processes: dict[int, ProcessSampler] = {}
        self._ended = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> MachineSampler:
        self.sample()
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._ended.set()
        self._thread.join()
        if error is None:
            if self._problem is not None:
                raise self._problem
            self.sample()

    def sample(self) -> None:
        """Take one sample."""
        found = []
        for worker in self._storm.workers():
            process = self._processes.setdefault(worker.pid, ProcessSampler(worker.pid))
            found.append(WorkerSample(worker, *process.sample()))
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
                if self._ended.wait(max(0, left_ns) / 1e9):
                    return
                self.sample()
        except Exception as error:
            self._problem = error


def conditions(storm: LiveStorm, samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the conditions of a run for its manifest: versions, machine, quotas, and load during the run."""
    cluster = storm.cluster
    quotas = {node.id: storm.host(node.id).cores for node in cluster.nodes}
    facts: dict[str, Any] = {
        "storm": storm.release.version,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processor": processor(),
        "cores": usable_cores(),
        "core_mhz": round(machine_mhz()),
        "quota_cores": quotas,
        "quota_slice_us": slice_us(),
        "own_cores": {node: list(storm.host(node).own_cores) for node in quotas},
        "unrealised": list(storm.unrealised),
        # Counts for the cluster's whole life, not this run alone: workers that did not fit on their node.
        "memory_kills": {node: kills for node in quotas if (kills := storm.host(node).memory_kills())},
    }
    if len(samples) > 1:
        first, last = samples[0], samples[-1]
        seconds = (last.time_ns - first.time_ns) / 1e9
        hosts = {node: (first.hosts[node], use) for node, use in last.hosts.items() if node in first.hosts}
        own_ns = sum(new.cpu_ns - old.cpu_ns for old, new in hosts.values())
        facts["busy_cores"] = round((last.busy_ns - first.busy_ns) / 1e9 / seconds, 3)
        facts["storm_cores"] = round(own_ns / 1e9 / seconds, 3)
        facts["load_average"] = round(max(sample.load_average for sample in samples), 2)
        facts["throttled"] = {
            node: round((new.throttled - old.throttled) / (new.periods - old.periods), 4)
            for node, (old, new) in hosts.items()
            if new.periods > old.periods
        }
    return facts


def windows_of(samples: Sequence[Sample], origin_ns: int) -> dict[str, Any]:
    """Return the state of the machine window by window, in lists of the same length.

    They have each window's end in s and the number of busy cores, and for each host the cores that it used,
    the part of its quota periods in which it was throttled, and the average number of its workers' threads
    that waited for a core.
    """
    found: dict[str, Any] = {"end_s": [], "busy_cores": [], "hosts": {}}
    for before, after in itertools.pairwise(samples):
        if (span_ns := after.time_ns - before.time_ns) <= 0:
            continue
        found["end_s"].append(round((after.time_ns - origin_ns) / 1e9, 3))
        found["busy_cores"].append(round((after.busy_ns - before.busy_ns) / span_ns, 3))
        waits = _waits(before, after)
        for node, new in after.hosts.items():
            old = before.hosts.get(node, new)
            rows = found["hosts"].setdefault(node, {"used_cores": [], "throttled": [], "waiting": []})
            periods = max(1, new.periods - old.periods)
            rows["used_cores"].append(round((new.cpu_ns - old.cpu_ns) / span_ns, 3))
            rows["throttled"].append(round((new.throttled - old.throttled) / periods, 3))
            rows["waiting"].append(round(waits[node] / span_ns, 3))
    return found


def _waits(before: Sample, after: Sample) -> Counter[str]:
    """Return the time that workers' threads waited for a core between two samples, by node."""
    earlier = {seen.worker.pid: seen.waited_ns for seen in before.workers}
    found: Counter[str] = Counter()
    for seen in after.workers:
        found[seen.worker.slot.node] += seen.waited_ns - earlier.get(seen.worker.pid, 0)
    return found


def busy_ns(stat: Path = _PROC / "stat") -> int:
    """Return the CPU time that the whole machine has used since boot, without waits for disks."""
    fields = stat.read_text(encoding="ascii").split("\n", 1)[0].split()[1:8]
    user, nice, system, _idle, _wait, irq, soft = map(int, fields)
    return (user + nice + system + irq + soft) * _TICK_NS


def _kind(name: str) -> str:
    if name.startswith(_COMPILER):
        return "compiler"
    return "collector" if name.startswith(_COLLECTOR) else "other"


LAN, LOOPBACK = "lan_us", "loopback_us"
"""Names of the two latencies, in a run's conditions and among the costs of the emulator."""

_PROGRAM = (sys.executable, "-I", "-S", str(Path(echo.__file__)))


def measure_links(storm: LiveStorm) -> dict[str, float]:
    """Measure one-way latencies in us: ``lan_us`` between the first two nodes, ``loopback_us`` in the first.

    A cluster of one node has only the latter. Raises `StormLabError` if the programs cannot connect.
    """
    nodes = [storm.host(node.id) for node in storm.cluster.nodes[:2]]
    found = {LOOPBACK: one_way_us(nodes[0], nodes[0], storm.token)}
    if len(nodes) > 1:
        found[LAN] = one_way_us(nodes[0], nodes[1], storm.token)
    return {name: round(us, 1) for name, us in sorted(found.items())}


def one_way_us(here: Host, there: Host, token: str) -> float:
    """Measure half of a round trip between two hosts' processes; `StormLabError` if they cannot connect."""
    # If this command is killed, the mark lets a later one find its processes.
    environment = {**os.environ, MARK: token}
    serving = subprocess.Popen(
        there.command([*_PROGRAM, "serve", there.address]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        assert serving.stdout is not None
        port = serving.stdout.readline().strip()
        asking = here.command([*_PROGRAM, "ask", there.address, port or "0"])
        answer = run_program(asking, env=environment, timeout=2 * echo.SECONDS)
    except subprocess.TimeoutExpired:
        answer = None
    finally:
        serving.kill()
        serving.communicate()
    if answer is None or answer.returncode != 0:
        raise StormLabError(f"host {here.name} cannot reach host {there.name}")
    return float(answer.stdout)
