"""What is in one worker of Storm 2.x's resource-aware search: its executors in Java's order, and their sums.

Storm sorts and adds up a worker's executors anew whenever one comes or goes. A search that steps back sees
the same contents thousands of times, so what a worker is with or without an executor is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial

from storm_lab.model import Executor
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.storm.hash_order import executor_hash, hash_map_order

Sums = tuple[float, float, float]
"""CPU points, heap and off-heap memory in MB."""

_CHANGES_KEPT = 1 << 14
"""Of each kind; more than a search within Storm's 10,000 states asks for anew, and a few megabytes."""


class Ras2Worker:
    """A worker's executors in Storm's order and what they ask for together. Must not be changed."""

    __slots__ = ("before", "executors", "sums")

    def __init__(self, executors: list[Executor], sums: Sums, before: Ras2Worker | None = None) -> None:
        self.executors = executors
        self.sums = sums
        self.before = before
        """What it was until the last executor joined, if that is known."""


NOBODY = Ras2Worker([], (0.0, 0.0, 0.0))
"""A slot without a worker."""


class WorkerChanges:
    """What workers become when an executor joins or leaves them; for all slots and states of one view."""

    def __init__(self, view: SchedulingView) -> None:
        self.demands = _Demands(view)
        self.joined = lru_cache(_CHANGES_KEPT)(partial(_joined, self.demands))
        """``joined(worker, executor)``: the worker with one executor more."""
        self.left = lru_cache(_CHANGES_KEPT)(partial(_left, self.demands))
        """``left(worker, executor)``: the worker with one executor less; `NOBODY` if it was the last."""

    def sums(self, executors: Iterable[Executor]) -> Sums:
        """What the executors ask for together, added up in this order."""
        return _sums(self.demands, executors)


class _Demands(dict[Executor, Sums]):
    """What each executor asks for; looked up in the view once."""

    def __init__(self, view: SchedulingView) -> None:
        super().__init__()
        self._view = view

    def __missing__(self, executor: Executor) -> Sums:
        demand = self._view.demand(executor)
        sums = self[executor] = (demand.cpu_points, demand.memory_mb, demand.offheap_mb)
        return sums


def _sums(demands: _Demands, executors: Iterable[Executor]) -> Sums:
    cpu = heap = offheap = 0.0
    for executor in executors:
        more_cpu, more_heap, more_offheap = demands[executor]
        cpu += more_cpu
        heap += more_heap
        offheap += more_offheap
    return cpu, heap, offheap


def _joined(demands: _Demands, worker: Ras2Worker, executor: Executor) -> Ras2Worker:
    executors = hash_map_order([executor, *worker.executors], executor_hash)
    return Ras2Worker(executors, _sums(demands, executors), worker)


def _left(demands: _Demands, worker: Ras2Worker, executor: Executor) -> Ras2Worker:
    rest = [other for other in worker.executors if other != executor]
    if not rest:
        return NOBODY
    executors = hash_map_order(rest, executor_hash)
    # The same object again, for which more is known.
    if worker.before is not None and worker.before.executors == executors:
        return worker.before
    return Ras2Worker(executors, _sums(demands, executors))
