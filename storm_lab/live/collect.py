"""Writes a live run's records as an ordinary tuple log.

What real Storm does not record is missing: when a tuple entered a receive queue, and the messages and
counters of ackers. Counters of a killed worker end with its last complete window.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from storm_lab.emulator.control.decision_log import Decision, write_decisions
from storm_lab.live.lives import LiveRecords, Lives, lives_of
from storm_lab.live.player_files import HOUSEKEEPING
from storm_lab.live.topology_rows import RootNumbers, TopologyRows
from storm_lab.tuplelog.recorder import Recorder


def collect(records: LiveRecords, log: Recorder) -> None:
    """Write a run's tables.

    Raises:
        StormLabError: the records contradict each other.
        ValueError: a file is not one of the player's.
    """
    lives = lives_of(records)
    _write_nodes(records, log)
    _write_placements(records, lives, log)
    numbers = RootNumbers.of(records)
    for plan in records.plans:
        TopologyRows(records, lives, plan, numbers).write(log)
    _write_machine(records, lives, log)
    decisions = [*records.decisions, *_worker_decisions(lives, records.origin_ns)]
    inside = [entry for entry in decisions if 0 <= entry.time_ns <= records.duration_ns]
    write_decisions(log, sorted(inside, key=lambda entry: entry.time_ns))


def _worker_decisions(lives: Lives, origin_ns: int) -> Iterator[Decision]:
    """Yield starts, states and ends of the workers as control events on the run's clock."""
    for worker in lives.workers:
        facts: dict[str, Any] = {"topology": worker.topology, "worker": worker.number}
        actor, slot = f"worker:{worker.number}", str(worker.slot)
        supervisor = f"supervisor:{worker.slot.node}"
        yield Decision(worker.started_ns - origin_ns, supervisor, "start-worker", slot, "", facts)
        own = [life for life in lives.executors if life.worker is worker]
        if own and worker.file is not None:
            names = [str(life.executor) for life in own]
            ready = max(life.start_ns for life in own)
            yield Decision(ready - origin_ns, actor, "worker-ready", slot, "", facts | {"executors": names})
        notes = () if worker.file is None else worker.file.notes
        for time_ns, what, task in notes:
            subject = next((str(e.executor) for e in own if task in e.executor.tasks), str(task))
            yield Decision(time_ns - origin_ns, actor, what, subject, "", {"task": task})
        if worker.ended_ns is not None:
            yield Decision(worker.ended_ns - origin_ns, actor, "worker-ended", slot, "", facts)


def _write_nodes(records: LiveRecords, log: Recorder) -> None:
    nodes = records.cluster.nodes
    log.append(
        "nodes",
        {
            "node": [node.id for node in nodes],
            "rack": [node.rack for node in nodes],
            "cores": np.array([node.cores for node in nodes], np.int32),
            "core_mhz": np.array([node.core_mhz for node in nodes]),
            "memory_mb": np.array([node.memory_mb for node in nodes]),
        },
    )


def _write_placements(records: LiveRecords, lives: Lives, log: Recorder) -> None:
    stays = [life for life in lives.executors if life.start_ns <= records.end_ns]
    if not stays:
        return

    def end(time_ns: int | None) -> int:
        return -1 if time_ns is None or time_ns > records.end_ns else time_ns - records.origin_ns

    log.append(
        "placements",
        {
            "start_ns": np.array([life.start_ns - records.origin_ns for life in stays], np.int64),
            "end_ns": np.array([end(life.end_ns) for life in stays], np.int64),
            "topology": [life.executor.topology for life in stays],
            "component": [life.executor.component for life in stays],
            "start_task": np.array([life.executor.start for life in stays], np.int32),
            "end_task": np.array([life.executor.end for life in stays], np.int32),
            "worker": np.array([life.worker.number for life in stays], np.int32),
            "node": [life.worker.slot.node for life in stays],
            "port": np.array([life.worker.slot.port for life in stays], np.int32),
        },
    )


def _write_machine(records: LiveRecords, lives: Lives, log: Recorder) -> None:
    """Write CPU of a node outside workers (supervisor, log writers) and of workers without a file."""
    silent = {worker.pid: worker for worker in lives.workers if worker.file is None}
    rows: list[tuple[int, int, str, str, int, float]] = []
    origin = records.origin_ns
    for before, after in itertools.pairwise(records.samples):
        if after.time_ns > records.end_ns or before.time_ns < origin:
            continue
        span = (before.time_ns - origin, after.time_ns - origin)
        earlier = {seen.worker.pid: seen.total_ns for seen in before.workers}
        own: Counter[str] = Counter()
        for seen in after.workers:
            used = max(0, seen.total_ns - earlier.get(seen.worker.pid, 0))
            node = seen.worker.slot.node
            own[node] += used
            life = silent.get(seen.worker.pid)
            if life is not None and used:
                rows.append((*span, node, life.topology, life.number, used / 1e6))
        for node, use in after.hosts.items():
            if node in before.hosts:
                rest = use.cpu_ns - before.hosts[node].cpu_ns - own[node]
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
