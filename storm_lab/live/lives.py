"""Which executors ran where, from when to when, put together from what workers and the machine have told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from storm_lab.errors import StormLabError
from storm_lab.live.player_files import WorkerFile
from storm_lab.live.sampler import Sample
from storm_lab.live.thread_names import HOUSEKEEPING, ThreadUse, thread_uses
from storm_lab.live.workers import LiveWorker
from storm_lab.model import Assignment, Cluster, Executor, Slot

LOCALITIES = ("process", "node", "rack", "cluster")


@dataclass(frozen=True, slots=True)
class WorkerLife:
    """A worker process. Times are CLOCK_MONOTONIC; ``ended_ns`` None: it ran to the end.

    ``ended_ns`` is when it was found gone, for one that was killed: between its end and that lies up to a
    window. ``file`` is None for a worker without any executor of the topology's own components.
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
    uses: Mapping[int, Mapping[int, ThreadUse]] = field(default_factory=dict)
    """Worker number to what its Java threads do, by their ids."""

    def tasks(self, topology: str) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """For each task that ever ran: when it came to a worker, ascending, and to which."""
        stays: dict[int, list[tuple[int, int]]] = {}
        for life in self.executors:
            if life.executor.topology == topology:
                for task in life.executor.tasks:
                    stays.setdefault(task, []).append((life.start_ns, life.worker.number))
        return {
            task: (
                np.array([start for start, _ in sorted(pairs)], np.int64),
                np.array([worker for _, worker in sorted(pairs)], np.int32),
            )
            for task, pairs in stays.items()
        }

    def distance(self, one: int, other: int) -> int:
        """Index into `LOCALITIES` of how far a tuple travels from a worker to another."""
        a, b = self.workers[one], self.workers[other]
        if a.number == b.number:
            return 0
        if a.slot.node == b.slot.node:
            return 1
        same = self.cluster.node(a.slot.node).rack == self.cluster.node(b.slot.node).rack
        return 2 if same else 3

    def distances(self) -> NDArray[np.int8]:
        """`distance` of every two workers."""
        count = len(self.workers)
        table = np.zeros((count, count), np.int8)
        for one in range(count):
            for other in range(count):
                table[one, other] = self.distance(one, other)
        return table


def find_workers(
    files: Mapping[str, Sequence[WorkerFile]],
    samples: Sequence[Sample],
    names: Mapping[str, str],
    supervisors: Mapping[str, str],
) -> tuple[WorkerLife, ...]:
    """All worker processes of a run, numbered in the order in which they started.

    Args:
        files: by topology id, what its workers have written.
        samples: what was seen of the machine.
        names: topology id by the name under which it was submitted.
        supervisors: node id by Storm's id of its supervisor, for workers too short-lived to be seen.

    Raises:
        StormLabError: a worker has written whose node nobody knows.
    """
    seen: dict[int, LiveWorker] = {}
    last: dict[int, int] = {}
    for index, sample in enumerate(samples):
        for entry in sample.workers:
            seen.setdefault(entry.worker.pid, entry.worker)
            last[entry.worker.pid] = index
    found: list[WorkerLife] = []
    for topology, workers in files.items():
        for file in workers:
            worker = seen.pop(file.pid, None)
            node = worker.slot.node if worker else _node(file, supervisors)
            ended = _ended(file, last.get(file.pid), samples)
            slot = Slot(node, file.port)
            found.append(WorkerLife(0, topology, slot, file.pid, file.started_ns, ended, file))
    for pid, worker in seen.items():
        known = names.get(worker.topology_id.rsplit("-", 2)[0])
        if known is not None:
            ended = _ended(None, last[pid], samples)
            found.append(WorkerLife(0, known, worker.slot, pid, worker.started_ns, ended, None))
    found.sort(key=lambda life: (life.started_ns, life.pid))
    return tuple(replace(life, number=number) for number, life in enumerate(found))


def find_executors(
    cluster: Cluster,
    workers: Sequence[WorkerLife],
    executors: Mapping[str, Sequence[Executor]],
    assignments: Sequence[tuple[int, Assignment]],
) -> Lives:
    """Where each executor ran.

    Executors of the topology's own components say themselves when they are ready; that an acker runs is seen
    by its thread. In a worker with neither, what Nimbus had assigned to its slot counts.

    Args:
        cluster: the nodes.
        workers: all worker processes.
        executors: of each topology.
        assignments: what Nimbus had decided from when on, ascending.
    """
    lives: list[ExecutorLife] = []
    uses: dict[int, Mapping[int, ThreadUse]] = {}
    for worker in workers:
        own = executors[worker.topology]
        by_task = {task: executor for executor in own for task in executor.tasks}
        if worker.file is None:
            lives += [
                ExecutorLife(worker, executor, worker.started_ns, worker.ended_ns)
                for executor in _assigned(worker, own, assignments)
            ]
            continue
        ready, over = _own_executors(worker.file, by_task)
        known = {entry.thread: by_task[entry.task].start for entry in worker.file.tasks}
        threads = {key: name for window in worker.file.windows for key, name, _ in window.threads}
        uses[worker.number] = thread_uses(threads.items(), {e.component for e in own}, known)
        for executor in _by_threads(worker.file, uses[worker.number], by_task):
            ready.setdefault(executor, min(ready.values(), default=worker.file.recorded_ns))
        lives += [
            ExecutorLife(worker, executor, start, over.get(executor, worker.ended_ns))
            for executor, start in sorted(ready.items())
        ]
    return Lives(cluster, tuple(workers), tuple(lives), uses)


def _own_executors(
    file: WorkerFile, by_task: Mapping[int, Executor]
) -> tuple[dict[Executor, int], dict[Executor, int]]:
    """When executors were ready: all their tasks open; and when they were closed in order, if they were."""
    ready: dict[Executor, int] = {}
    over: dict[Executor, int] = {}
    for entry in file.tasks:
        executor = by_task[entry.task]
        ready[executor] = max(ready.get(executor, 0), entry.opened_ns)
        if entry.closed_ns is not None:
            over[executor] = max(over.get(executor, 0), entry.closed_ns)
    return ready, over


def _by_threads(
    file: WorkerFile, uses: Mapping[int, ThreadUse], by_task: Mapping[int, Executor]
) -> Iterable[Executor]:
    alive = {key for window in file.windows for key, _, _ in window.threads}
    first_tasks = {uses[key].first_task for key in alive if uses[key].kind != HOUSEKEEPING}
    return [by_task[task] for task in sorted(first_tasks) if task in by_task]


def _assigned(
    worker: WorkerLife, executors: Iterable[Executor], assignments: Sequence[tuple[int, Assignment]]
) -> list[Executor]:
    place = bisect_right([time_ns for time_ns, _ in assignments], worker.started_ns) - 1
    if place < 0:
        return []
    slots = assignments[place][1].slots
    return [executor for executor in executors if slots.get(executor) == worker.slot]


def _node(file: WorkerFile, supervisors: Mapping[str, str]) -> str:
    if file.supervisor not in supervisors:
        raise StormLabError(
            f"worker {file.pid} ran under a supervisor that nobody knows: {file.supervisor!r}"
        )
    return supervisors[file.supervisor]


def _ended(file: WorkerFile | None, last: int | None, samples: Sequence[Sample]) -> int | None:
    """When a worker had ended, or None when it was there to the end."""
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
