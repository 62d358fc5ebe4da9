"""Faults and fault plans: changes that happen to the cluster at given times, whatever runs on it.

A kind of fault is a frozen dataclass with a name, a check against the state that earlier entries of the plan
lead to, and a strike, which makes it happen. A new kind is one new file with the ``@fault_kind`` decorator. A
plan lists the faults of a run with their times.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.decision_log import Fact
from storm_lab.emulator.control.registry import Registry
from storm_lab.errors import UserError, check_known
from storm_lab.model import Cluster, Slot, StormVersion, Topology
from storm_lab.model.checks import check_kinds

ACTOR = "fault"


@dataclass
class PlannedWorld:
    """State of the cluster after the earlier entries of a plan, against which an entry is checked."""

    cluster: Cluster
    topologies: Sequence[Topology]
    version: StormVersion
    duration_s: float
    nodes_down: set[str] = field(default_factory=set)
    slots_killed: set[Slot] = field(default_factory=set)
    links_disturbed: set[frozenset[str]] = field(default_factory=set)
    topologies_off: set[str] = field(default_factory=set)
    topologies_killed: set[str] = field(default_factory=set)
    daemons_down: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Fault(ABC):
    """One entry of a fault plan, ``at_s`` seconds after the start of the run."""

    name: ClassVar[str]
    at_s: float

    @abstractmethod
    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse the entry if it is impossible, else record its effect in ``world``.

        Args:
            world: the state after earlier entries.
            entry: where the entry is in the plan, for the message.

        Raises:
            UserError: names the entry, the value and the remedy.
        """

    @abstractmethod
    def strike(self, control: ControlPlane) -> None:
        """Make the fault happen, and note it in the decision log."""

    def note(self, control: ControlPlane, subject: str, **facts: Fact) -> None:
        """Note in the decision log that the fault happens to ``subject``, with further facts."""
        control.log.note(ACTOR, self.name, subject, "fault plan", **facts)

    def refusal(self, entry: str, of: str, message: str, remedy: str) -> UserError:
        """Create the refusal of this entry, which is at ``entry``, for the value of its field ``of``."""
        return UserError(message, field=f"{entry}.{of}", value=getattr(self, of), remedy=remedy)


def check_node(name: str, world: PlannedWorld, entry: str) -> None:
    """Refuse a node that is not in the cluster (`UserError`)."""
    known = [node.id for node in world.cluster.nodes]
    check_known("node", name, known, "the cluster", field=entry)


def check_topology(topology_id: str, world: PlannedWorld, entry: str) -> Topology:
    """Return the topology with that id; `UserError` if the run has none."""
    known = {topology.id: topology for topology in world.topologies}
    check_known("topology", topology_id, known, "the run", field=f"{entry}.topology")
    return known[topology_id]


FAULTS: Registry[Fault] = Registry("fault", "storm_lab.emulator.control.faults")
fault_kind = FAULTS.register


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults in any order; those of the same instant strike in the plan's order."""

    faults: tuple[Fault, ...] = ()

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> FaultPlan:
        """Read a plan from plain data: each row names its kind under ``fault``, the rest are its fields.

        Raises `UserError` for a row without a kind, an unknown kind, or an unknown or missing field.
        """
        faults: list[Fault] = []
        for index, row in enumerate(rows):
            entry = f"faults[{index}]"
            fields = dict(row)
            kind = fields.pop("fault", None)
            if not isinstance(kind, str):
                message = "the entry names no fault"
                remedy = f"choose one of {', '.join(FAULTS.names())}"
                raise UserError(message, field=f"{entry}.fault", value=kind, remedy=remedy)
            faults.append(FAULTS.build(kind, fields, field=entry))
        return cls(tuple(faults))

    def check(self, world: PlannedWorld) -> None:
        """Refuse the first impossible entry in order of time; the `UserError` names its place in the plan."""
        check_kinds("a fault plan", self)
        for index, fault in enumerate(self.faults):
            at: object = fault.at_s  # Plain data may hold anything here.
            number = isinstance(at, int | float) and not isinstance(at, bool) and math.isfinite(at)
            if not number or not 0 <= fault.at_s < world.duration_s:
                field, message = f"faults[{index}].at_s", f"{fault.name} is outside the run"
                remedy = f"give a time in seconds from 0 to less than the run's {world.duration_s:g}"
                raise UserError(message, field=field, value=at, remedy=remedy)
        for index, fault in sorted(enumerate(self.faults), key=lambda item: item[1].at_s):
            fault.check(world, f"faults[{index}]")

    def start(self, control: ControlPlane) -> None:
        """Schedule the faults on the clock."""
        for index, fault in enumerate(self.faults):
            control.clock.at(ns(fault.at_s), Rank.FAULT, f"fault:{index:06}", partial(fault.strike, control))
