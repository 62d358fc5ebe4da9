"""Writes a live run's records as an ordinary tuple log.

What real Storm does not record is missing: when a tuple entered a receive queue, and the messages and
counters of ackers. Counters of a killed worker end with its last complete window.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from storm_lab.emulator.control.decision_log import Decision, write_decisions
from storm_lab.live.lives import LiveRecords, Lives, lives_of
from storm_lab.live.player_files import HOUSEKEEPING
from storm_lab.live.topology_rows import TopologyRows, append_rows, number_spout_lives
from storm_lab.tuplelog.recorder import Recorder


def collect(records: LiveRecords, log: Recorder) -> None:
    """Write a run's tables; `StormLabError` or `ValueError` if a record or file is not the player's."""
    lives = lives_of(records)
    _write_nodes(records, log)
    _write_placements(records, lives, log)
    spout_lives = number_spout_lives(records)
    for plan in records.spec.topologies:
        TopologyRows(records, lives, plan, spout_lives).write(log)
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
    names = ("rack", "cores", "core_mhz", "memory_mb")
    nodes = records.spec.cluster.nodes
    append_rows(
        log, "nodes", [{"node": node.id, **{name: getattr(node, name) for name in names}} for node in nodes]
    )


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
    append_rows(log, "placements", rows)


def _write_machine(records: LiveRecords, lives: Lives, log: Recorder) -> None:
    """Write CPU of a node outside workers (supervisor, log writers) and of workers without a file."""
    silent = {worker.pid: worker for worker in lives.workers if worker.file is None}
    rows: list[dict[str, Any]] = []
    origin = records.origin_ns
    for before, after in itertools.pairwise(records.samples):
        if after.time_ns > records.end_ns or before.time_ns < origin:
            continue

        facts = {
            "start_ns": before.time_ns - origin,
            "end_ns": after.time_ns - origin,
            "component": "",
            "task": -1,
            "thread": HOUSEKEEPING,
        }
        earlier = {seen.worker.pid: seen.total_ns for seen in before.workers}
        own: Counter[str] = Counter()
        for seen in after.workers:
            used = max(0, seen.total_ns - earlier.get(seen.worker.pid, 0))
            node = seen.worker.slot.node
            own[node] += used
            life = silent.get(seen.worker.pid)
            if life is not None and used:
                place = {"node": node, "topology": life.topology, "worker": life.number}
                rows.append({**facts, **place, "cpu_ms": used / 1e6})
        for node, use in after.hosts.items():
            if node in before.hosts:
                rest = use.cpu_ns - before.hosts[node].cpu_ns - own[node]
                if rest > 0:
                    place = {"node": node, "topology": "", "worker": -1}
                    rows.append({**facts, **place, "cpu_ms": rest / 1e6})
    append_rows(log, "cpu", rows)
