"""The assignments and resources during a resource-aware round of Storm, exact to the last bit.

With demands such as 33.3, the order of summation decides about exact fits and about ties of distance. Storm
1.0 subtracts each executor's demand from its node, one after the other, and rebuilds all nodes from the
assignments before each attempt. Storm 2 sums a worker's executors again whenever one joins or leaves, then
the workers of the node. Both follow the order of Java's hash maps. Storm 1.0's checks against overdrawn nodes
are kept for the same reason. Source: ``RAS_Node``, ``RAS_Nodes``, ``SchedulingState`` and
``SchedulerAssignmentImpl`` of 1.0.6; ``Cluster``, ``RasNode`` and ``NormalizedResources`` of 2.8.3.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Self

from storm_lab.model import Executor, Node, Slot, Topology
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import string_hash
from storm_lab.model.settings import MAX_HEAP, number_of
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.keeping import Assignments
from storm_lab.schedulers.storm.hash_order import (
    built_and_copied_order,
    copied_capacity,
    copied_map_order,
    executor_hash,
    grown_capacity,
    handed_over_order,
    hash_map_order,
    named_slot_order,
    slot_hash,
)

_DEFAULT_MAX_HEAP_MB = 768.0

Worker = tuple[Executor, ...]
"""The executors of a worker, in the order that counts for the version."""

Sums = tuple[float, float, float]
"""CPU points, heap and off-heap memory in MB."""


def total_demand(view: SchedulingView, executors: Iterable[Executor]) -> Sums:
    """Return the executors' total demand, summed in this order."""
    cpu = heap = offheap = 0.0
    for executor in executors:
        demand = view.demand(executor)
        cpu += demand.cpu_points
        heap += demand.memory_mb
        offheap += demand.offheap_mb
    return cpu, heap, offheap


def max_worker_heap_mb(topology: Topology) -> float:
    """Return the heap limit of one worker process in MB."""
    return number_of(topology.settings, MAX_HEAP, _DEFAULT_MAX_HEAP_MB)


def owners(view: SchedulingView) -> list[str]:
    """Return the topologies' owners, in Storm's iteration order."""
    ids = handed_over_order([t.id for t in view.topologies], string_hash, view.version)
    return hash_map_order(list(dict.fromkeys(view.topology[i].owner for i in ids)), string_hash)


def priority_key(topology: Topology) -> tuple[int, float, str]:
    """Sort key of a user's topologies, the most important one first."""
    return (topology.priority, topology.launch_time_s, topology.id)


class RasState(Assignments):
    """Nodes and placed executors."""

    def __init__(self, view: SchedulingView) -> None:
        super().__init__(view)
        self.nodes: dict[str, Node] = {
            i: view.nodes[i] for i in handed_over_order(list(view.nodes), string_hash, view.version)
        }
        self.alive: dict[str, Node] = {
            i: node for i, node in self.nodes.items() if node.host_name not in view.blacklisted_hosts
        }
        self.workers: dict[Slot, Worker] = {}
        for executor, slot in view.present.slots.items():
            RasState.place(self, executor, slot)

    def copy(self) -> Self:
        """Return an independent state of the same view."""
        twin = copy.copy(self)
        twin.slot_of = {topology_id: dict(placed) for topology_id, placed in self.slot_of.items()}
        twin.workers = dict(self.workers)
        return twin

    def free_slots(self, node: Node) -> list[Slot]:
        """Return the slots of the node that are not hidden and have no worker, in order of declaration."""
        hidden = self.view.dead_slots
        return [slot for slot in node.slots if slot not in hidden and slot not in self.workers]

    def place(self, executor: Executor, slot: Slot) -> None:
        """Put an unplaced executor into a slot."""
        self.slot_of[executor.topology][executor] = slot
        self.workers[slot] = (*self.workers.get(slot, ()), executor)


Plan = Mapping[Slot, Sequence[Executor]]
"""New workers, each with its executors in the order in which they were placed."""


@dataclass(slots=True)
class _Table:
    """A topology's map of executor to slot: its keys in Java's iteration order."""

    executors: list[Executor]
    capacity: int

    @classmethod
    def copy_of(cls, executors: Sequence[Executor]) -> _Table:
        """Make the map of a ``SchedulerAssignmentImpl`` copied from one with the executors in this order."""
        return cls(copied_map_order(executors, executor_hash), copied_capacity(len(executors)))

    def add(self, executors: Iterable[Executor]) -> None:
        self.executors.extend(executors)
        self.executors = hash_map_order(self.executors, executor_hash, self.capacity)
        self.capacity = grown_capacity(self.capacity, len(self.executors))


class Ras1State(RasState):
    """Placed executors, and the resources left on the nodes by Storm 1.0's own arithmetic.

    ``left`` has the CPU points and memory in MB left by node id, 0 on a blacklisted one. ``overdrawn`` says
    that an executor was placed on a node with too little left by that arithmetic.
    """

    def __init__(self, view: SchedulingView) -> None:
        super().__init__(view)
        self._tables = {
            topology_id: _Table.copy_of(hash_map_order(list(placed), executor_hash))
            for topology_id, placed in self.slot_of.items()
            if placed
        }
        self._rebuild()

    def copy(self) -> Self:
        """Return an independent state whose nodes are rebuilt from the assignments, as in Storm."""
        twin = super().copy()
        order = hash_map_order(list(self._tables), string_hash, 1)
        twin._tables = {i: _Table.copy_of(self._tables[i].executors) for i in order}
        twin._rebuild()
        return twin

    def request(self, executors: Iterable[Executor]) -> tuple[float, float]:
        """Return the CPU points and memory in MB that the executors ask for; heaps are summed apart."""
        cpu, heap, offheap = total_demand(self.view, built_and_copied_order(list(executors), executor_hash))
        return cpu, heap + offheap

    def apply(self, topology_id: str, plan: Plan) -> bool:
        """Place a finished plan; return False, with a spoilt state, if that overdraws a node."""
        table = self._tables.setdefault(topology_id, _Table([], 1))
        self.overdrawn = False
        for slot in hash_map_order(list(plan), slot_hash):
            table.add(plan[slot])
            for executor in plan[slot]:
                self.place(executor, slot)
                if self.overdrawn:
                    return False
        return True

    def evict(self, topology_id: str) -> None:
        """Remove all executors of a topology from their slots and return their resources to the nodes.

        Storm returns nothing to a node that would then have more than its offer, even if only by a rounding
        error.
        """
        table = self._tables[topology_id]
        for slot, executors in self._workers_of(table, topology_id).items():
            if slot.node not in self.left:
                continue
            demands = [self.view.demand(executor) for executor in executors]
            cpu = sum(demand.cpu_points for demand in demands)
            memory = sum(demand.total_memory_mb for demand in demands)
            offered_cpu, offered_memory = self._offered(slot.node)
            cpu_left, memory_left = self.left[slot.node]
            self.left[slot.node] = (
                cpu_left if cpu_left + cpu > offered_cpu else cpu_left + cpu,
                memory_left if memory_left + memory > offered_memory else memory_left + memory,
            )
        for slot in set(self.slot_of[topology_id].values()):
            del self.workers[slot]
        self.slot_of[topology_id].clear()
        table.executors = []

    def place(self, executor: Executor, slot: Slot) -> None:
        """Put an unplaced executor into a slot and subtract its demand from the node."""
        super().place(executor, slot)
        if slot.node in self.left:
            self._consume(executor, slot.node)

    def _consume(self, executor: Executor, node_id: str) -> None:
        demand = self.view.demand(executor)
        cpu, memory = self.left[node_id]
        if demand.cpu_points > cpu or demand.total_memory_mb > memory:
            self.overdrawn = True
        self.left[node_id] = (max(0.0, cpu - demand.cpu_points), max(0.0, memory - demand.total_memory_mb))

    def _offered(self, node_id: str) -> tuple[float, float]:
        if node_id not in self.alive:
            return 0.0, 0.0
        offer = self.nodes[node_id].offer
        return offer.cpu_points, offer.total_memory_mb

    def _rebuild(self) -> None:
        """Start from the nodes' offers and subtract the demands of all placed executors, in Storm's order."""
        self.left: dict[str, tuple[float, float]] = {i: self._offered(i) for i in self.nodes}
        self.overdrawn = False
        assigned = hash_map_order(list(self._tables), string_hash, 1)
        assigned = hash_map_order(assigned, string_hash, max(1, len(assigned)))
        for topology_id in hash_map_order(assigned, string_hash):
            for slot, executors in self._workers_of(self._tables[topology_id], topology_id).items():
                if slot.node in self.alive:
                    for executor in executors:
                        self._consume(executor, slot.node)

    def _workers_of(self, table: _Table, topology_id: str) -> dict[Slot, list[Executor]]:
        """Return the topology's workers; those of one node are in the order of Storm's iteration."""
        placed = self.slot_of[topology_id]
        inside = grouped(table.executors, placed.__getitem__)
        by_node = grouped(hash_map_order(list(inside), slot_hash), lambda slot: slot.node)
        return {slot: inside[slot] for slots in by_node.values() for slot in named_slot_order(slots)}


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

    def place(self, executor: Executor, slot: Slot) -> None:
        """Put an unplaced executor into a slot."""
        self.slot_of[executor.topology][executor] = slot
        self._enter(slot, _after_joining(self.workers.get(slot, ()), executor))

    def remove(self, executor: Executor) -> None:
        """Remove a placed executor from its slot."""
        slot = self.slot_of[executor.topology].pop(executor)
        self._enter(slot, _after_leaving(self.workers[slot], executor))

    def evict(self, topology_id: str) -> None:
        """Remove all executors of a topology from their slots."""
        for executor in list(self.slot_of[topology_id]):
            self.remove(executor)

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
