"""N-Storm: moves threads between workers without restarting the workers (N-Storm section IV).

Each supervisor writes the assignments that it reads from ZooKeeper (period T_s, ``assignment_sync_s`` of the
timers) into a store of its node, which each worker polls (period T_w). ``docs/control-plane.md`` has the
steps and their costs. Supervisors only end workers that have nothing left to run, and start workers in slots
without one.

Simplification: the paper updates only when executors have both come and gone, this implementation when either
has happened, as any working version must.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from storm_lab.emulator.control.clock import Event, Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.method import Migration, MigrationMethod
from storm_lab.emulator.control.supervisor import Supervisor
from storm_lab.emulator.control.worker import WorkerProcess
from storm_lab.emulator.control.zookeeper import StoredAssignment
from storm_lab.model import Executor


@dataclass(frozen=True, slots=True)
class NStorm(MigrationMethod):
    """Thread-level update.

    ``poll_s`` is T_w. ``kill_delay_s`` is how long an executor that has left keeps running, during which two
    copies may run: 0, with which its queue is lost, is N-Storm, 2 is N-Storm+.
    """

    poll_s: float = 3.0
    kill_delay_s: float = 0.0

    def begin(self, control: ControlPlane) -> Migration:
        """Create the update for one run."""
        return _ThreadLevelUpdate(control, self)


class _ThreadLevelUpdate(Migration):
    moves_threads = True

    def __init__(self, control: ControlPlane, method: NStorm) -> None:
        super().__init__(control)
        self.sync_work_s = control.times.sync_work_s
        self._method = method
        self._stores: dict[str, Mapping[str, StoredAssignment]] = {}
        self._polls: dict[int, Event] = {}
        self._polling: set[int] = set()
        self._seen: dict[int, StoredAssignment] = {}
        self._changes: dict[tuple[int, Executor], Event] = {}
        """By process and executor: the start or the stop that is scheduled."""

    def assignments_read(self, supervisor: Supervisor) -> None:
        self._stores[supervisor.node.id] = dict(self.control.zookeeper.assignments)

    def keeps(self, process: WorkerProcess, wanted: StoredAssignment) -> bool:
        return process.topology == wanted.topology

    def table_for(self, process: WorkerProcess) -> StoredAssignment | None:
        return self._stores.get(process.slot.node, {}).get(process.topology)

    def worker_ready(self, process: WorkerProcess) -> None:
        # JVMs start at different speeds, so workers that start together do not poll together.
        period_ns = ns(self._method.poll_s)
        phase = self.control.random(f"nstorm/poll/{process.number}").random()
        self._polls[process.number] = self.control.clock.every(
            period_ns,
            Rank.WORKER,
            process.actor,
            partial(self._poll, process),
            first_ns=self.control.clock.now_ns + int(phase * period_ns),
            drifts=self.control.timers.timers_drift,
        )

    def _poll(self, process: WorkerProcess) -> int:
        """Start a poll unless one is in progress; return for how many ns it occupies the worker's timer."""
        if not process.running:
            self._polls.pop(process.number).cancel()
            self._polling.discard(process.number)
            return 0
        if process.number in self._polling:
            return 0
        control = self.control
        work_ns = ns(control.times.poll_work_s)
        self._polling.add(process.number)
        control.plane.now().charge(process.id, work_ns)
        control.clock.after(work_ns, Rank.WORKER, process.actor, partial(self._finish_poll, process))
        return work_ns

    def _finish_poll(self, process: WorkerProcess) -> None:
        """Finish a poll: the paper's procedure TLU."""
        self._polling.discard(process.number)
        stored = self.table_for(process)
        if not process.running or stored is None:
            return
        if stored is not self._seen.get(process.number):
            assigned = set(stored.workers.get(process.slot, ()))
            if not assigned:
                return  # The supervisor will end this worker.
            self._update(process, assigned)
            self._seen[process.number] = stored
        self.control.connections.refresh(process, stored)

    def _update(self, process: WorkerProcess, assigned: set[Executor]) -> None:
        """Start and stop threads so that the worker runs the executors that it should."""
        different = assigned ^ set(process.executors)
        scheduled = {executor for number, executor in self._changes if number == process.number}
        for executor in scheduled - different:
            self._changes.pop((process.number, executor)).cancel()
        due = sorted(different - scheduled)
        if not due:
            return
        new = [executor for executor in due if executor in assigned]
        old = [executor for executor in due if executor not in assigned]
        control, method = self.control, self._method
        why = "its node's store assigns it other executors"
        changes = {"start": [str(e) for e in new], "stop": [str(e) for e in old]}
        control.log.note(process.actor, "update-threads", str(process.slot), why, **changes)
        later = partial(control.clock.after, rank=Rank.PROCESS, actor=process.actor)
        for executor in old:
            stop = partial(self._stop, process, executor)
            if method.kill_delay_s > 0:
                self._changes[process.number, executor] = later(ns(method.kill_delay_s), action=stop)
            else:
                stop()
        for executor in new:
            start = partial(self._start, process, executor)
            self._changes[process.number, executor] = later(ns(control.times.executor_start_s), action=start)

    def _start(self, process: WorkerProcess, executor: Executor) -> None:
        del self._changes[process.number, executor]
        if not process.running:
            return
        self.control.fleet.start_executor(process, executor)
        why, slot = "newly assigned to this worker", str(process.slot)
        self.control.log.note(process.actor, "start-executor", str(executor), why, slot=slot)
        self.control.connections.executors_changed(process)

    def _stop(self, process: WorkerProcess, executor: Executor) -> None:
        self._changes.pop((process.number, executor), None)
        if not process.running:
            return
        loss = self.control.fleet.stop_executor(process, executor)
        why, slot = "no longer assigned to this worker", str(process.slot)
        self.control.log.note(process.actor, "stop-executor", str(executor), why, slot=slot, **loss)
        self.control.connections.executors_changed(process)
