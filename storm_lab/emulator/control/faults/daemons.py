"""Nimbus and ZooKeeper going down and coming back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import ACTOR, Fault, PlannedWorld, fault_kind
from storm_lab.errors import UserError


def _flip(was_up: bool, wanted_up: bool, what: str, entry: str) -> None:
    if was_up is wanted_up:
        state, remedy = ("up", "kill it first") if was_up else ("down", "revive it first")
        raise UserError(f"{what} is {state} already at that time", field=entry, remedy=remedy)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillNimbus(Fault):
    """Nimbus is gone: nothing is scheduled any more, everything else goes on."""

    name: ClassVar[str] = "kill-nimbus"
    at_s: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while Nimbus is down."""
        _flip(world.nimbus_up, False, "Nimbus", entry)
        world.nimbus_up = False

    def strike(self, control: ControlPlane) -> None:
        """Stop Nimbus."""
        control.log.note(ACTOR, self.name, "nimbus", "fault plan")
        control.nimbus.stop()


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveNimbus(Fault):
    """Nimbus is back."""

    name: ClassVar[str] = "revive-nimbus"
    at_s: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while Nimbus is up."""
        _flip(world.nimbus_up, True, "Nimbus", entry)
        world.nimbus_up = True

    def strike(self, control: ControlPlane) -> None:
        """Start Nimbus."""
        control.log.note(ACTOR, self.name, "nimbus", "fault plan")
        control.nimbus.start()


@fault_kind
@dataclass(frozen=True, slots=True)
class KillZooKeeper(Fault):
    """ZooKeeper is gone: nobody learns anything new, running workers go on."""

    name: ClassVar[str] = "kill-zookeeper"
    at_s: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while ZooKeeper is down."""
        _flip(world.zookeeper_up, False, "ZooKeeper", entry)
        world.zookeeper_up = False

    def strike(self, control: ControlPlane) -> None:
        """Stop ZooKeeper."""
        control.log.note(ACTOR, self.name, "zookeeper", "fault plan")
        control.zookeeper.stop()


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveZooKeeper(Fault):
    """ZooKeeper is back and takes the writes that were held."""

    name: ClassVar[str] = "revive-zookeeper"
    at_s: float

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while ZooKeeper is up."""
        _flip(world.zookeeper_up, True, "ZooKeeper", entry)
        world.zookeeper_up = True

    def strike(self, control: ControlPlane) -> None:
        """Start ZooKeeper."""
        control.log.note(ACTOR, self.name, "zookeeper", "fault plan")
        control.zookeeper.start()
