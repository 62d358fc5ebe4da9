"""A supervisor: the daemon of one node that starts and kills worker processes.

It has two cycles (Storm 0.8 to 1.0; Storm@Twitter section 2.2.2). The *assignment sync* reads ZooKeeper,
downloads the code of topologies new to the node, and stores what should run here. The *process sync* kills
the workers that are not valid and starts one in each slot without one; while a launched worker has not given
its first heartbeat it waits, for at most ``worker_start_timeout_s``. The timers only queue both cycles for
threads of their own (supervisor.clj), so their work makes no timer drift: on real 0.9.7 a sync came every
10.001 s (20 turns), a heartbeat every 5.010 s. From 1.0.3 on each slot has a state machine of its own instead
of the process sync, and in 2.x Nimbus pushes assignments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from storm_lab.emulator.control.clock import SECOND, Event, Rank, ns
from storm_lab.emulator.control.decision_log import Fact
from storm_lab.emulator.control.worker import WorkerProcess, WorkerState
from storm_lab.emulator.control.zookeeper import Record, StoredAssignment
from storm_lab.model import Node, Slot

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane


@dataclass(frozen=True, slots=True)
class Phases:
    """Times of a supervisor's first ticks, in nanoseconds of virtual time."""

    assignment_sync_ns: int
    process_sync_ns: int
    heartbeat_ns: int


class Supervisor:
    """The supervisor of ``node``."""

    def __init__(self, control: ControlPlane, node: Node, phases: Phases) -> None:
        self._control = control
        self.node = node
        self.actor = f"supervisor:{node.id}"
        self.up = True
        self.local: dict[Slot, StoredAssignment] = {}
        """By slot of the node: the assignment of the worker that should run there."""
        self.processes: list[WorkerProcess] = []
        self._code: set[str] = set()
        self._power_cycle = 0
        self._busy = False
        # Whether the assignment has changed since the supervisor read the one that it is working on.
        self._outdated = False
        self._sync_waits = False
        # Topologies with an assignment, as of ZooKeeper's last report.
        self._listed: set[str] = set()
        timers = control.timers
        self._beat_period_ns = ns(timers.worker_heartbeat_s)
        self._start_timeout_ns = ns(timers.worker_start_timeout_s)
        every = partial(control.clock.every, rank=Rank.SUPERVISOR, actor=self.actor)
        every(ns(timers.assignment_sync_s), action=self.sync_assignments, first_ns=phases.assignment_sync_ns)
        # Empty before 1.0.3.
        slots = node.slots if timers.slot_running_s > 0 else ()
        self._machines = {slot: SlotMachine(control, self, slot) for slot in slots}
        if not self._machines:
            every(ns(timers.process_sync_s), action=self.sync_processes, first_ns=phases.process_sync_ns)
        every(
            ns(timers.supervisor_heartbeat_s),
            action=self._send_heartbeat,
            first_ns=phases.heartbeat_ns,
            drifts=timers.timers_drift,
        )
        # The daemons were up before the run began, so Nimbus knows the node from the start.
        control.zookeeper.silent_since[node.id] = None
        if timers.supervisor_watch:
            control.zookeeper.watch(Record.ASSIGNMENT, self._on_watch)
        if timers.pushes_assignments:
            control.zookeeper.watch(Record.ASSIGNMENT, self._on_push)

    def _on_watch(self, topology_id: str) -> None:
        """Handle ZooKeeper's report that an assignment has come, gone or changed."""
        control = self._control
        came_or_went = (topology_id in control.zookeeper.assignments) != (topology_id in self._listed)
        self._listed ^= {topology_id} if came_or_went else set()
        if came_or_went or control.timers.watches_changes:
            # Reading takes long enough for all that Nimbus writes in one round.
            self._on_change(ns(control.times.assignment_read_s))

    def _on_push(self, topology_id: str) -> None:
        """Handle Nimbus's call (2.x) to the supervisors of an assignment's nodes, or of a killed topology."""
        stored = self._control.zookeeper.assignments.get(topology_id)
        ran_it = any(local.topology == topology_id for local in self.local.values())
        concerned = ran_it if stored is None else self.node.id in stored.nodes
        if concerned:
            self._on_change()

    def _on_change(self, read_ns: int = 0) -> None:
        """Take up the assignments once they are read, in ``read_ns``, or after the work in progress."""
        if self._busy:
            self._outdated = True
        elif self.up:
            self._stay_busy(read_ns, self.sync_assignments)

    def _send_heartbeat(self) -> int:
        if not self.up:
            return 0
        return self._control.zookeeper.write(self.actor, Record.SUPERVISOR_BEAT, self.node.id, lambda: None)

    def sync_assignments(self) -> None:
        """Read ZooKeeper, fetch code if necessary, and store what should run here; one sync at a time."""
        control = self._control
        if not self.up or self._busy or not control.zookeeper.up:
            return
        wanted = {
            slot: stored
            for stored in control.zookeeper.assignments.values()
            for slot in stored.nodes.get(self.node.id, ())
        }
        work_ns = ns(control.migration.sync_work_s)
        if work_ns > 0:
            control.fleet.charge_node(self.node.id, work_ns)
        self._stay_busy(work_ns, lambda: self._download_code(wanted))

    def _download_code(self, wanted: dict[Slot, StoredAssignment]) -> None:
        control = self._control
        missing = sorted({local.topology for local in wanted.values()} - self._code)
        download_ns = ns(control.times.code_download_s) * len(missing)
        if download_ns > 0:
            control.log.note(self.actor, "download-code", ", ".join(missing), "new to this node")

        def adopt() -> None:
            self._code.update(missing)
            self._adopt(wanted)

        self._stay_busy(download_ns, adopt)

    def _stay_busy(self, work_ns: int, then: Callable[[], None]) -> None:
        """Stay busy for ``work_ns``, then call ``then``, unless the node has failed meanwhile."""
        if work_ns == 0:
            then()
            return
        self._busy = True
        power_cycle = self._power_cycle

        def done() -> None:
            if power_cycle == self._power_cycle:
                self._busy = False
                then()

        self._control.clock.after(work_ns, Rank.SUPERVISOR, self.actor, done)

    def _adopt(self, wanted: dict[Slot, StoredAssignment]) -> None:
        migration = self._control.migration
        if wanted != self.local:
            self.local = wanted
            why = "ZooKeeper holds another assignment for this node"
            slots = [f"{slot.port}:{local.topology}#{local.id}" for slot, local in sorted(wanted.items())]
            self._control.log.note(self.actor, "take-assignment", self.node.id, why, slots=slots)
            for process in self.processes:
                if process.running and self.still_wants(process):
                    migration.worker_kept(process, wanted[process.slot])
        migration.assignments_read(self)
        self.sync_processes()
        if self._outdated:
            self._outdated = False
            self.sync_assignments()

    def state_of(self, process: WorkerProcess) -> WorkerState:
        """Return the process's state as the supervisor sees it."""
        now = self._control.clock.now_ns
        beat = process.last_heartbeat_ns(now, self._beat_period_ns)
        if process.ended_ns is not None and self._machines:
            return WorkerState.TIMED_OUT
        if beat is None:
            late = now - process.launched_ns >= self._start_timeout_ns
            return WorkerState.TIMED_OUT if late else WorkerState.NOT_STARTED
        if not self.still_wants(process):
            return WorkerState.DISALLOWED
        # Storm compares whole seconds, so a heartbeat is too old half a second after the timeout on average.
        late = now // SECOND - beat // SECOND > self._control.timers.worker_timeout_s
        return WorkerState.TIMED_OUT if late else WorkerState.VALID

    def sync_processes(self) -> None:
        """Kill the workers that should not run, and launch those that should."""
        if not self.up or self._machines:
            return
        states = [(process, self.state_of(process)) for process in self.processes]
        self._sync_waits = any(state is WorkerState.NOT_STARTED for _, state in states)
        if self._sync_waits:
            return
        occupied: set[Slot] = set()
        ended = 0
        for process, state in states:
            if process.leaving:
                continue
            on_its_way = state is WorkerState.NOT_STARTED and self.still_wants(process)
            if state is WorkerState.VALID or on_its_way:
                occupied.add(process.slot)
            else:
                self._control.migration.retire(self, process, state.value)
                ended += process.ended_ns is not None
        for slot in sorted(set(self.local) - occupied):
            # Workers are killed one after the other, with a wait for the terminate signal to work after each.
            self.launch(slot, self.local[slot], ns(self._control.timers.worker_shutdown_s) * ended)

    def still_wants(self, process: WorkerProcess) -> bool:
        """Return whether a process is the one that should run in its slot."""
        wanted = self.local.get(process.slot)
        return wanted is not None and self._control.migration.keeps(process, wanted)

    def launch(self, slot: Slot, stored: StoredAssignment, delay_ns: int = 0) -> None:
        """Start a worker in a slot, after a delay."""
        process = self._control.fleet.launch(slot, stored, delay_ns)
        self.processes.append(process)
        names = [str(e) for e in process.executors]
        facts: dict[str, Fact] = {"topology": stored.topology, "executors": names, "generation": stored.id}
        why = "no valid worker in this slot"
        self._control.log.note(self.actor, "start-worker", str(slot), why, process=process.actor, **facts)

    def on_first_heartbeat(self) -> None:
        """Handle the first heartbeat of one of the node's workers."""
        if self._sync_waits:
            self.sync_processes()

    def kill(self, process: WorkerProcess, reason: str) -> None:
        """End a worker process now, or remove one that has died."""
        self.processes.remove(process)
        died_before = process.ended_ns is not None
        loss = self._control.fleet.end(process)
        action = "clear-worker" if died_before else "kill-worker"
        facts: dict[str, Fact] = {"worker": process.id, "topology": process.topology, **loss}
        self._control.log.note(self.actor, action, str(process.slot), reason, process=process.actor, **facts)

    def notice_dead(self, slot: Slot) -> None:
        """Remove a dead process in the slot now, and start another if one should run there."""
        for process in list(self.processes):
            if process.slot == slot and process.ended_ns is not None:
                self.kill(process, "found dead")
        if slot in self._machines:
            self._machines[slot].poll_now()
        self.sync_processes()

    def power_off(self, reason: str) -> None:
        """Take the node down with all its processes."""
        self.up = False
        self._control.zookeeper.silent_since[self.node.id] = self._control.clock.now_ns
        # Its work in progress ends with it.
        self._power_cycle += 1
        self._busy = self._outdated = False
        for process in self.processes:
            if process.ended_ns is None:
                self._control.fleet.crash(process, "fault", reason, node_failed=True)

    def power_on(self) -> None:
        """Bring the node back: code and local assignment are on its disk, but no process runs."""
        self.up = True
        self._control.zookeeper.silent_since[self.node.id] = None
        self.processes.clear()
        self._control.connections.node_is_back(self.node.id)
        self._send_heartbeat()
        self.sync_assignments()


class SlotMachine:
    """The state machine of one slot from 1.0.3 on (``daemon.supervisor.Slot`` of 1.0.3, 1.2.4 and 2.8.3).

    It polls its worker every ``slot_running_s`` while the worker runs, and every ``slot_idle_s`` while it
    starts or there is none. A worker that should go gets a terminate signal, and the slot sleeps
    ``worker_shutdown_s``. If the process still exists then, it is killed by force, and the slot sleeps as
    long again. A process that died by itself is replaced at the poll that finds it dead, in 1.x after one
    sleep. The first poll comes at a random time within ``slot_idle_s``.
    """

    def __init__(self, control: ControlPlane, supervisor: Supervisor, slot: Slot) -> None:
        self._control = control
        self._supervisor = supervisor
        self._slot = slot
        self._idle_ns = ns(control.timers.slot_idle_s)
        self._random = control.random(f"slot/{slot}")
        self._next = self._after(int(self._random.random() * self._idle_ns))

    def poll_now(self) -> None:
        """Poll now instead of waiting for the next turn; later turns follow from this one."""
        self._next.cancel()
        self._poll()

    def _after(self, delay_ns: int) -> Event:
        return self._control.clock.after(delay_ns, Rank.SUPERVISOR, self._supervisor.actor, self._poll)

    def _poll(self) -> None:
        self._next = self._after(self._act() if self._supervisor.up else self._idle_ns)

    def _act(self) -> int:
        """Take the action that is due, and return how many ns to sleep after it."""
        supervisor = self._supervisor
        process = next((p for p in supervisor.processes if p.slot == self._slot and not p.leaving), None)
        if process is None:
            wanted = supervisor.local.get(self._slot)
            if wanted is not None:
                supervisor.launch(self._slot, wanted)
            return self._idle_ns
        state = supervisor.state_of(process)
        if state is WorkerState.VALID:
            return ns(self._control.timers.slot_running_s)
        if state is WorkerState.NOT_STARTED and supervisor.still_wants(process):
            return self._idle_ns
        alive = process.ended_ns is None
        self._control.migration.retire(supervisor, process, state.value)
        timers, times = self._control.timers, self._control.times
        sleep_ns = ns(timers.worker_shutdown_s)
        if process.leaving or not (alive or timers.sleeps_after_crash):
            return self._act()
        if not alive:
            return sleep_ns
        gone_s = timers.worker_halt_s
        if gone_s is None:
            # The worker's shutdown hook halts it when the sleep ends, so it usually still exists then.
            gone_s = self._random.uniform(times.worker_exit_least_s, times.worker_exit_most_s)
        return sleep_ns * (1 if ns(gone_s) <= sleep_ns else 2)
