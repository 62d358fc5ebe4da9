"""Assignments of executors to slots, and the check that an assignment is valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from storm_lab.model.cluster import Cluster, Slot
from storm_lab.model.executor import Executor
from storm_lab.model.grouped import grouped


class InvalidAssignmentError(ValueError):
    """Raised for an assignment that no cluster could run; the message names the executor and the slot."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Executors and their slots, for any number of topologies. Immutable and compared by value."""

    slots: Mapping[Executor, Slot] = field(default_factory=lambda: MappingProxyType({}))

    def __reduce__(self) -> tuple[object, ...]:
        # A read-only view of a dictionary cannot be pickled; the dictionary can.
        return Assignment.of, (list(self.slots.items()),)

    @classmethod
    def of(cls, pairs: Iterable[tuple[Executor, Slot]]) -> Assignment:
        """Build an assignment from pairs; raise `InvalidAssignmentError` if an executor occurs twice."""
        slots: dict[Executor, Slot] = {}
        for executor, slot in pairs:
            if executor in slots:
                what = f"executor {executor} is placed twice: {slots[executor]} and {slot}"
                raise InvalidAssignmentError(what)
            slots[executor] = slot
        return cls(MappingProxyType(slots))

    def workers(self) -> dict[Slot, tuple[Executor, ...]]:
        """Return each slot's executors (ascending), with slots in order of first appearance."""
        members = grouped(self.slots, self.slots.__getitem__)
        return {slot: tuple(sorted(executors)) for slot, executors in members.items()}

    def nodes_used(self) -> tuple[str, ...]:
        """Ids of the nodes with at least one executor, sorted."""
        return tuple(sorted({slot.node for slot in self.slots.values()}))

    def of_topology(self, topology_id: str) -> Assignment:
        """The part that belongs to one topology."""
        return Assignment(
            MappingProxyType({e: s for e, s in self.slots.items() if e.topology == topology_id})
        )

    def merged(self, other: Assignment) -> Assignment:
        """Return this assignment with the executors of ``other`` added or moved."""
        return Assignment(MappingProxyType({**self.slots, **other.slots}))


def check_assignment(assignment: Assignment, cluster: Cluster, executors: Iterable[Executor]) -> None:
    """Check that ``assignment`` is a complete, valid placement of ``executors``.

    Raises:
        InvalidAssignmentError: an executor is missing or does not belong to ``executors``, a slot is unknown,
            or two topologies share a slot.
    """
    known = set(cluster.slots())
    wanted = set(executors)
    tenant: dict[Slot, Executor] = {}
    for executor, slot in assignment.slots.items():
        if executor not in wanted:
            what = f"executor {executor} in slot {slot} belongs to no topology that is scheduled"
            raise InvalidAssignmentError(what)
        if slot not in known:
            what = f"executor {executor} is placed in slot {slot}, which the cluster does not have"
            raise InvalidAssignmentError(what)
        first = tenant.setdefault(slot, executor)
        if first.topology != executor.topology:
            raise InvalidAssignmentError(
                f"slot {slot} holds executor {first} of {first.topology!r} and {executor} of "
                f"{executor.topology!r}: a worker serves one topology"
            )
    missing = sorted(wanted - set(assignment.slots))
    if missing:
        what = f"executor {missing[0]} has no slot ({len(missing)} executors without one)"
        raise InvalidAssignmentError(what)
