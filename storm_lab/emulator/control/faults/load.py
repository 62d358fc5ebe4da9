"""Sources that suddenly deliver more, or less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from storm_lab.emulator.control.faults.fault import ACTOR, Fault, PlannedWorld, fault_kind
from storm_lab.errors import UserError

if TYPE_CHECKING:
    from storm_lab.emulator.control.control_plane import ControlPlane


@fault_kind
@dataclass(frozen=True, slots=True)
class SetLoad(Fault):
    """A spout's source delivers ``rate_per_s`` lines a second from ``at_s`` on (sources that have a rate)."""

    name: ClassVar[str] = "set-load"
    at_s: float
    topology: str
    spout: str
    rate_per_s: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        spouts = {topology.id: [spout.id for spout in topology.spouts] for topology in world.topologies}
        if self.topology not in spouts:
            raise UserError(
                "the run has no such topology",
                field=f"{entry}.topology",
                value=self.topology,
                remedy=f"choose one of {', '.join(spouts)}",
            )
        if self.spout not in spouts[self.topology]:
            raise UserError(
                f"topology {self.topology!r} has no such spout",
                field=f"{entry}.spout",
                value=self.spout,
                remedy=f"choose one of {', '.join(spouts[self.topology])}",
            )
        if not (math.isfinite(self.rate_per_s) and 0 <= self.rate_per_s <= 1e8):
            raise UserError(
                "that is no rate",
                field=f"{entry}.rate_per_s",
                value=self.rate_per_s,
                remedy="give lines per second from 0 to 1e8",
            )

    def strike(self, control: ControlPlane) -> None:
        control.log.note(
            ACTOR, self.name, f"{self.topology}/{self.spout}", "fault plan", rate_per_s=self.rate_per_s
        )
        control.plane.now().set_load(self.topology, self.spout, self.rate_per_s)
