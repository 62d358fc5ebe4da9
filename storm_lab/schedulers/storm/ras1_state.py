"""The resources left on nodes as computed by Storm 1.0.x's resource-aware scheduler, exact to the last bit.

Storm 1.0 subtracts each executor's demand from its node, one after the other. Before each attempt, it
rebuilds all nodes from the assignments in the order of Java's hash maps. With demands such as 33.3, this
order decides whether two nodes are equally far away. Storm's checks against overdrawn nodes are kept for the
same reason. Source: ``RAS_Node``, ``RAS_Nodes``, ``SchedulingState`` and ``SchedulerAssignmentImpl`` of
1.0.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from storm_lab.model import Executor, Slot
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import string_hash
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.storm.hash_order import (
    copied_capacity,
    copied_map_order,
    executor_hash,
    grown_capacity,
    handed_over_order,
    hash_map_order,
    named_slot_order,
    slot_hash,
)
from storm_lab.schedulers.storm.ras_state import RasState, total_demand

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

    # --- queries ---

    def request(self, executors: Iterable[Executor]) -> tuple[float, float]:
        """Return the CPU points and memory in MB that the executors ask for; heaps are summed apart."""
        order = handed_over_order(list(executors), executor_hash, self.view.version)
        cpu, heap, offheap = total_demand(self.view, order)
        return cpu, heap + offheap

    # --- changes ---

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
            cpu = memory = 0.0
            for executor in executors:
                demand = self.view.demand(executor)
                cpu += demand.cpu_points
                memory += demand.total_memory_mb
            offered_cpu, offered_memory = self._offered(slot.node)
            cpu_left, memory_left = self.left[slot.node]
            self.left[slot.node] = (
                cpu_left if cpu_left + cpu > offered_cpu else cpu_left + cpu,
                memory_left if memory_left + memory > offered_memory else memory_left + memory,
            )
        super().evict(topology_id)
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

    # --- rebuild ---

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
