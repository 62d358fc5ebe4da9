"""The assignments during a resource-aware round. The versions count resources differently, in subclasses."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Self

from storm_lab.model import Executor, Node, Slot, Topology
from storm_lab.model.javahash import string_hash
from storm_lab.model.settings import MAX_HEAP, number_of
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.keeping import Assignments
from storm_lab.schedulers.storm.hash_order import handed_over_order, hash_map_order

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

    # --- queries ---

    def free_slots(self, node: Node) -> list[Slot]:
        """Return the slots of the node that are not hidden and have no worker, in order of declaration."""
        hidden = self.view.dead_slots
        return [slot for slot in node.slots if slot not in hidden and slot not in self.workers]

    # --- changes ---

    def place(self, executor: Executor, slot: Slot) -> None:
        """Put an unplaced executor into a slot."""
        self.slot_of[executor.topology][executor] = slot
        self.workers[slot] = (*self.workers.get(slot, ()), executor)

    def remove(self, executor: Executor) -> None:
        """Remove a placed executor from its slot."""
        slot = self.slot_of[executor.topology].pop(executor)
        inside = self.workers.pop(slot)
        if len(inside) > 1:
            self.workers[slot] = tuple(other for other in inside if other != executor)

    def evict(self, topology_id: str) -> None:
        """Remove all executors of a topology from their slots."""
        for executor in list(self.slot_of[topology_id]):
            self.remove(executor)
