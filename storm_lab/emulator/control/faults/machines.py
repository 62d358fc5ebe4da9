"""Machines that fail, come back, or slow down: single nodes and whole racks.

A node that fails takes its supervisor and its workers with it; what they held is lost, and their peers see
the connections break. A node that comes back has its code and its last local assignment on disk, and no
process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import ACTOR, Fault, PlannedWorld, check_node, fault_kind
from storm_lab.errors import UserError, unknown_name


def _nodes_of_rack(rack: str, world: PlannedWorld, entry: str) -> list[str]:
    nodes = [node.id for node in world.cluster.nodes if node.rack == rack]
    if not nodes:
        raise unknown_name("rack", rack, world.cluster.racks, "the cluster", field=f"{entry}.rack")
    return nodes


def _fell(nodes: list[str], world: PlannedWorld, field: str, value: str) -> None:
    if set(nodes) <= world.nodes_down:
        raise UserError("it is down already at that time", field=field, value=value, remedy="revive it first")
    world.nodes_down.update(nodes)


def _rose(nodes: list[str], world: PlannedWorld, field: str, value: str) -> None:
    if not set(nodes) & world.nodes_down:
        raise UserError("it is alive at that time", field=field, value=value, remedy="kill it first")
    world.nodes_down.difference_update(nodes)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillNode(Fault):
    """A node fails at ``at_s``."""

    name: ClassVar[str] = "kill-node"
    at_s: float
    node: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a node that is not there, or down already."""
        check_node(self.node, world, f"{entry}.node")
        _fell([self.node], world, f"{entry}.node", self.node)

    def strike(self, control: ControlPlane) -> None:
        """Switch the node off."""
        control.log.note(ACTOR, self.name, self.node, "fault plan")
        control.supervisors[self.node].power_off("its node has failed")


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveNode(Fault):
    """A failed node is back at ``at_s``."""

    name: ClassVar[str] = "revive-node"
    at_s: float
    node: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a node that is not there, or alive."""
        check_node(self.node, world, f"{entry}.node")
        _rose([self.node], world, f"{entry}.node", self.node)

    def strike(self, control: ControlPlane) -> None:
        """Switch the node on."""
        control.log.note(ACTOR, self.name, self.node, "fault plan")
        control.supervisors[self.node].power_on()


@fault_kind
@dataclass(frozen=True, slots=True)
class KillRack(Fault):
    """All nodes of a rack that still live fail at once."""

    name: ClassVar[str] = "kill-rack"
    at_s: float
    rack: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a rack that is not there, or down already as a whole."""
        _fell(_nodes_of_rack(self.rack, world, entry), world, f"{entry}.rack", self.rack)

    def strike(self, control: ControlPlane) -> None:
        """Switch off those of the rack's nodes that are alive."""
        control.log.note(ACTOR, self.name, self.rack, "fault plan")
        for node in control.cluster.nodes:
            if node.rack == self.rack and control.supervisors[node.id].up:
                control.supervisors[node.id].power_off("its rack has failed")


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveRack(Fault):
    """All nodes of a rack that are down come back."""

    name: ClassVar[str] = "revive-rack"
    at_s: float
    rack: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a rack that is not there, or of which every node is alive."""
        _rose(_nodes_of_rack(self.rack, world, entry), world, f"{entry}.rack", self.rack)

    def strike(self, control: ControlPlane) -> None:
        """Switch on those of the rack's nodes that are down."""
        control.log.note(ACTOR, self.name, self.rack, "fault plan")
        for node in control.cluster.nodes:
            if node.rack == self.rack and not control.supervisors[node.id].up:
                control.supervisors[node.id].power_on()


@fault_kind
@dataclass(frozen=True, slots=True)
class SlowNode(Fault):
    """A node computes at ``factor`` of its speed from ``at_s`` on; 1 is its own speed again."""

    name: ClassVar[str] = "slow-node"
    at_s: float
    node: str
    factor: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a node that is not there, and a factor out of range."""
        check_node(self.node, world, f"{entry}.node")
        if not (math.isfinite(self.factor) and 0.01 <= self.factor <= 1.0):
            raise UserError(
                "a node can only be slowed to a part of its own speed",
                field=f"{entry}.factor",
                value=self.factor,
                remedy="give a factor from 0.01 to 1",
            )

    def strike(self, control: ControlPlane) -> None:
        """Set the node's speed."""
        control.log.note(ACTOR, self.name, self.node, "fault plan", factor=self.factor)
        control.plane.now().set_node_speed(self.node, self.factor)
