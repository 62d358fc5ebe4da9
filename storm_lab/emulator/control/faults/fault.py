"""What a fault is: something that happens to the cluster at a given time, whoever runs on it.

A kind of fault is a frozen dataclass with a name, a check against the world as the plan has left it so far,
and a strike. A new kind is one new file with the ``@fault_kind`` decorator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.registry import Registry
from storm_lab.errors import UserError, unknown_name
from storm_lab.model import Cluster, Slot, StormVersion, Topology

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
    nimbus_up: bool = True
    zookeeper_up: bool = True


class Fault(ABC):
    """One entry of a fault plan; subclasses are frozen dataclasses whose first field is ``at_s``."""

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


def check_time(fault: Fault, world: PlannedWorld, entry: str) -> None:
    """Refuse a fault outside the run.

    Raises:
        UserError: the time is no number, negative, or not before the end of the run.
    """
    at = fault.at_s
    value: object = at  # Plain data may hold anything here.
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or at < 0 or at >= world.duration_s:
        raise UserError(
            f"{fault.name} is outside the run",
            field=f"{entry}.at_s",
            value=at,
            remedy=f"give a time in seconds from 0 to less than the run's {world.duration_s:g}",
        )


def check_node(name: str, world: PlannedWorld, entry: str) -> None:
    """Refuse a node that the cluster does not have.

    Raises:
        UserError: there is no such node.
    """
    known = [node.id for node in world.cluster.nodes]
    if name not in known:
        raise unknown_name("node", name, known, "the cluster", field=entry)


def check_topology(topology_id: str, world: PlannedWorld, entry: str) -> Topology:
    """The topology of that id.

    Raises:
        UserError: the run has none.
    """
    for topology in world.topologies:
        if topology.id == topology_id:
            return topology
    known = [topology.id for topology in world.topologies]
    raise unknown_name("topology", topology_id, known, "the run", field=f"{entry}.topology")


FAULTS: Registry[Fault] = Registry("fault", "storm_lab.emulator.control.faults")
fault_kind = FAULTS.register
