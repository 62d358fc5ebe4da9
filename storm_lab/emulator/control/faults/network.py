"""Links between nodes: cut, delayed, restored."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import ACTOR, Fault, PlannedWorld, check_node, fault_kind
from storm_lab.errors import UserError


def _check_link(node_a: str, node_b: str, world: PlannedWorld, entry: str) -> frozenset[str]:
    check_node(node_a, world, f"{entry}.node_a")
    check_node(node_b, world, f"{entry}.node_b")
    if node_a == node_b:
        raise UserError(
            "a link needs two different nodes",
            field=f"{entry}.node_b",
            value=node_b,
            remedy="name another node",
        )
    return frozenset((node_a, node_b))


@fault_kind
@dataclass(frozen=True, slots=True)
class CutLink(Fault):
    """Nothing passes between two nodes any more, in either direction."""

    name: ClassVar[str] = "cut-link"
    at_s: float
    node_a: str
    node_b: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse nodes that are not there, or the same one twice."""
        world.links_disturbed.add(_check_link(self.node_a, self.node_b, world, entry))

    def strike(self, control: ControlPlane) -> None:
        """Cut the link."""
        control.log.note(ACTOR, self.name, f"{self.node_a}-{self.node_b}", "fault plan")
        control.plane.now().set_link(self.node_a, self.node_b, cut=True)


@fault_kind
@dataclass(frozen=True, slots=True)
class DelayLink(Fault):
    """Everything between two nodes takes ``extra_ms`` longer, one way."""

    name: ClassVar[str] = "delay-link"
    at_s: float
    node_a: str
    node_b: str
    extra_ms: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse nodes that are not there, or the same one twice, and a delay out of range."""
        world.links_disturbed.add(_check_link(self.node_a, self.node_b, world, entry))
        if not (math.isfinite(self.extra_ms) and 0 < self.extra_ms <= 60_000):
            raise UserError(
                "that is no delay",
                field=f"{entry}.extra_ms",
                value=self.extra_ms,
                remedy="give milliseconds, more than 0 and at most 60000",
            )

    def strike(self, control: ControlPlane) -> None:
        """Delay the link."""
        control.log.note(
            ACTOR, self.name, f"{self.node_a}-{self.node_b}", "fault plan", extra_ms=self.extra_ms
        )
        control.plane.now().set_link(self.node_a, self.node_b, extra_delay_ns=round(self.extra_ms * 1e6))


@fault_kind
@dataclass(frozen=True, slots=True)
class RestoreLink(Fault):
    """A link that was cut or delayed is as before."""

    name: ClassVar[str] = "restore-link"
    at_s: float
    node_a: str
    node_b: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a link that is in order at that time."""
        link = _check_link(self.node_a, self.node_b, world, entry)
        if link not in world.links_disturbed:
            raise UserError(
                "the link is in order at that time",
                field=f"{entry}.node_b",
                value=self.node_b,
                remedy="cut or delay it first",
            )
        world.links_disturbed.remove(link)

    def strike(self, control: ControlPlane) -> None:
        """Give the link its usual latency again."""
        control.log.note(ACTOR, self.name, f"{self.node_a}-{self.node_b}", "fault plan")
        control.plane.now().set_link(self.node_a, self.node_b)
