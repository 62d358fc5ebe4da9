"""Storm's ``rebalance`` command: stop the spouts, let queues drain, write the assignment, restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import Migration, MigrationMethod
from storm_lab.emulator.control.worker import WorkerProcess
from storm_lab.emulator.control.zookeeper import Origin, StoredAssignment
from storm_lab.model import Executor, Slot


@dataclass(frozen=True, slots=True)
class Rebalance(MigrationMethod):
    """Every new assignment goes through ``rebalance``.

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
