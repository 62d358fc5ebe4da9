"""Machines and the links between them: nodes and racks that fail, come back or slow down; links disturbed.

A node that fails takes its supervisor and its workers with it; what they held is lost, and their peers see
the connections break. A node that comes back has its code and its last local assignment on disk, and no
process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import Fault, PlannedWorld, check_node, fault_kind
from storm_lab.errors import UserError, unknown_name
from storm_lab.model.checks import check_number


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
    node: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a node that is not there, or down already."""
        check_node(self.node, world, f"{entry}.node")
        _fell([self.node], world, f"{entry}.node", self.node)

    def strike(self, control: ControlPlane) -> None:
        """Switch the node off."""
        self.note(control, self.node)
        control.supervisors[self.node].power_off("its node has failed")


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveNode(Fault):
    """A failed node is back at ``at_s``."""

    name: ClassVar[str] = "revive-node"
    node: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a node that is not there, or alive."""
        check_node(self.node, world, f"{entry}.node")
        _rose([self.node], world, f"{entry}.node", self.node)

    def strike(self, control: ControlPlane) -> None:
        """Switch the node on."""
        self.note(control, self.node)
        control.supervisors[self.node].power_on()


@fault_kind
@dataclass(frozen=True, slots=True)
class KillRack(Fault):
    """All nodes of a rack that still live fail at once."""

    name: ClassVar[str] = "kill-rack"
    rack: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a rack that is not there, or down already as a whole."""
        _fell(_nodes_of_rack(self.rack, world, entry), world, f"{entry}.rack", self.rack)

    def strike(self, control: ControlPlane) -> None:
        """Switch off those of the rack's nodes that are alive."""
        self.note(control, self.rack)
        for supervisor in control.supervisors.values():
            if supervisor.node.rack == self.rack and supervisor.up:
                supervisor.power_off("its rack has failed")


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveRack(Fault):
    """All nodes of a rack that are down come back."""

    name: ClassVar[str] = "revive-rack"
    rack: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a rack that is not there, or of which every node is alive."""
        _rose(_nodes_of_rack(self.rack, world, entry), world, f"{entry}.rack", self.rack)

    def strike(self, control: ControlPlane) -> None:
        """Switch on those of the rack's nodes that are down."""
        self.note(control, self.rack)
        for supervisor in control.supervisors.values():
            if supervisor.node.rack == self.rack and not supervisor.up:
                supervisor.power_on()


@fault_kind
@dataclass(frozen=True, slots=True)
class SlowNode(Fault):
    """A node computes at ``factor`` of its speed from ``at_s`` on; 1 is its own speed again."""

    name: ClassVar[str] = "slow-node"
    node: str
    factor: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a node that is not there, and a factor out of range."""
        check_node(self.node, world, f"{entry}.node")
        check_number("the part of its own speed", f"{entry}.factor", self.factor, low=0.01, high=1.0)

    def strike(self, control: ControlPlane) -> None:
        """Set the node's speed."""
        self.note(control, self.node, factor=self.factor)
        control.plane.now().set_node_speed(self.node, self.factor)


@dataclass(frozen=True, slots=True)
class _LinkFault(Fault):
    """Something that happens to the link between two nodes."""

    node_a: str
    node_b: str

    @property
    def subject(self) -> str:
        """The link in the decision log."""
        return f"{self.node_a}-{self.node_b}"

    def _link(self, world: PlannedWorld, entry: str) -> frozenset[str]:
        check_node(self.node_a, world, f"{entry}.node_a")
        check_node(self.node_b, world, f"{entry}.node_b")
        if self.node_a == self.node_b:
            raise self.refusal(entry, "node_b", "a link needs two different nodes", "name another node")
        return frozenset((self.node_a, self.node_b))


@fault_kind
@dataclass(frozen=True, slots=True)
class CutLink(_LinkFault):
    """Nothing passes between two nodes any more, in either direction."""

    name: ClassVar[str] = "cut-link"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse nodes that are not there, or the same one twice."""
        world.links_disturbed.add(self._link(world, entry))

    def strike(self, control: ControlPlane) -> None:
        """Cut the link."""
        self.note(control, self.subject)
        control.plane.now().set_link(self.node_a, self.node_b, cut=True)


@fault_kind
@dataclass(frozen=True, slots=True)
class DelayLink(_LinkFault):
    """Everything between two nodes takes ``extra_ms`` longer, one way."""

    name: ClassVar[str] = "delay-link"
    extra_ms: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse nodes that are not there, or the same one twice, and a delay out of range."""
        world.links_disturbed.add(self._link(world, entry))
        check_number("a delay", f"{entry}.extra_ms", self.extra_ms, low=1e-6, high=60_000, unit="ms")

    def strike(self, control: ControlPlane) -> None:
        """Delay the link."""
        self.note(control, self.subject, extra_ms=self.extra_ms)
        control.plane.now().set_link(self.node_a, self.node_b, extra_delay_ns=round(self.extra_ms * 1e6))


@fault_kind
@dataclass(frozen=True, slots=True)
class RestoreLink(_LinkFault):
    """A link that was cut or delayed is as before."""

    name: ClassVar[str] = "restore-link"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a link that is in order at that time."""
        link = self._link(world, entry)
        if link not in world.links_disturbed:
            raise self.refusal(entry, "node_b", "the link is in order at that time", "cut or delay it first")
        world.links_disturbed.remove(link)

    def strike(self, control: ControlPlane) -> None:
        """Give the link its usual latency again."""
        self.note(control, self.subject)
        control.plane.now().set_link(self.node_a, self.node_b)
