"""T-Storm's smooth re-assignment (section IV-D): old and new workers run side by side for a while.

Every message carries the id of its sender's assignment, and a dispatcher passes it to the worker with that
id: old tuples stay among old workers, new tuples among new ones. An unchanged worker belongs to both ids and
sends under the new one. Only an assignment handed to Nimbus in operation is smoothed; ``rebalance`` and
failures are handled as in Storm. ``docs/control-plane.md`` has the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import Migration, MigrationMethod
from storm_lab.emulator.control.supervisor import Supervisor
from storm_lab.emulator.control.worker import WorkerProcess, WorkerState
from storm_lab.emulator.control.zookeeper import Origin, StoredAssignment
from storm_lab.model import Slot


@dataclass(frozen=True, slots=True)
class Smooth(MigrationMethod):
    """T-Storm's smooth re-assignment.

    Args:
        kill_delay_s: seconds from the supervisor's tick to the end of an old worker (two check periods).
        spout_delay_s: seconds for which the spouts of a new worker stay inactive after its start.
        dispatch_by_id: keep old tuples among old workers; without it every worker follows the newest
            assignment, and messages to a slot reach its newest process.
    """

    kill_delay_s: float = 20.0
    spout_delay_s: float = 10.0
    dispatch_by_id: bool = True

    def begin(self, control: ControlPlane) -> Migration:
        """Create the hand-over for one run."""
        return _Smooth(control, self)


class _Smooth(Migration):
    def __init__(self, control: ControlPlane, method: Smooth) -> None:
        super().__init__(control)
        self._method = method
        self._handed_over: set[tuple[Slot, int]] = set()

    def worker_ready(self, process: WorkerProcess) -> None:
        # The assignment may have changed while the JVM started, without a change of this worker.
        supervisor = self.control.supervisors[process.slot.node]
        if supervisor.still_wants(process):
            process.generations.add(supervisor.local[process.slot].id)

    def worker_kept(self, process: WorkerProcess, wanted: StoredAssignment) -> None:
        process.generations.add(wanted.id)
        self._handed_over.add((process.slot, wanted.id))
        self.control.connections.retry_peers(process)
        stored = self.table_for(process)
        if process.running and stored is not None:
            self.control.connections.refresh(process, stored)

    def retire(self, supervisor: Supervisor, process: WorkerProcess, reason: str) -> None:
        stored = self.control.zookeeper.assignments.get(process.topology)
        handed_over = reason == WorkerState.DISALLOWED.value and process.running
        if stored is None or stored.origin is not Origin.INSTALLED or not handed_over:
            super().retire(supervisor, process, reason)
            return
        process.leaving = True
        actor, delay_s = supervisor.actor, self._method.kill_delay_s
        self.control.log.note(
            actor, "delay-kill", str(process.slot), reason, worker=process.id, seconds=delay_s
        )

        def end() -> None:
            if process.ended_ns is None:
                supervisor.kill(process, "the hand-over is over")

        self.control.clock.after(ns(delay_s), Rank.SUPERVISOR, actor, end)

    def spout_idle_s(self, process: WorkerProcess) -> float:
        stored = self.control.zookeeper.assignments.get(process.topology)
        smooth = stored is not None and stored.origin is Origin.INSTALLED
        # Later workers of the same assignment in this slot replace one that has failed.
        key = (process.slot, process.generation)
        first = key not in self._handed_over
        self._handed_over.add(key)
        return self._method.spout_delay_s if smooth and first else 0.0

    def table_for(self, process: WorkerProcess) -> StoredAssignment | None:
        newest = super().table_for(process)
        if newest is None or not self._method.dispatch_by_id or newest.origin is not Origin.INSTALLED:
            return newest
        # A worker that is not leaving follows a newer assignment once its supervisor has adopted it.
        return newest if newest.id in process.generations and not process.leaving else process.assignment

    def receiver(self, sender: WorkerProcess, listening: Sequence[WorkerProcess]) -> WorkerProcess | None:
        if not self._method.dispatch_by_id or sender.assignment is None:
            return super().receiver(sender, listening)
        same = [process for process in listening if sender.assignment.id in process.generations]
        if same:
            return same[-1]
        strict = sender.leaving or sender.assignment.origin is Origin.INSTALLED
        return None if strict else super().receiver(sender, listening)
