"""Processes that die: workers, alone or because one of their threads does, Nimbus and ZooKeeper.

An exception that leaves an executor's thread ends the whole worker process (Storm, all versions), so killing
an executor is killing the worker it runs in. Supervisors restart dead workers by themselves; reviving one
only makes its supervisor notice now instead of at the heartbeat's timeout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import (
    ACTOR,
    Fault,
    PlannedWorld,
    check_node,
    check_topology,
    fault_kind,
)
from storm_lab.errors import UserError, unknown_name
from storm_lab.model import Slot, executors_of


@dataclass(frozen=True, slots=True)
class _SlotFault(Fault):
    """Something that happens in one slot."""

    node: str
    port: int

    @property
    def slot(self) -> Slot:
        """Where it happens."""
        return Slot(self.node, self.port)

    def _check_slot(self, world: PlannedWorld, entry: str) -> None:
        check_node(self.node, world, f"{entry}.node")
        ports = world.cluster.node(self.node).ports
        if self.port not in ports:
            raise unknown_name("port", self.port, ports, f"node {self.node!r}", field=f"{entry}.port")
        if self.node in world.nodes_down:
            raise UserError("its node is down at that time", field=f"{entry}.node", value=self.node)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillWorker(_SlotFault):
    """Whatever worker process is in the slot dies; an empty slot is noted and left."""

    name: ClassVar[str] = "kill-worker"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a slot that is not there, or on a node that is down."""
        self._check_slot(world, entry)
        world.slots_killed.add(self.slot)

    def strike(self, control: ControlPlane) -> None:
        """End the worker processes in the slot."""
        victims = [process for process in control.fleet.processes if process.slot == self.slot]
        self.note(control, str(self.slot), processes=len(victims))
        for process in victims:
            control.fleet.crash(process, ACTOR, "killed by the fault plan")


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveWorker(_SlotFault):
    """The supervisor of a slot whose worker was killed notices it now and starts another."""

    name: ClassVar[str] = "revive-worker"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a slot in which no earlier entry has killed a worker."""
        self._check_slot(world, entry)
        if self.slot not in world.slots_killed:
            raise UserError(
                "no earlier entry kills the worker in this slot",
                field=f"{entry}.port",
                value=self.port,
                remedy="kill it first",
            )
        world.slots_killed.remove(self.slot)

    def strike(self, control: ControlPlane) -> None:
        """Let the slot's supervisor notice the dead worker."""
        self.note(control, str(self.slot))
        control.supervisors[self.node].notice_dead(self.slot)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillExecutor(Fault):
    """The thread that runs a task dies of an exception, and its worker process with it."""

    name: ClassVar[str] = "kill-executor"
    topology: str
    task: int

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a topology or task that is not there."""
        executors = executors_of(check_topology(self.topology, world, entry), world.version)
        if not any(self.task in executor.tasks for executor in executors):
            last = max(executor.end for executor in executors)
            raise UserError(
                f"topology {self.topology!r} has no such task",
                field=f"{entry}.task",
                value=self.task,
                remedy=f"give a task id from 1 to {last}",
            )

    def strike(self, control: ControlPlane) -> None:
        """End every process that runs the task."""
        victims = [
            process
            for process in control.connections.running(self.topology)
            if any(self.task in executor.tasks for executor in process.executors)
        ]
        self.note(control, f"{self.topology}/{self.task}", processes=len(victims))
        for process in victims:
            control.fleet.crash(process, ACTOR, "an exception left an executor's thread")


def _flip(world: PlannedWorld, daemon: str, entry: str, *, down: bool) -> None:
    if down is (daemon in world.daemons_down):
        state, remedy = ("down", "revive it first") if down else ("up", "kill it first")
        raise UserError(f"{daemon} is {state} already at that time", field=entry, remedy=remedy)
    world.daemons_down ^= {daemon}


@fault_kind
@dataclass(frozen=True, slots=True)
class KillNimbus(Fault):
    """Nimbus is gone: nothing is scheduled any more, everything else goes on."""

    name: ClassVar[str] = "kill-nimbus"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while Nimbus is down."""
        _flip(world, "Nimbus", entry, down=True)

    def strike(self, control: ControlPlane) -> None:
        """Stop Nimbus."""
        self.note(control, "nimbus")
        control.nimbus.stop()


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveNimbus(Fault):
    """Nimbus is back."""

    name: ClassVar[str] = "revive-nimbus"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while Nimbus is up."""
        _flip(world, "Nimbus", entry, down=False)

    def strike(self, control: ControlPlane) -> None:
        """Start Nimbus."""
        self.note(control, "nimbus")
        control.nimbus.start()


@fault_kind
@dataclass(frozen=True, slots=True)
class KillZooKeeper(Fault):
    """ZooKeeper is gone: nobody learns anything new, running workers go on."""

    name: ClassVar[str] = "kill-zookeeper"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while ZooKeeper is down."""
        _flip(world, "ZooKeeper", entry, down=True)

    def strike(self, control: ControlPlane) -> None:
        """Stop ZooKeeper."""
        self.note(control, "zookeeper")
        control.zookeeper.stop()


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveZooKeeper(Fault):
    """ZooKeeper is back and takes the writes that were held."""

    name: ClassVar[str] = "revive-zookeeper"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it while ZooKeeper is up."""
        _flip(world, "ZooKeeper", entry, down=False)

    def strike(self, control: ControlPlane) -> None:
        """Start ZooKeeper."""
        self.note(control, "zookeeper")
        control.zookeeper.start()
