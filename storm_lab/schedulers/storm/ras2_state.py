"""Resources used and left on nodes by the arithmetic of Storm 2.x's RAS, exact to the last bit.

Whenever an executor joins or leaves a worker, Storm 2 sums the worker's executors again, then the workers of
the node, in the order of Java's hash tables. With demands such as 33.3, this order decides about exact fits
and ties. Source: ``Cluster``, ``RasNode`` and ``NormalizedResources`` of Storm 2.8.3.

A search with backtracking meets the same workers thousands of times, so workers with one executor more or
less are cached.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Self

from storm_lab.model import Executor, Slot
from storm_lab.model.grouped import grouped
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.storm.hash_order import executor_hash, hash_map_order, slot_hash
from storm_lab.schedulers.storm.ras_state import RasState, Worker, total_demand

_CACHE_SIZE = 1 << 14
"""Cached changes of each kind: more than a search within Storm's 10,000 states needs, and a few megabytes."""


@lru_cache(_CACHE_SIZE)
def _after_joining(worker: Worker, executor: Executor) -> Worker:
    return tuple(hash_map_order((executor, *worker), executor_hash))


@lru_cache(_CACHE_SIZE)
def _after_leaving(worker: Worker, executor: Executor) -> Worker:
    return tuple(hash_map_order([other for other in worker if other != executor], executor_hash))


class Ras2State(RasState):
    """Placed executors, and the resources used and left on the nodes by Storm 2's own arithmetic."""

    def __init__(self, view: SchedulingView) -> None:
        super().__init__(view)
        self.sums_of = lru_cache(_CACHE_SIZE)(partial(total_demand, view))
        """``sums_of(worker)`` is the total demand of a worker; copies of the state share this cache."""
        self._of_node: dict[str, dict[Slot, Worker]] = {}
        self._left: dict[str, tuple[float, float]] = {}
        for placed in self.slot_of.values():
            executors = hash_map_order(list(placed), executor_hash)
            for slot, inside in grouped(executors, placed.__getitem__).items():
                self._enter(slot, tuple(inside))

    def copy(self) -> Self:
        """Return an independent state of the same view."""
        twin = super().copy()
        twin._of_node = {node: dict(workers) for node, workers in self._of_node.items()}
        twin._left = dict(self._left)
        return twin

    # --- queries ---

    def available(self, node_id: str) -> tuple[float, float]:
        """Return the CPU points and memory in MB left on the node, never below zero."""
        left = self._left.get(node_id)
        if left is None:
            cpu, memory = self._used(node_id)
            offer = self.nodes[node_id].offer
            left = max(0.0, offer.cpu_points - cpu), max(0.0, offer.total_memory_mb - memory)
            self._left[node_id] = left
        return left

    def available_in_all(self) -> tuple[float, float]:
        """Return the CPU points and memory in MB left on all live nodes together."""
        cpu = memory = 0.0
        for node_id in self.alive:
            used_cpu, used_memory = self._used(node_id)
            offer = self.nodes[node_id].offer
            cpu = max(0.0, cpu + offer.cpu_points - used_cpu)
            memory = max(0.0, memory + offer.total_memory_mb - used_memory)
        return cpu, memory

    def request(self, executors: Iterable[Executor]) -> tuple[float, float]:
        """Return the CPU points and memory in MB that the executors ask for together."""
        cpu, heap, offheap = total_demand(self.view, hash_map_order(list(executors), executor_hash))
        return cpu, heap + offheap

    def memory_of_workers(self, topology_id: str) -> float:
        """Return the memory in MB of the topology's workers, summed worker by worker as in Storm."""
        slots = dict.fromkeys(self.slot_of[topology_id].values())
        used = (self.sums_of(self.workers[slot]) for slot in slots)
        return math.fsum(heap + offheap for _, heap, offheap in used)

    def added_by(self, executor: Executor, slot: Slot) -> tuple[float, float, float]:
        """Return the CPU points and memory in MB that the executor adds to the worker, and the new heap."""
        now = self.workers.get(slot, ())
        before, after = self.sums_of(now), self.sums_of(_after_joining(now, executor))
        return after[0] - before[0], (after[2] + after[1]) - (before[2] + before[1]), after[1]

    # --- changes ---

    def place(self, executor: Executor, slot: Slot) -> None:
        """Put an unplaced executor into a slot."""
        self.slot_of[executor.topology][executor] = slot
        self._enter(slot, _after_joining(self.workers.get(slot, ()), executor))

    def remove(self, executor: Executor) -> None:
        """Remove a placed executor from its slot."""
        slot = self.slot_of[executor.topology].pop(executor)
        self._enter(slot, _after_leaving(self.workers[slot], executor))

    def _enter(self, slot: Slot, worker: Worker) -> None:
        of_node = self._of_node.setdefault(slot.node, {})
        if worker:
            self.workers[slot] = of_node[slot] = worker
        else:
            del self.workers[slot], of_node[slot]
        self._left.pop(slot.node, None)

    def _used(self, node_id: str) -> tuple[float, float]:
        of_node = self._of_node.get(node_id, {})
        slots = hash_map_order(list(of_node), slot_hash) if len(of_node) > 1 else of_node
        cpu = heap = offheap = 0.0
        for slot in slots:
            sums = self.sums_of(of_node[slot])
            cpu, heap, offheap = cpu + sums[0], heap + sums[1], offheap + sums[2]
        return cpu, heap + offheap
