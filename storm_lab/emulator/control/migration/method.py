"""What a method of migration is: how a new assignment gets from Nimbus into the workers.

A method is a frozen set of parameters with a name; :meth:`MigrationMethod.begin` makes the object that acts
in one run. :class:`Migration` is Storm's own behaviour (worker-level restart at the supervisors' ticks); a
method overrides the steps that it does differently. A new method is one new file with the
``@migration_method`` decorator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from storm_lab.emulator.control.registry import Registry
from storm_lab.emulator.control.zookeeper import Origin, StoredAssignment
from storm_lab.model import Executor, Slot

if TYPE_CHECKING:
    # It holds this one: a circle.
    from storm_lab.emulator.control.control_plane import ControlPlane
    from storm_lab.emulator.control.supervisor import LocalAssignment, Supervisor
    from storm_lab.emulator.control.worker import WorkerProcess


class Migration:
    """The steps of a hand-over, as Storm's supervisors and workers take them."""

    moves_threads: ClassVar[bool] = False
    """Whether executors come and go in a running worker, so that it asks its table even for its own."""

    def __init__(self, control: ControlPlane) -> None:
        self.control = control
        self.sync_work_s = 0.0
        """For how long a supervisor works on each sync; Storm's own, one in ten seconds, count as free."""

    def publish(self, topology_id: str, slots: Mapping[Executor, Slot], reason: str) -> None:
        """Nimbus has been given a new assignment for a running topology. Storm writes it to ZooKeeper."""
        self.control.nimbus.write(topology_id, slots, Origin.INSTALLED, reason)

    def assignments_read(self, supervisor: Supervisor) -> None:
        """A supervisor has read the assignments from ZooKeeper."""

    def keeps(self, process: WorkerProcess, wanted: LocalAssignment) -> bool:
        """Whether a worker may go on under its slot's new assignment. Storm: only if nothing differs."""
        return process.topology == wanted.topology and process.executors == wanted.executors

    def retire(self, supervisor: Supervisor, process: WorkerProcess, reason: str) -> None:
        """A supervisor wants to be rid of a worker. Storm kills it now."""
        supervisor.kill(process, reason)

    def spout_idle_s(self, process: WorkerProcess) -> float:
        """How long the spouts of a new worker keep still after its start."""
        return 0.0

    def table_for(self, process: WorkerProcess) -> StoredAssignment | None:
        """The assignment from which a worker learns who is where: the newest in ZooKeeper."""
        return self.control.zookeeper.assignments.get(process.topology)

    def kept(self, process: WorkerProcess, wanted: LocalAssignment) -> None:
        """A supervisor has found that a worker may go on under an assignment that is new to the node."""

    def listener(self, sender: WorkerProcess, listening: Sequence[WorkerProcess]) -> WorkerProcess | None:
        """Which process at a slot gets the messages of ``sender``.

        ``listening`` is in order of readiness and not empty.
        """
        return listening[-1]

    def refreshes_from_zookeeper(self, process: WorkerProcess) -> bool:
        """Whether a worker re-reads its table by ZooKeeper's watch and its own refresh period."""
        return True

    def worker_ready(self, process: WorkerProcess) -> None:
        """A worker's JVM has started."""


class MigrationMethod(ABC):
    """A method's name and parameters; subclasses are frozen dataclasses."""

    name: ClassVar[str]

    @abstractmethod
    def begin(self, control: ControlPlane) -> Migration:
        """The method at work in one run."""


MIGRATION_METHODS: Registry[MigrationMethod] = Registry(
    "migration method", "storm_lab.emulator.control.migration"
)
migration_method = MIGRATION_METHODS.register
