"""Worker processes that die, alone or because one of their threads does.

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


def _check_slot(slot: Slot, world: PlannedWorld, entry: str) -> None:
    check_node(slot.node, world, f"{entry}.node")
    ports = world.cluster.node(slot.node).ports
    if slot.port not in ports:
        raise unknown_name("port", slot.port, ports, f"node {slot.node!r}", field=f"{entry}.port")
    if slot.node in world.nodes_down:
        raise UserError("its node is down at that time", field=f"{entry}.node", value=slot.node)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillWorker(Fault):
    """Whatever worker process is in the slot dies; an empty slot is noted and left."""

    name: ClassVar[str] = "kill-worker"
    at_s: float
    node: str
    port: int

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a slot that is not there, or on a node that is down."""
        slot = Slot(self.node, self.port)
        _check_slot(slot, world, entry)
        world.slots_killed.add(slot)

    def strike(self, control: ControlPlane) -> None:
        """End the worker processes in the slot."""
        slot = Slot(self.node, self.port)
        victims = control.fleet.at(slot)
        control.log.note(ACTOR, self.name, str(slot), "fault plan", processes=len(victims))
        for process in victims:
            control.fleet.crash(process, ACTOR, "killed by the fault plan")


@fault_kind
@dataclass(frozen=True, slots=True)
class ReviveWorker(Fault):
    """The supervisor of a slot whose worker was killed notices it now and starts another."""

    name: ClassVar[str] = "revive-worker"
    at_s: float
    node: str
    port: int

    def check(self, world: PlannedWorld, entry: str) -> None:
        """Refuse a slot in which no earlier entry has killed a worker."""
        slot = Slot(self.node, self.port)
        _check_slot(slot, world, entry)
        if slot not in world.slots_killed:
            raise UserError(
                "no earlier entry kills the worker in this slot",
                field=f"{entry}.port",
                value=self.port,
                remedy="kill it first",
            )
        world.slots_killed.remove(slot)

    def strike(self, control: ControlPlane) -> None:
        """Let the slot's supervisor notice the dead worker."""
        slot = Slot(self.node, self.port)
        control.log.note(ACTOR, self.name, str(slot), "fault plan")
        control.supervisors[self.node].notice_dead(slot)


@fault_kind
@dataclass(frozen=True, slots=True)
class KillExecutor(Fault):
    """The thread that runs a task dies of an exception, and its worker process with it."""

    name: ClassVar[str] = "kill-executor"
    at_s: float
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
        control.log.note(
            ACTOR, self.name, f"{self.topology}/{self.task}", "fault plan", processes=len(victims)
        )
        for process in victims:
            control.fleet.crash(process, ACTOR, "an exception left an executor's thread")
