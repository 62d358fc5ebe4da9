"""What happens to a topology at a given time: user commands, and a change of a source's rate.

Commands go to Nimbus, which must be up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import Fault, PlannedWorld, check_topology, fault_kind
from storm_lab.errors import UserError, check_known
from storm_lab.model.checks import check_number, check_whole
from storm_lab.model.topology import MAX_TASKS

REASON = "user command"


@dataclass(frozen=True, slots=True)
class _Command(Fault):
    """A user's command for one topology."""

    topology: str

    def _check_command(self, world: PlannedWorld, entry: str) -> None:
        check_topology(self.topology, world, entry)
        submit_s = world.submit_s.get(self.topology, 0.0)
        if submit_s > 0 and self.at_s <= submit_s:
            message = f"the topology is submitted only at {submit_s:g} s"
            raise self.refusal(entry, "at_s", message, "give the command later")
        if self.topology in world.topologies_killed:
            message = "the topology has been killed by then"
            raise self.refusal(entry, "topology", message, "give the command earlier")
        if "Nimbus" in world.daemons_down:
            message = "Nimbus is down at that time and accepts no commands"
            raise UserError(message, field=entry, remedy="revive Nimbus first")


def _check_wait(wait_s: float | None, entry: str) -> None:
    if wait_s is not None:
        check_number("a wait", f"{entry}.wait_s", wait_s, unit="s")


@fault_kind
@dataclass(frozen=True, slots=True)
class KillTopology(_Command):
    """A user kills a topology.

    Its spouts are switched off at once, its assignment is removed after ``wait_s`` (None = the message
    timeout).
    """

    name: ClassVar[str] = "kill-topology"
    wait_s: float | None = None

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it if the topology is gone by then, if Nimbus is down, or if the wait is out of range."""
        self._check_command(world, entry)
        _check_wait(self.wait_s, entry)
        world.topologies_killed.add(self.topology)

    def strike(self, control: ControlPlane) -> None:
        """Tell Nimbus to kill the topology."""
        control.nimbus.kill(self.topology, wait_s=self.wait_s, reason=REASON)


@dataclass(frozen=True, slots=True)
class _Switch(_Command):
    """A user switches the spouts of a topology off or on."""

    off: ClassVar[bool]

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it if the spouts are already in that state, or if Nimbus is down."""
        self._check_command(world, entry)
        if self.off is (self.topology in world.topologies_off):
            state, other = ("inactive already", "activate") if self.off else ("active", "deactivate")
            message = f"the topology is {state} at that time"
            raise self.refusal(entry, "topology", message, f"{other} it first")
        world.topologies_off ^= {self.topology}

    def strike(self, control: ControlPlane) -> None:
        control.nimbus.set_active(self.topology, not self.off, reason=REASON)


@fault_kind
@dataclass(frozen=True, slots=True)
class DeactivateTopology(_Switch):
    """A user switches a topology's spouts off; its bolts process the tuples that are left."""

    name: ClassVar[str] = "deactivate-topology"
    off: ClassVar[bool] = True


@fault_kind
@dataclass(frozen=True, slots=True)
class ActivateTopology(_Switch):
    """A user switches a topology's spouts on again."""

    name: ClassVar[str] = "activate-topology"
    off: ClassVar[bool] = False


@fault_kind
@dataclass(frozen=True, slots=True)
class RebalanceTopology(_Command):
    """A user rebalances a topology to ``workers`` workers (None = as many as before).

    The spouts are switched off. After ``wait_s`` (None = the rebalance wait of the run) the topology is
    placed from scratch, and the spouts are switched on again.
    """

    name: ClassVar[str] = "rebalance-topology"
    workers: int | None = None
    wait_s: float | None = None

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it if Nimbus is down, or if the wait or the number of workers is out of range."""
        self._check_command(world, entry)
        _check_wait(self.wait_s, entry)
        if self.workers is not None:
            check_whole("the topology", f"{entry}.workers", self.workers, low=1, high=MAX_TASKS)

    def strike(self, control: ControlPlane) -> None:
        """Tell Nimbus to rebalance."""
        control.nimbus.rebalance(self.topology, workers=self.workers, wait_s=self.wait_s, reason=REASON)


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
            remedy = "name a spout with a source of kind RATE"
            raise self.refusal(entry, "spout", "its source has no rate", remedy)
        check_number("a rate", f"{entry}.rate_per_s", self.rate_per_s, high=1e8, unit="lines per second")

    def strike(self, control: ControlPlane) -> None:
        """Set the source's rate."""
        self.note(control, f"{self.topology}/{self.spout}", rate_per_s=self.rate_per_s)
        control.plane.now().set_load(self.topology, self.spout, self.rate_per_s)
