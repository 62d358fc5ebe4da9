"""Processes that die: workers, alone or because of one of their threads, Nimbus and ZooKeeper.

An exception that escapes from an executor's thread ends the whole worker process (Storm, all versions).
Supervisors restart dead workers anyway; reviving a worker only makes its supervisor notice now instead of at
the heartbeat's timeout.
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
from storm_lab.errors import UserError, check_known
from storm_lab.model import Slot, executors_of


@dataclass(frozen=True, slots=True)
class _SlotFault(Fault):
    """A fault in one slot."""

    node: str
    port: int

    @property
    def slot(self) -> Slot:
        return Slot(self.node, self.port)

    def _check_slot(self, world: PlannedWorld, entry: str) -> None:
        check_node(self.node, world, f"{entry}.node")
        ports = world.cluster.node(self.node).ports
        check_known("port", self.port, ports, f"node {self.node!r}", field=f"{entry}.port")
        if self.node in world.nodes_down:
            raise UserError("its node is down at that time", field=f"{entry}.node", value=self.node)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillWorker(_SlotFault):
    """The worker process in the slot dies; an empty slot is only noted."""

    name: ClassVar[str] = "kill-worker"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse an unknown slot, or one on a node that is down."""
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
    """The supervisor of a slot whose worker was killed notices this now and starts another worker."""

    name: ClassVar[str] = "revive-worker"

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a slot in which no earlier entry kills a worker."""
        self._check_slot(world, entry)
        if self.slot not in world.slots_killed:
            message = "no earlier entry kills the worker in this slot"
            raise self.refusal(entry, "port", message, "kill it first")
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
        """Refuse an unknown topology or task."""
        executors = executors_of(check_topology(self.topology, world, entry), world.version)
        if not any(self.task in executor.tasks for executor in executors):
            last = max(executor.end for executor in executors)
            message = f"topology {self.topology!r} has no such task"
            raise self.refusal(entry, "task", message, f"give a task id from 1 to {last}")

    def strike(self, control: ControlPlane) -> None:
        """End every process that runs the task."""
        running = control.connections.running(self.topology)
        victims = [p for p in running if any(self.task in executor.tasks for executor in p.executors)]
        self.note(control, f"{self.topology}/{self.task}", processes=len(victims))
        for process in victims:
            control.fleet.crash(process, ACTOR, "an exception escaped from an executor's thread")


@dataclass(frozen=True, slots=True)
class _DaemonFault(Fault):
    """Nimbus or ZooKeeper goes down, or comes back."""

    daemon: ClassVar[str]
    down: ClassVar[bool]

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse it if the daemon is already in that state."""
        if self.down is (self.daemon in world.daemons_down):
            state, remedy = ("down", "revive it first") if self.down else ("up", "kill it first")
            raise UserError(f"{self.daemon} is {state} already at that time", field=entry, remedy=remedy)
        world.daemons_down ^= {self.daemon}

    def strike(self, control: ControlPlane) -> None:
        self.note(control, self.daemon.lower())
        daemon = control.nimbus if self.daemon == "Nimbus" else control.zookeeper
        if self.down:
            daemon.stop()
        else:
            daemon.start()


@fault_kind
@dataclass(frozen=True, slots=True)
class KillNimbus(_DaemonFault):
    """Nimbus goes down: nothing is scheduled any more, but everything else goes on."""

    name: ClassVar[str] = "kill-nimbus"
    daemon: ClassVar[str] = "Nimbus"
    down: ClassVar[bool] = True


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveNimbus(_DaemonFault):
    """Nimbus comes back."""

    name: ClassVar[str] = "revive-nimbus"
    daemon: ClassVar[str] = "Nimbus"
    down: ClassVar[bool] = False


@fault_kind
@dataclass(frozen=True, slots=True)
class KillZooKeeper(_DaemonFault):
    """ZooKeeper goes down: no process learns anything new, but running workers go on."""

    name: ClassVar[str] = "kill-zookeeper"
    daemon: ClassVar[str] = "ZooKeeper"
    down: ClassVar[bool] = True


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveZooKeeper(_DaemonFault):
    """ZooKeeper comes back and takes the writes that were held."""

    name: ClassVar[str] = "revive-zookeeper"
    daemon: ClassVar[str] = "ZooKeeper"
    down: ClassVar[bool] = False
