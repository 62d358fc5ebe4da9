"""Available slots, for policies that choose nodes and use one worker per node.

A topology gets at most one worker per node. Its slot there is the one it already has, otherwise a free one.
"""

from __future__ import annotations

from collections.abc import Iterable

from storm_lab.model import Executor, Slot
from storm_lab.schedulers.contract import SchedulingView


class SlotBook:
    """The usable slots of a view, handed out node by node. Nodes are numbered in cluster order.

    Topologies whose ids are in ``movable`` (default: all) are placed from scratch; the others keep their
    slots.
    """

    def __init__(self, view: SchedulingView, movable: Iterable[str] | None = None) -> None:
        self.nodes: list[str] = [node.id for node in view.cluster.nodes]
        self.index = {node: i for i, node in enumerate(self.nodes)}
        moved = set(view.topology if movable is None else movable)
        present = view.present.slots.items()
        self._wanted_by = {slot: e.topology for e, slot in present if e.topology in moved}
        staying = {slot for e, slot in present if e.topology not in moved}
        self._usable = view.usable_slots
        self._free: list[list[Slot]] = [[] for _ in self.nodes]
        for slot in self._usable:
            if slot not in staying:
                self._free[self.index[slot.node]].append(slot)
        self._own: dict[tuple[str, int], Slot] = {}

    def free_counts(self) -> list[int]:
        """Return the number of free slots of each node."""
        return [len(slots) for slots in self._free]

    def peek(self, topology_id: str, node: int) -> Slot | None:
        """Return the slot that the topology has or would get on the node; None if the node is full."""
        if (topology_id, node) in self._own:
            return self._own[topology_id, node]
        # A worker that stays in its slot saves a restart; taking another topology's slot would cost two
        # restarts.
        return min(
            self._free[node],
            key=lambda s: (self._wanted_by.get(s, topology_id) != topology_id, s not in self._wanted_by),
            default=None,
        )

    def take(self, topology_id: str, node: int) -> Slot:
        """Return the topology's slot on the node, taking one if it has none; `LookupError` if it is full."""
        slot = self.peek(topology_id, node)
        if slot is None:
            raise LookupError(f"node {self.nodes[node]} has no slot left for {topology_id!r}")
        if (topology_id, node) not in self._own:
            self._own[topology_id, node] = slot
            self._free[node].remove(slot)
        return slot

    def take_new(self, topology_id: str, node: int) -> Slot:
        """Take a further slot on the node, for several workers per node; `LookupError` if it is full."""
        self._own.pop((topology_id, node), None)
        return self.take(topology_id, node)

    def release(self, topology_id: str, node: int) -> None:
        """Release the topology's slot on the node, as if it had never been taken."""
        self._free[node].append(self._own.pop((topology_id, node)))
        self._free[node].sort(key=self._usable.index)

    def reserve(self, slot: Slot, executor: Executor) -> None:
        """Let the topology of an executor that stays in the slot have no other slot on the node."""
        self._own.setdefault((executor.topology, self.index[slot.node]), slot)
