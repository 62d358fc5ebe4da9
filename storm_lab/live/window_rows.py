"""Counters, traffic and CPU of the windows of a live run, as rows of the tuple log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from storm_lab.live.live_records import LiveRecords
from storm_lab.live.lives import LOCALITIES, Lives, WorkerLife
from storm_lab.live.player_files import Window
from storm_lab.live.sampler import Sample
from storm_lab.live.thread_names import COLLECTOR, COMPILER, HOUSEKEEPING, ThreadUse
from storm_lab.model import Executor
from storm_lab.tuplelog import Coded
from storm_lab.tuplelog.recorder import Recorder


class WindowRows:
    """Writes what the workers of one topology have counted."""

    def __init__(
        self, records: LiveRecords, lives: Lives, topology: str, executors: Sequence[Executor]
    ) -> None:
        self._records = records
        self._lives = lives
        self._id = topology
        self._components = {task: executor.component for executor in executors for task in executor.tasks}
        self._stays = lives.tasks(topology)
        self._distance = lives.distances()

    def write(self, log: Recorder) -> None:
        """Write counters, traffic and CPU, window by window."""
        for worker in self._lives.workers:
            if worker.topology != self._id or worker.file is None:
                continue
            for window in worker.file.windows:
                if self._records.origin_ns < window.end_ns <= self._records.end_ns:
                    self._write_counts(window, log)
                    self._write_traffic(worker, window, log)
                    self._write_cpu(worker, window, log)

    def _times(self, window: Window, rows: int) -> dict[str, NDArray[np.int64]]:
        origin = self._records.origin_ns
        return {
            "start_ns": np.full(rows, max(0, window.start_ns - origin), np.int64),
            "end_ns": np.full(rows, window.end_ns - origin, np.int64),
        }

    def _write_counts(self, window: Window, log: Recorder) -> None:
        busy = np.array([row for row in window.tasks if any(row[1:])], np.int64)
        if len(busy) == 0:
            return
        names = ("emitted", "transferred", "executed", "acked", "failed")
        log.append(
            "counts",
            {
                **self._times(window, len(busy)),
                "topology": self._coded(len(busy)),
                "component": [self._components[int(task)] for task in busy[:, 0]],
                "task": busy[:, 0].astype(np.int32),
                **{name: busy[:, 1 + column] for column, name in enumerate(names)},
                # As Storm itself does: the sampled calls stand for all.
                "execute_ns": busy[:, 6] * self._records.sample_every,
            },
        )

    def _write_traffic(self, worker: WorkerLife, window: Window, log: Recorder) -> None:
        if not window.sent:
            return
        sent = np.array(window.sent, np.int64)
        middle = (window.start_ns + window.end_ns) // 2
        far = []
        for target in sent[:, 1]:
            starts, workers = self._stays.get(int(target), (np.zeros(0, np.int64), np.zeros(0, np.int32)))
            place = max(0, int(np.searchsorted(starts, middle, "right")) - 1)
            far.append(int(self._distance[worker.number, workers[place]]) if len(workers) else 0)
        log.append(
            "traffic",
            {
                **self._times(window, len(sent)),
                "topology": self._coded(len(sent)),
                "source_component": [self._components[int(task)] for task in sent[:, 0]],
                "source_task": sent[:, 0].astype(np.int32),
                "target_component": [self._components[int(task)] for task in sent[:, 1]],
                "target_task": sent[:, 1].astype(np.int32),
                "locality": Coded(np.array(far, np.int8), LOCALITIES),
                "tuples": sent[:, 2],
                "bytes": sent[:, 3],
            },
        )

    def _write_cpu(self, worker: WorkerLife, window: Window, log: Recorder) -> None:
        uses = self._lives.uses[worker.number]
        sums: dict[ThreadUse, int] = {}
        for key, _, used in window.threads:
            sums[uses[key]] = sums.get(uses[key], 0) + used
        jvm = {
            COMPILER: _between(self._records.samples, worker.pid, window, COMPILER),
            COLLECTOR: _between(self._records.samples, worker.pid, window, COLLECTOR),
        }
        for kind, used in jvm.items():
            sums[ThreadUse(kind, -1)] = used
        rest = ThreadUse(HOUSEKEEPING, -1)
        # What is neither a Java thread's nor the compiler's or the collector's: the JVM's other threads.
        sums[rest] = sums.get(rest, 0) + max(0, window.process_cpu_ns - sum(sums.values()))
        rows = [(use, used) for use, used in sorted(sums.items()) if used > 0]
        if not rows:
            return
        log.append(
            "cpu",
            {
                **self._times(window, len(rows)),
                "node": Coded(np.zeros(len(rows), np.int32), [worker.slot.node]),
                "topology": self._coded(len(rows)),
                "worker": np.full(len(rows), worker.number, np.int32),
                "component": [self._components.get(use.first_task, "") for use, _ in rows],
                "task": np.array([use.first_task for use, _ in rows], np.int32),
                "thread": [use.kind for use, _ in rows],
                "cpu_ms": np.array([used / 1e6 for _, used in rows]),
            },
        )

    def _coded(self, rows: int) -> Coded:
        return Coded(np.zeros(rows, np.int32), [self._id])


def _between(samples: Sequence[Sample], pid: int, window: Window, kind: str) -> int:
    """CPU of a process's compiler or collector between the looks that are nearest to a window's edges."""

    def used(time_ns: int) -> int:
        near = min(samples, key=lambda sample: abs(sample.time_ns - time_ns), default=None)
        for seen in near.workers if near is not None else ():
            if seen.worker.pid == pid:
                return seen.compiler_ns if kind == COMPILER else seen.collector_ns
        return 0

    return max(0, used(window.end_ns) - used(window.start_ns))


def write_machine(records: LiveRecords, lives: Lives, log: Recorder) -> None:
    """CPU of what is no worker on a node (supervisor, log writers), and of workers that write nothing."""
    silent = {worker.pid: worker for worker in lives.workers if worker.file is None}
    rows: list[tuple[int, int, str, str, int, float]] = []
    origin = records.origin_ns
    for before, after in zip(records.samples, records.samples[1:], strict=False):
        if after.time_ns > records.end_ns or before.time_ns < origin:
            continue
        span = (before.time_ns - origin, after.time_ns - origin)
        earlier = {seen.worker.pid: seen.total_ns for seen in before.workers}
        own: dict[str, int] = {}
        for seen in after.workers:
            used = max(0, seen.total_ns - earlier.get(seen.worker.pid, 0))
            node = seen.worker.slot.node
            own[node] = own.get(node, 0) + used
            life = silent.get(seen.worker.pid)
            if life is not None and used:
                rows.append((*span, node, life.topology, life.number, used / 1e6))
        for node, use in after.hosts.items():
            if node in before.hosts:
                rest = use.cpu_ns - before.hosts[node].cpu_ns - own.get(node, 0)
                if rest > 0:
                    rows.append((*span, node, "", -1, rest / 1e6))
    if not rows:
        return
    log.append(
        "cpu",
        {
            "start_ns": np.array([row[0] for row in rows], np.int64),
            "end_ns": np.array([row[1] for row in rows], np.int64),
            "node": [row[2] for row in rows],
            "topology": [row[3] for row in rows],
            "worker": np.array([row[4] for row in rows], np.int32),
            "component": [""] * len(rows),
            "task": np.full(len(rows), -1, np.int32),
            "thread": [HOUSEKEEPING] * len(rows),
            "cpu_ms": np.array([row[5] for row in rows]),
        },
    )
