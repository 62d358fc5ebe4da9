"""What users command while topologies run: kill, deactivate, activate, rebalance.

Commands stand in the plan beside the faults, because they too happen to a run at a given time. They go to
Nimbus, so they need one that is up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import Fault, PlannedWorld, check_topology, fault_kind
from storm_lab.errors import UserError

REASON = "a user commands it"


def _check_command(topology: str, world: PlannedWorld, entry: str) -> None:
    check_topology(topology, world, entry)
    if topology in world.topologies_killed:
        raise UserError(
            "the topology has been killed by then",
            field=f"{entry}.topology",
            value=topology,
            remedy="command it earlier",
        )
    if not world.nimbus_up:
        raise UserError(
            "Nimbus is down at that time and takes no command", field=entry, remedy="revive Nimbus first"
        )


def _check_wait(wait_s: float | None, entry: str) -> None:
    if wait_s is not None and not (math.isfinite(wait_s) and wait_s >= 0):
        raise UserError(
            "that is no wait", field=f"{entry}.wait_s", value=wait_s, remedy="give seconds, 0 or more"
        )


@fault_kind
@dataclass(frozen=True, slots=True)
class KillTopology(Fault):
    """A user kills a topology.

    Its spouts are off at once; after ``wait_s`` (None = the message timeout) its assignment is gone and its
    supervisors end the workers.
    """

    name: ClassVar[str] = "kill-topology"
    at_s: float
    topology: str
    wait_s: float | None = None

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it for a topology that is gone by then, without Nimbus, and with a wait that is none."""
        _check_command(self.topology, world, entry)
        _check_wait(self.wait_s, entry)
        world.topologies_killed.add(self.topology)

    def strike(self, control: ControlPlane) -> None:
        """Tell Nimbus to kill the topology."""
        control.nimbus.kill(self.topology, wait_s=self.wait_s, reason=REASON)


@fault_kind
@dataclass(frozen=True, slots=True)
class DeactivateTopology(Fault):
    """A user switches a topology's spouts off; its bolts go on with what there is."""

    name: ClassVar[str] = "deactivate-topology"
    at_s: float
    topology: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it for a topology that is inactive already, and without Nimbus."""
        _check_command(self.topology, world, entry)
        if self.topology in world.topologies_off:
            raise UserError(
                "the topology is inactive already at that time",
                field=f"{entry}.topology",
                value=self.topology,
                remedy="activate it first",
            )
        world.topologies_off.add(self.topology)

    def strike(self, control: ControlPlane) -> None:
        """Tell Nimbus to switch the spouts off."""
        control.nimbus.deactivate(self.topology, reason=REASON)


@fault_kind
@dataclass(frozen=True, slots=True)
class ActivateTopology(Fault):
    """A user switches a topology's spouts on again."""

    name: ClassVar[str] = "activate-topology"
    at_s: float
    topology: str

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it for a topology that is active, and without Nimbus."""
        _check_command(self.topology, world, entry)
        if self.topology not in world.topologies_off:
            raise UserError(
                "the topology is active at that time",
                field=f"{entry}.topology",
                value=self.topology,
                remedy="deactivate it first",
            )
        world.topologies_off.remove(self.topology)

    def strike(self, control: ControlPlane) -> None:
        """Tell Nimbus to switch the spouts on."""
        control.nimbus.activate(self.topology, reason=REASON)


@fault_kind
@dataclass(frozen=True, slots=True)
class RebalanceTopology(Fault):
    """A user rebalances a topology to ``workers`` workers (None = as many as before).

    Spouts off, ``wait_s`` (None = the rebalance wait of the run), placed from scratch, spouts on.
    """

    name: ClassVar[str] = "rebalance-topology"
    at_s: float
    topology: str
    workers: int | None = None
    wait_s: float | None = None

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it without Nimbus, and with a wait or a number of workers that is none."""
        _check_command(self.topology, world, entry)
        _check_wait(self.wait_s, entry)
        workers: object = self.workers  # Plain data may hold anything here.
        whole = isinstance(workers, int) and not isinstance(workers, bool) and workers >= 1
        if workers is not None and not whole:
            raise UserError(
                "that is no number of workers",
                field=f"{entry}.workers",
                value=workers,
                remedy="give 1 or more, or leave it out",
            )

    def strike(self, control: ControlPlane) -> None:
        """Tell Nimbus to rebalance."""
        control.nimbus.rebalance(self.topology, workers=self.workers, wait_s=self.wait_s, reason=REASON)
