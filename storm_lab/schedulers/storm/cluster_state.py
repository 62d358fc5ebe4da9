"""The working state of a round of Storm's own schedulers, with the map orders of Storm.

Storm's schedulers change a cluster object step by step; this module models that object. Source: Storm 0.8.2
to 2.8.8, ``Cluster`` and ``EvenScheduler``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from storm_lab.model import Executor, Node, Slot, StormVersion, Topology
from storm_lab.model.grouped import grouped
from storm_lab.model.javahash import string_hash
from storm_lab.model.version import V0_9_3, V2_0_0
from storm_lab.schedulers.ask import check_view
from storm_lab.schedulers.contract import Journal, SchedulingView
from storm_lab.schedulers.keeping import Assignments, interleaved
from storm_lab.schedulers.storm.hash_order import (
    DaemonOrder,
    built_and_copied_order,
    executor_hash,
    handed_over_order,
    hash_map_order,
    slot_hash,
)


class ClusterState(Assignments):
    """The assignments and the reasons of a round, changed by :meth:`assign` and :meth:`free`.

    ``slot_of`` has executors in the order of Storm's map; ``used`` are the slots with a worker. Raises
    `UserError` if no schedule can be made for the view.
    """

    def __init__(self, view: SchedulingView) -> None:
        check_view(view)
        super().__init__(view)
        self.journal = Journal(view)
        self.version: StormVersion = view.version
        self.order = DaemonOrder(view.version)
        by_id = view.nodes
        self.nodes: list[Node] = [by_id[i] for i in handed_over_order(list(by_id), string_hash, view.version)]
        ids = [topology.id for topology in view.topologies]
        self.topologies: list[Topology] = [
            view.topology[i] for i in handed_over_order(ids, string_hash, view.version)
        ]
        self._reported = {
            node.id: [s for s in hash_map_order(node.slots, lambda s: s.port) if s not in view.dead_slots]
            for node in self.nodes
        }
        self.blacklist: set[str] = set(view.blacklisted_hosts)
        self.used: set[Slot] = set(view.present.slots.values())
        slots = view.present.slots
        for topology_id, executors in grouped(slots, lambda executor: executor.topology).items():
            self.slot_of[topology_id] = {e: slots[e] for e in _assigned_order(executors, slots, view.version)}

    def assignable_slots(self, node: Node) -> list[Slot]:
        """Return all slots that the node reports, in order of its port set; none on a blacklisted host."""
        return [] if node.host_name in self.blacklist else self._reported[node.id]

    def available_slots(self) -> list[Slot]:
        """Return the assignable slots that are not in use, node by node."""
        return [s for node in self.nodes for s in self.assignable_slots(node) if s not in self.used]

    def workers(self, topology_id: str) -> dict[Slot, list[Executor]]:
        """Return the topology's slots with their executors, slots in the order of Storm's iteration."""
        executors = list(self.slot_of[topology_id])
        if self.version < V2_0_0:
            executors = self.order.collected(executors, self.order.executor)
        return self._by_slot(executors, self.order.slot)

    def workers_by_slot(self, topology_id: str) -> dict[Slot, list[Executor]]:
        """Return the topology's slots with their executors, in the order of a map keyed by slot objects."""
        return self._by_slot(self.slot_of[topology_id], slot_hash)

    def _by_slot(
        self, executors: Iterable[Executor], hash_of: Callable[[Slot], int]
    ) -> dict[Slot, list[Executor]]:
        inside = grouped(executors, lambda executor: self.slot_of[executor.topology][executor])
        return {slot: inside[slot] for slot in self.order.associated(list(inside), hash_of)}

    def needs_scheduling(self, topology: Topology) -> bool:
        """Apply Storm's test: fewer slots than workers asked for, or an executor without a slot."""
        slots = set(self.slot_of[topology.id].values())
        return topology.workers > len(slots) or bool(self.unassigned(topology))

    def topologies_to_schedule(self) -> list[Topology]:
        """Return the topologies that need scheduling, in map order."""
        return [topology for topology in self.topologies if self.needs_scheduling(topology)]

    def assign(self, slot: Slot, topology_id: str, executors: Iterable[Executor]) -> None:
        """Start a worker: put the executors into a slot that is not in use."""
        placed = self.slot_of[topology_id] | dict.fromkeys(executors, slot)
        self.used.add(slot)
        # New keys go to their buckets of Storm's map, not to its end.
        self.slot_of[topology_id] = {e: placed[e] for e in hash_map_order(list(placed), executor_hash)}

    def free(self, slots: Iterable[Slot]) -> None:
        """Free the slots, whatever topology uses them."""
        gone = set(slots)
        for topology_id, placed in self.slot_of.items():
            self.slot_of[topology_id] = {e: s for e, s in placed.items() if s not in gone}
        self.used -= gone


def _assigned_order(
    executors: list[Executor], slots: Mapping[Executor, Slot], version: StormVersion
) -> list[Executor]:
    """Return the map order of a present assignment: until 1.x a copy; 2.x assigns again worker by worker."""
    if version < V2_0_0:
        return built_and_copied_order(executors, executor_hash)
    inside = grouped(hash_map_order(executors, executor_hash), slots.__getitem__)
    again = [e for slot in hash_map_order(list(inside), slot_hash) for e in inside[slot]]
    return hash_map_order(again, executor_hash)


def sort_slots(slots: Iterable[Slot], version: StormVersion) -> list[Slot]:
    """Spread slots over nodes as Storm's even scheduler does (``sortSlots``)."""
    groups = grouped(slots, lambda slot: slot.node)
    if version >= V2_0_0:
        ordered = [sorted(groups[node]) for node in sorted(groups)]
    else:
        order = DaemonOrder(version)
        ordered = [groups[node] for node in order.collected(list(groups), order.string)]
    if version >= V0_9_3:
        ordered.sort(key=len, reverse=True)
    return interleaved(ordered)
