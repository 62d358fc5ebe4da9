"""Shared parts of policies: the state of a round, present assignments that stay, and available slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from storm_lab.model import Assignment, Executor, Slot, Topology
from storm_lab.schedulers.ask import check_view
from storm_lab.schedulers.contract import Journal, SchedulingResult, SchedulingView, TopologyStatus

T = TypeVar("T")


class Round:
    """The state of a policy's round: placed executors, the status of each topology, and the reasons.

    Executors in ``placed`` have a slot from the start. Raises `UserError` if no schedule can be made for the
    view.
    """

    def __init__(self, view: SchedulingView, placed: Mapping[Executor, Slot] | None = None) -> None:
        check_view(view)
        self.view = view
        self.placed = dict(placed or {})
        self.journal = Journal(view)
        self._status: dict[str, TopologyStatus] = {}

    @classmethod
    def of_complete(cls, view: SchedulingView) -> Round:
        """Begin a round in which complete topologies keep their slots and the others are yet to be placed."""
        todo = set(incomplete_topologies(view))
        begun = cls(view, {e: s for e, s in surviving_assignment(view).items() if e.topology not in todo})
        for topology in view.topologies:
            if topology.id not in todo:
                begun.scheduled(topology.id)
        return begun

    def scheduled(self, topology_id: str, message: str = "Fully Scheduled") -> None:
        """Set the topology's status to scheduled."""
        self._status[topology_id] = TopologyStatus(True, message)

    def failed(self, topology_id: str, message: str) -> None:
        """Set the topology's status to not scheduled, with the reason."""
        self._status[topology_id] = TopologyStatus(False, message)

    def result(self, notes: Mapping[str, float | str] | None = None) -> SchedulingResult:
        """Return the result, with topologies and executors in the view's order."""
        placed = in_view_order(self.view, self.placed)
        return SchedulingResult(placed, self._status, self.journal.decisions, notes or {})

    def without_change(self, message: str) -> SchedulingResult:
        """Return the present assignment unchanged, with ``message`` as the status of every topology."""
        self.placed = surviving_assignment(self.view)
        for topology in self.view.topologies:
            self.failed(topology.id, message)
        return self.result()


class Assignments:
    """Executors and their slots, by topology, during a round of Storm's own schedulers."""

    def __init__(self, view: SchedulingView) -> None:
        self.view = view
        self.slot_of: dict[str, dict[Executor, Slot]] = {topology.id: {} for topology in view.topologies}

    def unassigned(self, topology: Topology) -> list[Executor]:
        """Return the executors without a slot, in order of their first task."""
        placed = self.slot_of[topology.id]
        return [executor for executor in self.view.executors[topology.id] if executor not in placed]

    def assignment(self) -> Assignment:
        """Return the slots as an assignment: topologies in the view's order, executors by first task."""
        return in_view_order(self.view, {e: s for placed in self.slot_of.values() for e, s in placed.items()})


def surviving_assignment(view: SchedulingView) -> dict[Executor, Slot]:
    """Return the part of the present assignment whose nodes are alive and whose topologies are known.

    The order is that of the view's topologies and of first tasks, whatever the present assignment's order is.
    """
    nodes, rank = view.nodes, {topology_id: i for i, topology_id in enumerate(view.topology)}
    alive = {
        executor: slot
        for executor, slot in view.present.slots.items()
        if slot.node in nodes and slot.port in nodes[slot.node].ports and executor.topology in rank
    }
    return {executor: alive[executor] for executor in sorted(alive, key=lambda e: (rank[e.topology], e))}


def in_view_order(view: SchedulingView, slots: Mapping[Executor, Slot]) -> Assignment:
    """Return the slots as an assignment: topologies in the view's order, executors by first task."""
    return Assignment.of(
        (executor, slots[executor])
        for topology in view.topologies
        for executor in view.executors[topology.id]
        if executor in slots
    )


def incomplete_topologies(view: SchedulingView) -> list[str]:
    """Return the ids of topologies with an executor that has no slot on a live node, in the view's order."""
    alive = surviving_assignment(view).keys()
    return [topology.id for topology in view.topologies if not alive >= set(view.executors[topology.id])]


def interleaved(groups: Iterable[Sequence[T]]) -> list[T]:
    """Return the first member of each group, then the second of each group that has one, and so on."""
    return [member for turn in zip_longest(*groups) for member in turn if member is not None]


class SlotBook:
    """The usable slots of a view, handed out node by node. Nodes are numbered in cluster order.

    Topologies whose ids are in ``movable`` (default: all) are placed from scratch; the others keep their
    slots.
    """

    def __init__(self, view: SchedulingView, movable: Iterable[str] | None = None) -> None:
        self.nodes: list[str] = [node.id for node in view.cluster.nodes]
        self.index = {node: i for i, node in enumerate(self.nodes)}
        moved = set(view.topology if movable is None else movable)
        self._present = view.present.slots
        self._wanted_by = {slot: e.topology for e, slot in self._present.items() if e.topology in moved}
        staying = {slot for e, slot in self._present.items() if e.topology not in moved}
        self._usable = view.usable_slots
        self._free: list[list[Slot]] = [[] for _ in self.nodes]
        for slot in self._usable:
            if slot not in staying:
                self._free[self.index[slot.node]].append(slot)
        self._own: dict[tuple[str, int], Slot] = {}

    def free_counts(self) -> list[int]:
        """Return the number of free slots of each node."""
        return [len(slots) for slots in self._free]

    def peek(self, topology_id: str, node: int, executors: Iterable[Executor] = ()) -> Slot | None:
        """Return the slot that the topology has or would get on the node; None if the node is full.

        Of several slots in which it runs, it gets the one with most of the ``executors`` now.
        """
        if (topology_id, node) in self._own:
            return self._own[topology_id, node]
        # A worker that stays in its slot saves a restart; taking another topology's slot would cost two
        # restarts.
        there = Counter(map(self._present.get, executors))
        return min(
            self._free[node],
            key=lambda s: (
                self._wanted_by.get(s, topology_id) != topology_id,
                s not in self._wanted_by,
                -there[s],
            ),
            default=None,
        )

    def take(self, topology_id: str, node: int, executors: Iterable[Executor] = ()) -> Slot:
        """Return the topology's slot on the node, taking one if it has none; `LookupError` if it is full."""
        slot = self.peek(topology_id, node, executors)
        if slot is None:
            raise LookupError(f"node {self.nodes[node]} has no slot left for {topology_id!r}")
        if (topology_id, node) not in self._own:
            self._own[topology_id, node] = slot
            self._free[node].remove(slot)
        return slot

    def take_new(self, topology_id: str, node: int, executors: Iterable[Executor] = ()) -> Slot:
        """Take a further slot on the node for these executors; `LookupError` if it is full."""
        self._own.pop((topology_id, node), None)
        return self.take(topology_id, node, executors)

    def release(self, topology_id: str, node: int) -> None:
        """Release the topology's slot on the node, as if it had never been taken."""
        self._free[node].append(self._own.pop((topology_id, node)))
        self._free[node].sort(key=self._usable.index)

    def reserve(self, slot: Slot, executor: Executor) -> None:
        """Let the topology of an executor that stays in the slot have no other slot on the node."""
        self._own.setdefault((executor.topology, self.index[slot.node]), slot)
