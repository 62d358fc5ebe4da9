"""Faults of machines and links: nodes and racks fail, come back or slow down; links are cut or delayed.

A node that fails takes its supervisor and its workers with it. Their tuples are lost. Nothing tells their
peers, which go on sending: what they send is lost, too, until they refresh their connections or the node is
back. A node that comes back has its code and its last local assignment on disk, but no processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.decision_log import Fact
from storm_lab.emulator.control.faults.fault import Fault, PlannedWorld, check_node, fault_kind
from storm_lab.emulator.plane import MOST_LINKS
from storm_lab.errors import check_known
from storm_lab.model import Cluster, Node
from storm_lab.model.checks import check_number
from storm_lab.model.grouped import grouped


@dataclass(frozen=True, slots=True)
class _PowerFault(Fault):
    """A node, or each node of a rack, is switched off or on."""

    place: ClassVar[str] = "node"
    off: ClassVar[bool] = True

    def _places(self, cluster: Cluster) -> dict[str, list[Node]]:
        """Return the nodes of each place that a fault of this kind can name."""
        return grouped(cluster.nodes, lambda node: node.rack if self.place == "rack" else node.id)

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse an unknown place, or one that is already completely off or on."""
        places, named = self._places(world.cluster), getattr(self, self.place)
        check_known(self.place, named, list(places), "the cluster", field=f"{entry}.{self.place}")
        nodes = {node.id for node in places[named]}
        if self.off:
            if nodes <= world.nodes_down:
                raise self.refusal(entry, self.place, "it is down already at that time", "revive it first")
            world.nodes_down |= nodes
        else:
            if not nodes & world.nodes_down:
                raise self.refusal(entry, self.place, "it is alive at that time", "kill it first")
            world.nodes_down -= nodes

    def strike(self, control: ControlPlane) -> None:
        """Switch off or on those of the nodes that are not yet in that state."""
        named = getattr(self, self.place)
        self.note(control, named)
        for node in self._places(control.cluster)[named]:
            supervisor = control.supervisors[node.id]
            if self.off and supervisor.up:
                supervisor.power_off(f"its {self.place} has failed")
            elif not self.off and not supervisor.up:
                supervisor.power_on()


@fault_kind
@dataclass(frozen=True, slots=True)
class KillNode(_PowerFault):
    """A node fails at ``at_s``."""

    name: ClassVar[str] = "kill-node"
    node: str


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveNode(_PowerFault):
    """A failed node comes back at ``at_s``."""

    name: ClassVar[str] = "revive-node"
    off: ClassVar[bool] = False
    node: str


@fault_kind
@dataclass(frozen=True, slots=True)
class KillRack(_PowerFault):
    """All nodes of a rack that are still up fail at once."""

    name: ClassVar[str] = "kill-rack"
    place: ClassVar[str] = "rack"
    rack: str


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveRack(_PowerFault):
    """All nodes of a rack that are down come back."""

    name: ClassVar[str] = "revive-rack"
    place: ClassVar[str] = "rack"
    off: ClassVar[bool] = False
    rack: str


@fault_kind
@dataclass(frozen=True, slots=True)
class SlowNode(Fault):
    """A node runs at ``factor`` of its speed from ``at_s`` on; 1 is normal speed."""

    name: ClassVar[str] = "slow-node"
    node: str
    factor: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse an unknown node, or a factor out of range."""
        check_node(self.node, world, f"{entry}.node")
        check_number("a slow node", f"{entry}.factor", self.factor, low=0.01, high=1.0)

    def strike(self, control: ControlPlane) -> None:
        """Set the node's speed."""
        self.note(control, self.node, factor=self.factor)
        control.plane.now().set_node_speed(self.node, self.factor)


@dataclass(frozen=True, slots=True)
class _LinkFault(Fault):
    """A fault of the link between two nodes."""

    node_a: str
    node_b: str

    @property
    def subject(self) -> str:
        """The link's name in the decision log."""
        return f"{self.node_a}-{self.node_b}"

    def _link(self, world: PlannedWorld, entry: str) -> frozenset[str]:
        check_node(self.node_a, world, f"{entry}.node_a")
        check_node(self.node_b, world, f"{entry}.node_b")
        if self.node_a == self.node_b:
            raise self.refusal(entry, "node_b", "a link needs two different nodes", "name another node")
        return frozenset((self.node_a, self.node_b))

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse unknown nodes, the same node twice, or more links than a run can disturb."""
        link = self._link(world, entry)
        world.links_disturbed.add(link)
        world.links_ever_disturbed.add(link)
        if len(world.links_ever_disturbed) > MOST_LINKS:
            message = f"a run can cut or delay {MOST_LINKS} links, and this is one more"
            remedy = "disturb fewer links, or kill nodes or racks instead"
            raise self.refusal(entry, "node_b", message, remedy)

    def _set_link(self, control: ControlPlane, cut: bool = False, extra_ns: int = 0, **facts: Fact) -> None:
        self.note(control, self.subject, **facts)
        control.plane.now().set_link(self.node_a, self.node_b, cut=cut, extra_delay_ns=extra_ns)


@fault_kind
@dataclass(frozen=True, slots=True)
class CutLink(_LinkFault):
    """Nothing passes between two nodes any more, in either direction; this replaces a delay of the link."""

    name: ClassVar[str] = "cut-link"

    def strike(self, control: ControlPlane) -> None:
        """Cut the link."""
        self._set_link(control, cut=True)


@fault_kind
@dataclass(frozen=True, slots=True)
class DelayLink(_LinkFault):
    """Messages between two nodes take ``extra_ms`` longer each way; this replaces a cut of the link."""

    name: ClassVar[str] = "delay-link"
    extra_ms: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse unknown nodes, the same node twice, or a delay out of range."""
        _LinkFault.check(self, world, entry)
        check_number("a delay", f"{entry}.extra_ms", self.extra_ms, low=1e-6, high=60_000, unit="ms")

    def strike(self, control: ControlPlane) -> None:
        """Delay the link."""
        self._set_link(control, extra_ns=round(self.extra_ms * 1e6), extra_ms=self.extra_ms)


@fault_kind
@dataclass(frozen=True, slots=True)
class RestoreLink(_LinkFault):
    """A link that was cut or delayed is restored."""

    name: ClassVar[str] = "restore-link"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a link that is undisturbed at that time."""
        link = self._link(world, entry)
        if link not in world.links_disturbed:
            message = "the link is undisturbed at that time"
            raise self.refusal(entry, "node_b", message, "cut or delay it first")
        world.links_disturbed.remove(link)

    def strike(self, control: ControlPlane) -> None:
        """Restore the link's usual latency."""
        self._set_link(control)
