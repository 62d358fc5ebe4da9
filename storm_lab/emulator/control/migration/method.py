"""Migration methods: how a new assignment gets from Nimbus into the workers, and Storm's own two ways.

A method is an immutable set of parameters, and :meth:`MigrationMethod.begin` creates the object that acts in
one run. :class:`Migration` is Storm's own behaviour; a method overrides the steps in which it differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from storm_lab.emulator.control.zookeeper import Origin, StoredAssignment
from storm_lab.model import Executor, Slot

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane
    from storm_lab.emulator.control.supervisor import Supervisor
    from storm_lab.emulator.control.worker import WorkerProcess


class Migration:
    """The steps of a migration, as Storm's supervisors and workers take them."""

    moves_threads: ClassVar[bool] = False
    """Whether executors move between running workers: a worker then looks up even its own in its table, and
    re-reads the table when the method says so, not on ZooKeeper's watch or at its own refresh period.
    """

    def __init__(self, control: ControlPlane) -> None:
        self.control = control
        self.sync_work_s = 0.0
        """How long a supervisor works on each sync; Storm's own work, once in ten seconds, counts as free."""

    def publish(self, topology_id: str, slots: Mapping[Executor, Slot], reason: str) -> None:
        """Handle a new assignment given to Nimbus for a running topology. Storm writes it to ZooKeeper."""
        self.control.nimbus.write(topology_id, slots, Origin.INSTALLED, reason)

    def assignments_read(self, supervisor: Supervisor) -> None:
        """Handle a supervisor's reading of the assignments from ZooKeeper."""

    def keeps(self, process: WorkerProcess, wanted: StoredAssignment) -> bool:
        """Whether a worker may go on under its slot's new assignment. Storm: only if nothing changed."""
        return process.topology == wanted.topology and process.executors == wanted.workers[process.slot]

    def retire(self, supervisor: Supervisor, process: WorkerProcess, reason: str) -> None:
        """Handle a worker that its supervisor wants to end. Storm kills it now."""
        supervisor.kill(process, reason)

    def spout_idle_s(self, process: WorkerProcess) -> float:
        """How long the spouts of a new worker stay inactive after its start."""
        return 0.0

    def table_for(self, process: WorkerProcess) -> StoredAssignment | None:
        """The assignment from which a worker learns where executors run: the newest in ZooKeeper."""
        return self.control.zookeeper.assignments.get(process.topology)

    def worker_kept(self, process: WorkerProcess, wanted: StoredAssignment) -> None:
        """Handle a worker that goes on under an assignment that is new to its node."""

    def receiver(self, sender: WorkerProcess, listening: Sequence[WorkerProcess]) -> WorkerProcess | None:
        """The process that gets the sender's messages, of those ``listening`` at a slot, by readiness."""
        return listening[-1]

    def worker_ready(self, process: WorkerProcess) -> None:
        """Handle the readiness of a worker's JVM."""


class MigrationMethod(ABC):
    """A method's parameters; subclasses are frozen dataclasses."""

    @abstractmethod
    def begin(self, control: ControlPlane) -> Migration:
        """Create the object that acts in one run."""


@dataclass(frozen=True, slots=True)
class Restart(MigrationMethod):
    """Storm's own method, called Storm* in the N-Storm paper (section V-A): worker-level restart.

    The assignment goes straight to ZooKeeper. Each supervisor, at its own tick, kills the workers whose set
    of executors has changed and launches new ones. Executors that did not move but share such a worker are
    restarted too. Tuples queued in a killed worker are lost and time out at their spouts.
    """

    def begin(self, control: ControlPlane) -> Migration:
        """Return Storm's own steps, unchanged."""
        return Migration(control)


@dataclass(frozen=True, slots=True)
class Rebalance(MigrationMethod):
    """Storm's command ``rebalance``: stop the spouts, let queues drain, write the assignment, restart.

    Args:
        wait_s: seconds from switching the spouts off to the assignment; None = the message timeout.
        restart_all: restart every worker of the topology, as the N-Storm paper describes it. Storm's code
            keeps a worker whose slot ends up with the same executors.
    """

    wait_s: float | None = None
    restart_all: bool = False

    def begin(self, control: ControlPlane) -> Migration:
        """Create the steps of the command for one run."""
        return _Rebalance(control, self)


class _Rebalance(Migration):
    def __init__(self, control: ControlPlane, method: Rebalance) -> None:
        super().__init__(control)
        self._method = method

    def publish(self, topology_id: str, slots: Mapping[Executor, Slot], reason: str) -> None:
        self.control.nimbus.rebalance(topology_id, slots=slots, wait_s=self._method.wait_s, reason=reason)

    def keeps(self, process: WorkerProcess, wanted: StoredAssignment) -> bool:
        restarts = self._method.restart_all and wanted.origin is Origin.REBALANCED
        return not (restarts and process.generation != wanted.id) and super().keeps(process, wanted)
