"""Writes all rows of one topology of a live run to the tuple log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.state.kinds import LOCALITY_NAMES, LOST, OUTCOME_NAMES, PENDING
from storm_lab.live.lives import LiveRecords, Lives, WorkerLife
from storm_lab.live.player_files import (
    COLLECTOR,
    COMPILER,
    HOUSEKEEPING,
    OpenedTask,
    ThreadUse,
    Window,
    read_executions,
    read_roots,
)
from storm_lab.live.sampler import Sample
from storm_lab.model import executors_of
from storm_lab.tuplelog import Coded
from storm_lab.tuplelog.recorder import Recorder

_ROOT_BITS = 40
_INCARNATION_BITS = 8
_COUNTERS = ("emitted", "transferred", "executed", "acked", "failed")


def number_spout_lives(records: LiveRecords) -> dict[tuple[str, int, int], int]:
    """Number all lives of spout tasks by topology, task and incarnation, in the order of the records."""
    keys = [
        (plan.topology.id, task, incarnation)
        for plan in records.spec.topologies
        for task, incarnation, _ in read_roots(records.folders[plan.topology.id])
    ]
    return {key: number for number, key in enumerate(keys)}


class TopologyRows:
    """Writes what the workers of one topology have recorded.

    ``spout_lives`` are the numbers of all lives of spout tasks in the run.
    """

    def __init__(
        self,
        records: LiveRecords,
        lives: Lives,
        plan: TopologyPlan,
        spout_lives: Mapping[tuple[str, int, int], int],
    ) -> None:
        self._records = records
        self._uses = lives.uses
        self._plan = plan
        self._id = plan.topology.id
        self._folder = records.folders[self._id]
        self._spout_lives = spout_lives
        self._components = {
            task: executor.component
            for executor in executors_of(plan.topology, records.spec.version)
            for task in executor.tasks
        }
        self._stays = lives.tasks(self._id)
        self._distance = lives.distances()
        self._workers = [
            (worker, worker.file)
            for worker in lives.workers
            if worker.topology == self._id and worker.file is not None
        ]
        self._lives: dict[tuple[int, int], tuple[WorkerLife, OpenedTask]] = {
            (entry.task, entry.incarnation): (worker, entry)
            for worker, file in self._workers
            for entry in file.tasks
        }

    def write(self, log: Recorder) -> None:
        """Write root tuples and executions, then counters, traffic and CPU window by window."""
        self._write_roots(log)
        self._write_executions(log)
        for worker, file in self._workers:
            for window in file.windows:
                if self._records.origin_ns < window.end_ns <= self._records.end_ns:
                    self._write_counts(window, log)
                    self._write_traffic(worker, window, log)
                    self._write_cpu(worker, window, log)

    def _write_roots(self, log: Recorder) -> None:
        """Write root tuples in the order in which they ended, then those that have not ended."""
        frames: list[pd.DataFrame] = []
        origin, end = self._records.origin_ns, self._records.end_ns
        for task, incarnation, rows in read_roots(self._folder):
            life = self._lives.get((task, incarnation))
            number = self._spout_lives[self._id, task, incarnation]
            outcome = np.where(rows["end_ns"] > end, PENDING, rows["outcome"])
            ends = (origin,) if life is None else (life[0].ended_ns, life[1].closed_ns)
            if any(time_ns is not None and time_ns <= end for time_ns in ends):
                outcome[outcome == PENDING] = LOST
            done = (outcome != PENDING) & (outcome != LOST)
            frame = pd.DataFrame(
                {
                    "root_id": self._root_numbers(number, np.arange(len(rows), dtype=np.int64)),
                    "spout_task": task,
                    "line": rows["line"],
                    "attempt": rows["attempt"],
                    "emit_ns": rows["emit_ns"] - origin,
                    "complete_ns": np.where(done, rows["end_ns"] - origin, -1),
                    "outcome": outcome,
                    "latency_ns": np.where(done, rows["end_ns"] - rows["emit_ns"], -1),
                    "sleep_ns": self._plan.sources[self._components[task]].sleep_ns,
                }
            )
            frames.append(frame[(rows["emit_ns"] >= origin) & (rows["emit_ns"] <= end)])
        if not frames:
            return
        roots = pd.concat(frames)
        ended = np.where(roots["complete_ns"] < 0, np.iinfo(np.int64).max, roots["complete_ns"])
        roots = roots.iloc[np.lexsort((roots["root_id"], roots["emit_ns"], ended))]
        columns: dict[str, Any] = {str(name): roots[name].to_numpy() for name in roots}
        columns["outcome"] = Coded(columns["outcome"], OUTCOME_NAMES)
        log.append("roots", {**columns, "topology": _same(self._id, len(roots))})

    def _write_executions(self, log: Recorder) -> None:
        """Write executions of the sampled root tuples' trees, task by task."""
        origin, end = self._records.origin_ns, self._records.end_ns
        for task, incarnation, rows in read_executions(self._folder):
            life = self._lives.get((task, incarnation))
            rows = rows[(rows["end_ns"] > 0) & (rows["start_ns"] >= origin) & (rows["end_ns"] <= end)]
            if life is None or len(rows) == 0:
                continue
            worker = life[0]
            log.append(
                "executions",
                {
                    "root_id": self._root_ids(rows["root"]),
                    "topology": _same(self._id, len(rows)),
                    "component": _same(self._components[task], len(rows)),
                    "task": np.full(len(rows), task),
                    "source_task": rows["source"],
                    "worker": np.full(len(rows), worker.number),
                    "node": _same(worker.slot.node, len(rows)),
                    "locality": self._localities(rows["source"], rows["start_ns"], worker),
                    "enqueue_ns": np.full(len(rows), -1),
                    "start_ns": rows["start_ns"] - origin,
                    "end_ns": rows["end_ns"] - origin,
                },
            )

    def _root_numbers(self, life: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers of root tuples, unique in the run, for the rows of one life of a spout task.

        Sampled root tuples have multiples of ``sample_every``.
        """
        every = self._records.spec.sample_every
        return (rows // every * len(self._spout_lives) + life) * every + rows % every

    def _root_ids(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return root numbers for the ids that tuples carry; -1 where the root is not tracked."""
        ids = np.full(len(names), -1, np.int64)
        tracked = names >= 0
        lives = names >> _ROOT_BITS
        for life in np.unique(lives[tracked]):
            task, incarnation = int(life) >> _INCARNATION_BITS, int(life) & ((1 << _INCARNATION_BITS) - 1)
            number = self._spout_lives.get((self._id, task, incarnation))
            if number is not None:
                own = tracked & (lives == life)
                ids[own] = self._root_numbers(number, names[own] & ((1 << _ROOT_BITS) - 1))
        return ids

    def _localities(self, tasks: NDArray[Any], times: NDArray[np.int64], worker: WorkerLife) -> Coded:
        """Return how far tasks were from a worker at the given times."""
        far = np.zeros(len(tasks), np.int8)
        for task in np.unique(tasks):
            if int(task) in self._stays:
                own = tasks == task
                starts, workers = self._stays[int(task)]
                place = np.maximum(0, np.searchsorted(starts, times[own], "right") - 1)
                far[own] = self._distance[workers[place], worker.number]
        return Coded(far, LOCALITY_NAMES)

    def _facts(self, window: Window) -> dict[str, Any]:
        """Return what all rows of a window have in common."""
        origin = self._records.origin_ns
        start_ns, end_ns = max(0, window.start_ns - origin), window.end_ns - origin
        return {"start_ns": start_ns, "end_ns": end_ns, "topology": self._id}

    def _write_counts(self, window: Window, log: Recorder) -> None:
        rows = [
            {
                **self._facts(window),
                "component": self._components[task],
                "task": task,
                **dict(zip(_COUNTERS, counts, strict=True)),
                # As in Storm itself, the sampled calls stand for all.
                "execute_ns": logged_ns * self._records.spec.sample_every,
            }
            for task, *counts, logged_ns in window.tasks
            if any(counts) or logged_ns
        ]
        append_rows(log, "counts", rows)

    def _write_traffic(self, worker: WorkerLife, window: Window, log: Recorder) -> None:
        targets = np.array([target for _, target, _, _ in window.sent])
        middle = np.full(len(targets), (window.start_ns + window.end_ns) // 2)
        rows = [
            {
                **self._facts(window),
                "source_component": self._components[source],
                "source_task": source,
                "target_component": self._components[target],
                "target_task": target,
                "locality": LOCALITY_NAMES[far],
                "tuples": tuples,
                "bytes": size,
            }
            for (source, target, tuples, size), far in zip(
                window.sent, self._localities(targets, middle, worker).codes, strict=True
            )
        ]
        append_rows(log, "traffic", rows)

    def _write_cpu(self, worker: WorkerLife, window: Window, log: Recorder) -> None:
        uses = self._uses[worker.number]
        sums: Counter[ThreadUse] = Counter()
        for key, _, used in window.threads:
            sums[uses[key]] += used
        for kind in (COMPILER, COLLECTOR):
            sums[ThreadUse(kind, -1)] = _between(self._records.samples, worker.pid, window, kind)
        # The rest is the JVM's other threads: neither Java threads, nor the compiler, nor the collector.
        sums[ThreadUse(HOUSEKEEPING, -1)] += max(0, window.process_cpu_ns - sums.total())
        rows = [
            {
                **self._facts(window),
                "node": worker.slot.node,
                "worker": worker.number,
                "component": self._components.get(use.first_task, ""),
                "task": use.first_task,
                "thread": use.kind,
                "cpu_ms": used / 1e6,
            }
            for use, used in sorted(sums.items())
            if used > 0
        ]
        append_rows(log, "cpu", rows)


def append_rows(log: Recorder, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write some rows of a table, if there are any."""
    if rows:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        log.append(
            table,
            {
                name: cells if isinstance(cells[0], str) else np.array(cells)
                for name, cells in columns.items()
            },
        )


def _same(name: str, rows: int) -> Coded:
    """Return a column with one name in all rows."""
    return Coded(np.zeros(rows, np.int32), [name])


def _between(samples: Sequence[Sample], pid: int, window: Window, kind: str) -> int:
    """Return the CPU of a process's compiler or collector between the samples nearest to a window's edges."""

    def used(time_ns: int) -> int:
        near = min(samples, key=lambda sample: abs(sample.time_ns - time_ns), default=None)
        for seen in near.workers if near is not None else ():
            if seen.worker.pid == pid:
                return seen.compiler_ns if kind == COMPILER else seen.collector_ns
        return 0

    return max(0, used(window.end_ns) - used(window.start_ns))
