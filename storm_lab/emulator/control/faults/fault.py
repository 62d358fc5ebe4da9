"""What a fault is: something that happens to the cluster at a given time, whoever runs on it.

A kind of fault is a frozen dataclass with a name, a check against the world as the plan has left it so far,
and a strike. A new kind is one new file with the ``@fault_kind`` decorator. A plan says which strike when.
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
    """What the plan has done to the world up to an entry: the state against which the entry is checked."""

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
        """Refuse the entry if it cannot be, else note in ``world`` what it does.

        Args:
            world: what earlier entries have done.
            entry: where the entry stands, for the message.

        Raises:
            UserError: names the entry, the value and the remedy.
        """

    @abstractmethod
    def strike(self, control: ControlPlane) -> None:
        """Let it happen, and say so in the decision log."""

    def note(self, control: ControlPlane, subject: str, **facts: Fact) -> None:
        """Say in the decision log that it happens, to whom, with further facts."""
        control.log.note(ACTOR, self.name, subject, "fault plan", **facts)

    def refusal(self, entry: str, of: str, message: str, remedy: str) -> UserError:
        """The refusal of this entry, which stands at ``entry``, for the value of its field ``of``."""
        return UserError(message, field=f"{entry}.{of}", value=getattr(self, of), remedy=remedy)


def check_node(name: str, world: PlannedWorld, entry: str) -> None:
    """Refuse (`UserError`) a node that the cluster does not have."""
    known = [node.id for node in world.cluster.nodes]
    check_known("node", name, known, "the cluster", field=entry)


def check_topology(topology_id: str, world: PlannedWorld, entry: str) -> Topology:
    """The topology of that id; `UserError` if the run has none."""
    known = {topology.id: topology for topology in world.topologies}
    check_known("topology", topology_id, known, "the run", field=f"{entry}.topology")
    return known[topology_id]


FAULTS: Registry[Fault] = Registry("fault", "storm_lab.emulator.control.faults")
fault_kind = FAULTS.register


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults in any order of time; those of one instant strike in the plan's order."""

    faults: tuple[Fault, ...] = ()

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> FaultPlan:
        """Read a plan from plain data: each row names its kind under ``fault``, the rest are its fields.

        Raises `UserError` for a row without a kind, an unknown kind, an unknown or missing field.
        """
        faults: list[Fault] = []
        for index, row in enumerate(rows):
            entry = f"faults[{index}]"
            fields = dict(row)
            kind = fields.pop("fault", None)
            if not isinstance(kind, str):
                message = "the entry does not say what happens"
                remedy = f"choose one of {', '.join(FAULTS.names())}"
                raise UserError(message, field=f"{entry}.fault", value=kind, remedy=remedy)
            faults.append(FAULTS.build(kind, fields, field=entry))
        return cls(tuple(faults))

    def check(self, world: PlannedWorld) -> None:
        """Refuse the first entry, in order of time, that cannot be; the `UserError` names its place."""
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
        """Put the faults on the clock."""
        for index, fault in enumerate(self.faults):
            control.clock.at(ns(fault.at_s), Rank.FAULT, f"fault:{index:06}", partial(fault.strike, control))
