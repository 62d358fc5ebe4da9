"""What Storm 2.x's resource-aware scheduler counts as used and as left on its nodes, to the last bit.

Storm 2 adds up the executors of a worker anew whenever one comes or goes, then the workers of the node, in
the order of Java's hash tables. With demands such as 33.3 that order decides about exact fits and ties.
Source: ``Cluster``, ``RasNode`` and ``NormalizedResources`` of Storm 2.8.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from storm_lab.model import Executor, Slot
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.hash_order import executor_hash, hash_map_order, slot_hash
from storm_lab.schedulers.ras_state import RasState

Sums = tuple[float, float, float]
"""CPU points, heap and off-heap memory in MB."""


class Ras2State(RasState):
    """Placed executors, and use and rest of the nodes by Storm 2's own arithmetic."""

    def __init__(self, view: SchedulingView) -> None:
        self._sums: dict[str, dict[Slot, Sums]] = {}
        self._left: dict[str, tuple[float, float]] = {}
        super().__init__(view)
        self.workers = {}
        for held in self.held.values():
            for executor in hash_map_order(list(held), executor_hash):
                self.workers.setdefault(held[executor], []).append(executor)
        self._left.clear()
        self._sums.clear()
        for slot in self.workers:
            self._count(slot)

    def copy(self) -> Ras2State:
        """An independent state; the view is shared."""
        twin = object.__new__(Ras2State)
        self._copy_into(twin)
        twin._sums = {node: dict(sums) for node, sums in self._sums.items()}
        twin._left = dict(self._left)
        return twin

    # --- asking ---

    def available_cpu(self, node_id: str) -> float:
        """CPU points left on the node, never below zero."""
        return self._rest(node_id)[0]

    def available_memory(self, node_id: str) -> float:
        """Memory left on the node in MB, never below zero."""
        return self._rest(node_id)[1]

    def available_in_all(self) -> tuple[float, float]:
        """CPU points and memory in MB left on all live nodes together."""
        cpu = memory = 0.0
        for node_id in self.alive:
            used_cpu, used_memory = self._used(node_id)
            offer = self.nodes[node_id].offer
            cpu = max(0.0, cpu + offer.cpu_points - used_cpu)
            memory = max(0.0, memory + offer.total_memory_mb - used_memory)
        return cpu, memory

    def request(self, executors: Iterable[Executor]) -> tuple[float, float]:
        """CPU points and memory in MB that the executors ask for together."""
        cpu, heap, offheap = self._sum(hash_map_order(list(executors), executor_hash))
        return cpu, heap + offheap

    def memory_of_workers(self, topology_id: str) -> float:
        """Memory in MB of the topology's workers, as Storm adds it up: worker by worker."""
        slots = dict.fromkeys(self.held[topology_id].values())
        used = (self._sum(self.workers[slot]) for slot in slots)
        return math.fsum(heap + offheap for _, heap, offheap in used)

    def added_by(self, executor: Executor, slot: Slot) -> tuple[float, float, float]:
        """What the executor adds to the worker's CPU points and memory in MB, and the worker's heap then."""
        now = self.workers.get(slot, [])
        before = self._sum(now)
        after = self._sum(hash_map_order([executor, *now], executor_hash))
        return after[0] - before[0], (after[2] + after[1]) - (before[2] + before[1]), after[1]

    # --- counting ---

    def place(self, executor: Executor, slot: Slot) -> None:
        """Put an executor, which must not be placed, into a slot."""
        super().place(executor, slot)
        if len(self.workers[slot]) > 1:
            inside = self.workers[slot]
            self.workers[slot] = hash_map_order([inside[-1], *inside[:-1]], executor_hash)
        self._count(slot)

    def remove(self, executor: Executor) -> None:
        """Take a placed executor out of its slot."""
        slot = self.held[executor.topology][executor]
        super().remove(executor)
        if slot in self.workers:
            self.workers[slot] = hash_map_order(self.workers[slot], executor_hash)
        self._count(slot)

    def _sum(self, executors: Sequence[Executor]) -> Sums:
        cpu = heap = offheap = 0.0
        for executor in executors:
            demand = self.view.demand(executor)
            cpu += demand.cpu_points
            heap += demand.memory_mb
            offheap += demand.offheap_mb
        return cpu, heap, offheap

    def _count(self, slot: Slot) -> None:
        of_node = self._sums.setdefault(slot.node, {})
        if slot in self.workers:
            of_node[slot] = self._sum(self.workers[slot])
        else:
            of_node.pop(slot, None)
        self._left.pop(slot.node, None)

    def _used(self, node_id: str) -> tuple[float, float]:
        of_node = self._sums.get(node_id, {})
        cpu = heap = offheap = 0.0
        for slot in hash_map_order(list(of_node), slot_hash):
            sums = of_node[slot]
            cpu, heap, offheap = cpu + sums[0], heap + sums[1], offheap + sums[2]
        return cpu, heap + offheap

    def _rest(self, node_id: str) -> tuple[float, float]:
        rest = self._left.get(node_id)
        if rest is None:
            cpu, memory = self._used(node_id)
            offer = self.nodes[node_id].offer
            rest = max(0.0, offer.cpu_points - cpu), max(0.0, offer.total_memory_mb - memory)
            self._left[node_id] = rest
        return rest
