"""Placements of a live run: which executor ran in which worker, and when, from workers' files and samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.control.decision_log import Decision
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.kinds import IN_CLUSTER, IN_NODE, IN_PROCESS, IN_RACK
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import StormLabError
from storm_lab.live.player_files import HOUSEKEEPING, ThreadUse, WorkerFile, read_workers, thread_uses
from storm_lab.live.processes import LiveWorker
from storm_lab.live.sampler import Sample
from storm_lab.live.trace_export import storm_name
from storm_lab.model import Assignment, Cluster, Executor, Slot, executors_of


@dataclass(frozen=True, slots=True)
class LiveRecords:
    """Everything that is known of a run on real Storm. Times are CLOCK_MONOTONIC, in ns.

    Args:
        spec: what was played, with the version of the release that played it.
        folders: by topology id, the folder of the files that its workers wrote.
        origin_ns: start of the run.
        samples: samples of the machine.
        assignments: Nimbus's assignments, each with the time from which it holds, ascending.
        supervisors: node id by Storm's id of its supervisor.
        decisions: events of the control plane and of the user, on the run's own clock.
    """

    spec: EmulationSpec
    folders: Mapping[str, Path]
    origin_ns: int
    samples: Sequence[Sample]
    assignments: Sequence[tuple[int, Assignment]]
    supervisors: Mapping[str, str]
    decisions: Sequence[Decision]

    @property
    def duration_ns(self) -> int:
        """Length of the run."""
        return round(self.spec.duration_s * NS_PER_S)

    @property
    def end_ns(self) -> int:
        """End of the run; later rows are left out."""
        return self.origin_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class WorkerLife:
    """A worker process. Times are CLOCK_MONOTONIC.

    ``ended_ns`` is None for a worker that ran to the end; for a killed one it is the last evidence of it, up
    to a window before its end. ``file`` is None for a worker without any executor of the topology's own
    components.
    """

    number: int
    topology: str
    slot: Slot
    pid: int
    started_ns: int
    ended_ns: int | None
    file: WorkerFile | None


@dataclass(frozen=True, slots=True)
class ExecutorLife:
    """An executor's stay in a worker."""

    worker: WorkerLife
    executor: Executor
    start_ns: int
    end_ns: int | None


@dataclass(frozen=True, slots=True)
class Lives:
    """All workers and executors of a run."""

    cluster: Cluster
    workers: tuple[WorkerLife, ...]
    executors: tuple[ExecutorLife, ...]
    uses: Mapping[int, Mapping[int, ThreadUse]]
    """By worker number and id of a Java thread, what the thread does."""

    def tasks(self, topology: str) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return each task's arrivals at workers: the times, ascending, and the workers' numbers."""
        stays: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for life in sorted(self.executors, key=lambda life: (life.start_ns, life.worker.number)):
            if life.executor.topology == topology:
                for task in life.executor.tasks:
                    stays[task].append((life.start_ns, life.worker.number))
        columns = {task: np.array(pairs, np.int64).T for task, pairs in stays.items()}
        return {task: (starts, workers) for task, (starts, workers) in columns.items()}

    def decisions(self, origin_ns: int) -> Iterator[Decision]:
        """Yield starts, states and ends of the workers as control events on the clock of a run."""
        for worker in self.workers:
            facts: dict[str, Any] = {"topology": worker.topology, "worker": worker.number}
            actor, slot = f"worker:{worker.number}", str(worker.slot)
            supervisor = f"supervisor:{worker.slot.node}"
            yield Decision(worker.started_ns - origin_ns, supervisor, "start-worker", slot, "", facts)
            own = [life for life in self.executors if life.worker is worker]
            if own and worker.file is not None:
                ready_ns = max(life.start_ns for life in own) - origin_ns
                names = [str(life.executor) for life in own]
                yield Decision(ready_ns, actor, "worker-ready", slot, "", facts | {"executors": names})
            for time_ns, what, task in worker.file.notes if worker.file else ():
                subject = next((str(e.executor) for e in own if task in e.executor.tasks), str(task))
                yield Decision(time_ns - origin_ns, actor, what, subject, "", {"task": task})
            if worker.ended_ns is not None:
                yield Decision(worker.ended_ns - origin_ns, actor, "worker-ended", slot, "", facts)

    def distances(self) -> NDArray[np.int8]:
        """Return how far a tuple travels between each pair of workers, as indexes into `LOCALITY_NAMES`."""
        nodes = np.array([worker.slot.node for worker in self.workers])
        racks = np.array([self.cluster.node(node).rack for node in nodes])
        table = np.where(racks[:, None] == racks, IN_RACK, IN_CLUSTER).astype(np.int8)
        table[nodes[:, None] == nodes] = IN_NODE
        np.fill_diagonal(table, IN_PROCESS)
        return table


def lives_of(records: LiveRecords) -> Lives:
    """Find where each executor ran; `StormLabError` or `ValueError` if a record or file is not the player's.

    Executors of the topology's own components record when they are ready. Ackers do not: they are recognised
    by their threads. In a worker with neither, Nimbus's assignment to its slot decides.
    """
    spec = records.spec
    executors = {plan.topology.id: executors_of(plan.topology, spec.version) for plan in spec.topologies}
    workers = _workers(records)
    lives: list[ExecutorLife] = []
    uses: dict[int, Mapping[int, ThreadUse]] = {}
    for worker in workers:
        own = executors[worker.topology]
        by_task = {task: executor for executor in own for task in executor.tasks}
        if worker.file is None:
            earlier = [placed for time_ns, placed in records.assignments if time_ns <= worker.started_ns]
            slots = earlier[-1].slots if earlier else {}
            assigned = [each for each in own if slots.get(each) == worker.slot]
            lives += [ExecutorLife(worker, each, worker.started_ns, worker.ended_ns) for each in assigned]
            continue
        ready, closed = _own_executors(worker.file, by_task)
        threads = {key: name for window in worker.file.windows for key, name, _ in window.threads}
        uses[worker.number] = thread_uses(threads.items(), worker.file.tasks, by_task)
        firsts = {use.first_task for use in uses[worker.number].values() if use.kind != HOUSEKEEPING}
        for task in sorted(firsts & by_task.keys()):
            ready.setdefault(by_task[task], min(ready.values(), default=worker.file.recorded_ns))
        for executor, start in sorted(ready.items()):
            lives.append(ExecutorLife(worker, executor, start, closed.get(executor, worker.ended_ns)))
    return Lives(spec.cluster, workers, tuple(lives), uses)


def _workers(records: LiveRecords) -> tuple[WorkerLife, ...]:
    """Return all worker processes of a run, numbered in the order in which they started."""
    samples = records.samples
    seen: dict[int, LiveWorker] = {}
    last: dict[int, int] = {}
    for index, sample in enumerate(samples):
        for entry in sample.workers:
            seen.setdefault(entry.worker.pid, entry.worker)
            last[entry.worker.pid] = index
    found: list[WorkerLife] = []
    for topology in (plan.topology.id for plan in records.spec.topologies):
        for file in read_workers(records.folders[topology]):
            worker = seen.pop(file.pid, None)
            node = worker.slot.node if worker else records.supervisors.get(file.supervisor)
            if node is None:
                message = f"worker {file.pid} ran under an unknown supervisor: {file.supervisor!r}"
                raise StormLabError(message)
            ended = _ended(file, last.get(file.pid), samples)
            slot = Slot(node, file.port)
            found.append(WorkerLife(0, topology, slot, file.pid, file.started_ns, ended, file))
    names = {storm_name(plan.topology): plan.topology.id for plan in records.spec.topologies}
    for pid, worker in seen.items():
        known = names.get(worker.topology_id.rsplit("-", 2)[0])
        if known is not None:
            ended = _ended(None, last[pid], samples)
            found.append(WorkerLife(0, known, worker.slot, pid, worker.started_ns, ended, None))
    found.sort(key=lambda life: (life.started_ns, life.pid))
    return tuple(replace(life, number=number) for number, life in enumerate(found))


def _own_executors(
    file: WorkerFile, by_task: Mapping[int, Executor]
) -> tuple[dict[Executor, int], dict[Executor, int]]:
    """Return when each executor was ready (all its tasks open), and when it was closed, if it was closed."""
    ready: dict[Executor, int] = {}
    closed: dict[Executor, int] = {}
    for entry in file.tasks:
        executor = by_task[entry.task]
        ready[executor] = max(ready.get(executor, 0), entry.opened_ns)
        if entry.closed_ns is not None:
            closed[executor] = max(closed.get(executor, 0), entry.closed_ns)
    return ready, closed


def _ended(file: WorkerFile | None, last: int | None, samples: Sequence[Sample]) -> int | None:
    """Return when a worker was last known to run, or None if it ran to the end."""
    if last is not None and last == len(samples) - 1:
        return None
    evidence = [0]
    if last is not None:
        evidence.append(samples[last].time_ns)
    if file is not None:
        evidence += [file.recorded_ns, *(window.end_ns for window in file.windows)]
        evidence += [time_ns for time_ns, _, _ in file.notes]
        if last is None and file.windows and samples and file.windows[-1].end_ns >= samples[-1].time_ns:
            return None
    return max(evidence)
