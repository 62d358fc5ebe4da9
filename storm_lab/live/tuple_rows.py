"""Root tuples and executions of one topology in a live run, as rows of the tuple log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.source import TopologyPlan
from storm_lab.live.live_records import LiveRecords
from storm_lab.live.lives import LOCALITIES, Lives, WorkerLife
from storm_lab.live.player_files import OpenedTask, read_executions, read_roots
from storm_lab.model import Executor
from storm_lab.tuplelog import Coded
from storm_lab.tuplelog.recorder import Recorder

_OUTCOMES = ("pending", "acked", "failed", "lost")
_PENDING, _LOST = 0, 3
_ROOT_BITS = 40
_INCARNATION_BITS = 8


@dataclass(frozen=True, slots=True)
class RootNumbers:
    """Numbers of root tuples through the run.

    Every spout task's life has its own, and those that were sampled are the multiples of ``every``.
    """

    lives: Mapping[tuple[str, int, int], int]
    every: int

    @classmethod
    def of(cls, records: LiveRecords) -> RootNumbers:
        """Numbers for all spout tasks' lives, in the order of the records."""
        keys = [
            (plan.topology.id, task, incarnation)
            for plan in records.plans
            for task, incarnation, _ in read_roots(records.folders[plan.topology.id])
        ]
        return cls({key: number for number, key in enumerate(keys)}, records.sample_every)

    def number(self, life: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Root numbers of the rows of one life."""
        return (rows // self.every * len(self.lives) + life) * self.every + rows % self.every


def _is_over(worker: WorkerLife, task: OpenedTask, end_ns: int) -> bool:
    """Whether a task's life was over before the run was."""
    return any(time_ns is not None and time_ns <= end_ns for time_ns in (task.closed_ns, worker.ended_ns))


class TupleRows:
    """Writes the root tuples and executions of one topology."""

    def __init__(
        self,
        records: LiveRecords,
        lives: Lives,
        plan: TopologyPlan,
        executors: Sequence[Executor],
        numbers: RootNumbers,
    ) -> None:
        self._records = records
        self._plan = plan
        self._id = plan.topology.id
        self._folder = records.folders[self._id]
        self._numbers = numbers
        self._components = {task: executor.component for executor in executors for task in executor.tasks}
        self._stays = lives.tasks(self._id)
        self._distance = lives.distances()
        self._nodes = [worker.slot.node for worker in lives.workers]
        self._lives: dict[tuple[int, int], tuple[WorkerLife, OpenedTask]] = {
            (entry.task, entry.incarnation): (worker, entry)
            for worker in lives.workers
            if worker.topology == self._id and worker.file is not None
            for entry in worker.file.tasks
        }

    def write_roots(self, log: Recorder) -> None:
        """Root tuples, in the order in which they ended; those that have not, at the end."""
        parts: dict[str, list[NDArray[Any]]] = {}
        origin, end = self._records.origin_ns, self._records.end_ns
        for task, incarnation, rows in read_roots(self._folder):
            life = self._lives.get((task, incarnation))
            number = self._numbers.number(
                self._numbers.lives[self._id, task, incarnation], np.arange(len(rows), dtype=np.int64)
            )
            outcome = np.where(rows["end_ns"] > end, _PENDING, rows["outcome"])
            gone = life is None or _is_over(*life, end)
            if gone:
                outcome[outcome == _PENDING] = _LOST
            done = (outcome != _PENDING) & (outcome != _LOST)
            source = self._plan.sources[self._components[task]]
            columns: dict[str, NDArray[Any]] = {
                "root_id": number,
                "spout_task": np.full(len(rows), task, np.int32),
                "line": rows["line"],
                "attempt": rows["attempt"].astype(np.int16),
                "emit_ns": rows["emit_ns"] - origin,
                "complete_ns": np.where(done, rows["end_ns"] - origin, -1),
                "outcome": outcome,
                "latency_ns": np.where(done, rows["end_ns"] - rows["emit_ns"], -1),
                "sleep_ns": np.full(len(rows), source.sleep_ns, np.int64),
            }
            inside = (rows["emit_ns"] >= origin) & (rows["emit_ns"] <= end)
            for name, values in columns.items():
                parts.setdefault(name, []).append(values[inside])
        if not parts:
            return
        whole = {name: np.concatenate(values) for name, values in parts.items()}
        ended = np.where(whole["complete_ns"] < 0, np.iinfo(np.int64).max, whole["complete_ns"])
        order = np.lexsort((whole["root_id"], whole["emit_ns"], ended))
        whole = {name: values[order] for name, values in whole.items()}
        whole_rows: dict[str, Any] = dict(whole)
        whole_rows["topology"] = self._coded(len(order))
        whole_rows["outcome"] = Coded(whole["outcome"], _OUTCOMES)
        log.append("roots", whole_rows)

    def write_executions(self, log: Recorder) -> None:
        """Executions of the sampled root tuples' trees, task by task."""
        origin, end = self._records.origin_ns, self._records.end_ns
        for task, incarnation, rows in read_executions(self._folder):
            life = self._lives.get((task, incarnation))
            rows = rows[(rows["end_ns"] > 0) & (rows["start_ns"] >= origin) & (rows["end_ns"] <= end)]
            if life is None or len(rows) == 0:
                continue
            worker = life[0].number
            log.append(
                "executions",
                {
                    "root_id": self._root_ids(rows["root"]),
                    "topology": self._coded(len(rows)),
                    "component": Coded(np.zeros(len(rows), np.int32), [self._components[task]]),
                    "task": np.full(len(rows), task, np.int32),
                    "source_task": rows["source"].astype(np.int32),
                    "worker": np.full(len(rows), worker, np.int32),
                    "node": Coded(np.zeros(len(rows), np.int32), [self._nodes[worker]]),
                    "locality": Coded(self._localities(rows, worker), LOCALITIES),
                    "enqueue_ns": np.full(len(rows), -1, np.int64),
                    "start_ns": rows["start_ns"] - origin,
                    "end_ns": rows["end_ns"] - origin,
                },
            )

    def _root_ids(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """Root numbers of what tuples carry; -1 where nobody tracks the root."""
        ids = np.full(len(names), -1, np.int64)
        tracked = names >= 0
        lives = names >> _ROOT_BITS
        for life in np.unique(lives[tracked]):
            task, incarnation = int(life) >> _INCARNATION_BITS, int(life) & ((1 << _INCARNATION_BITS) - 1)
            number = self._numbers.lives.get((self._id, task, incarnation))
            if number is not None:
                own = tracked & (lives == life)
                ids[own] = self._numbers.number(number, names[own] & ((1 << _ROOT_BITS) - 1))
        return ids

    def _localities(self, rows: NDArray[np.void], worker: int) -> NDArray[np.int8]:
        far = np.zeros(len(rows), np.int8)
        for source in np.unique(rows["source"]):
            own = rows["source"] == source
            if int(source) in self._stays:
                starts, workers = self._stays[int(source)]
                place = np.maximum(0, np.searchsorted(starts, rows["start_ns"][own], "right") - 1)
                far[own] = self._distance[workers[place], worker]
        return far

    def _coded(self, rows: int) -> Coded:
        return Coded(np.zeros(rows, np.int32), [self._id])
