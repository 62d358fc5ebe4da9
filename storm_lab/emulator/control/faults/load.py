"""Sudden changes of a source's rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import Fault, PlannedWorld, check_topology, fault_kind
from storm_lab.errors import check_known
from storm_lab.model.checks import check_number


@fault_kind
@dataclass(frozen=True, slots=True)
class SetLoad(Fault):
    """A spout's source of kind RATE delivers ``rate_per_s`` lines a second from ``at_s`` on."""

    name: ClassVar[str] = "set-load"
    topology: str
    spout: str
    rate_per_s: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse an unknown topology or spout, one whose source has no rate, or a rate out of range."""
        spouts = [spout.id for spout in check_topology(self.topology, world, entry).spouts]
        owner = f"topology {self.topology!r}"
        check_known("spout", self.spout, spouts, owner, field=f"{entry}.spout")
        if (self.topology, self.spout) in world.unrated:
            raise self.refusal(
                entry, "spout", "its source has no rate", "name a spout with a source of kind RATE"
            )
        check_number("a rate", f"{entry}.rate_per_s", self.rate_per_s, high=1e8, unit="lines per second")

    def strike(self, control: ControlPlane) -> None:
        """Set the source's rate."""
        self.note(control, f"{self.topology}/{self.spout}", rate_per_s=self.rate_per_s)
        control.plane.now().set_load(self.topology, self.spout, self.rate_per_s)
