"""Writes a live run's records as an ordinary tuple log.

What real Storm does not record is missing: when a tuple entered a receive queue, and the messages and
counters of ackers. Counters of a killed worker end with its last complete window.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from storm_lab.emulator.control.decision_log import write_decisions
from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.state.kinds import LOCALITY_NAMES, LOST, OUTCOME_NAMES, PENDING
from storm_lab.live.lives import LiveRecords, Lives, WorkerLife, lives_of
from storm_lab.live.player_files import (
    COLLECTOR,
    COMPILER,
    HOUSEKEEPING,
    OpenedTask,
    ThreadUse,
    Window,
    read_rows,
)
from storm_lab.live.sampler import Sample
from storm_lab.model import executors_of
from storm_lab.tuplelog.buffer import Coded, Recorder


def collect(records: LiveRecords, log: Recorder) -> None:
    """Write a run's tables; `StormLabError` or `ValueError` if a record or file is not the player's."""
    lives = lives_of(records)
    nodes = records.spec.cluster.nodes
    names = ("rack", "cores", "core_mhz", "memory_mb")
    rows = [{"node": node.id, **{name: getattr(node, name) for name in names}} for node in nodes]
    _append_rows(log, "nodes", rows)
    _write_placements(records, lives, log)
    keys = [
        (plan.topology.id, task, incarnation)
        for plan in records.spec.topologies
        for task, incarnation, _ in read_rows(records.folders[plan.topology.id], "roots")
    ]
    spout_lives = {key: number for number, key in enumerate(keys)}
    for plan in records.spec.topologies:
        _TopologyRows(records, lives, plan, spout_lives).write(log)
    _write_machine(records, lives, log)
    decisions = [*records.decisions, *lives.decisions(records.origin_ns)]
    inside = [entry for entry in decisions if 0 <= entry.time_ns <= records.duration_ns]
    write_decisions(log, sorted(inside, key=lambda entry: entry.time_ns))


def _write_placements(records: LiveRecords, lives: Lives, log: Recorder) -> None:
    rows = [
        {
            "start_ns": life.start_ns - records.origin_ns,
            "end_ns": -1
            if life.end_ns is None or life.end_ns > records.end_ns
            else life.end_ns - records.origin_ns,
            "topology": life.executor.topology,
            "component": life.executor.component,
            "start_task": life.executor.start,
            "end_task": life.executor.end,
            "worker": life.worker.number,
            "node": life.worker.slot.node,
            "port": life.worker.slot.port,
        }
        for life in lives.executors
        if life.start_ns <= records.end_ns
    ]
    _append_rows(log, "placements", rows)


def _write_machine(records: LiveRecords, lives: Lives, log: Recorder) -> None:
    """Write CPU of a node outside workers (supervisor, log writers) and of workers without a file."""
    silent = {worker.pid: worker for worker in lives.workers if worker.file is None}
    rows: list[dict[str, Any]] = []
    origin = records.origin_ns
    for before, after in itertools.pairwise(records.samples):
        if after.time_ns > records.end_ns or before.time_ns < origin:
            continue
        facts: dict[str, Any] = {"start_ns": before.time_ns - origin, "end_ns": after.time_ns - origin}
        facts |= {"component": "", "task": -1, "thread": HOUSEKEEPING}
        earlier = {seen.worker.pid: seen.total_ns for seen in before.workers}
        own: Counter[str] = Counter()
        for seen in after.workers:
            used = max(0, seen.total_ns - earlier.get(seen.worker.pid, 0))
            node = seen.worker.slot.node
            own[node] += used
            life = silent.get(seen.worker.pid)
            if life is not None and used:
                whose = {"node": node, "topology": life.topology, "worker": life.number}
                rows.append({**facts, **whose, "cpu_ms": used / 1e6})
        for node, use in after.hosts.items():
            if node in before.hosts:
                rest = use.cpu_ns - before.hosts[node].cpu_ns - own[node]
                if rest > 0:
                    whose = {"node": node, "topology": "", "worker": -1}
                    rows.append({**facts, **whose, "cpu_ms": rest / 1e6})
    _append_rows(log, "cpu", rows)


_ROOT_BITS, _INCARNATION_BITS = 40, 8
_COUNTERS = ("emitted", "transferred", "executed", "acked", "failed")


class _TopologyRows:
    """Writes what a topology's workers have recorded; ``spout_lives`` number the lives of all spout tasks."""

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
            task: each.component
            for each in executors_of(plan.topology, records.spec.version)
            for task in each.tasks
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
                    _append_rows(log, "counts", self._counts(window))
                    _append_rows(log, "traffic", self._traffic(worker, window))
                    _append_rows(log, "cpu", self._cpu(worker, window))

    def _write_roots(self, log: Recorder) -> None:
        """Write root tuples in the order in which they ended, then those that have not ended."""
        frames: list[pd.DataFrame] = []
        origin, end = self._records.origin_ns, self._records.end_ns
        for task, incarnation, rows in read_rows(self._folder, "roots"):
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
        for task, incarnation, rows in read_rows(self._folder, "executions"):
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
        """Number the root tuples of a spout task's life; sampled ones get multiples of ``sample_every``."""
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
        start_ns = max(0, window.start_ns - self._records.origin_ns)
        return {"start_ns": start_ns, "end_ns": window.end_ns - self._records.origin_ns, "topology": self._id}

    def _counts(self, window: Window) -> list[dict[str, Any]]:
        return [
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

    def _traffic(self, worker: WorkerLife, window: Window) -> list[dict[str, Any]]:
        targets = np.array([target for _, target, _, _ in window.sent])
        middle = np.full(len(targets), (window.start_ns + window.end_ns) // 2)
        localities = self._localities(targets, middle, worker).codes
        return [
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
            for (source, target, tuples, size), far in zip(window.sent, localities, strict=True)
        ]

    def _cpu(self, worker: WorkerLife, window: Window) -> list[dict[str, Any]]:
        uses = self._uses[worker.number]
        sums: Counter[ThreadUse] = Counter()
        for key, _, used in window.threads:
            sums[uses[key]] += used
        for kind in (COMPILER, COLLECTOR):
            sums[ThreadUse(kind, -1)] = _between(self._records.samples, worker.pid, window, kind)
        # The rest is the JVM's other threads: neither Java threads, nor the compiler, nor the collector.
        sums[ThreadUse(HOUSEKEEPING, -1)] += max(0, window.process_cpu_ns - sums.total())
        return [
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


def _append_rows(log: Recorder, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of a table, if there are any."""
    if rows:
        cells = {name: [row[name] for row in rows] for name in rows[0]}
        log.append(table, {k: v if isinstance(v[0], str) else np.array(v) for k, v in cells.items()})


def _same(name: str, rows: int) -> Coded:
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
