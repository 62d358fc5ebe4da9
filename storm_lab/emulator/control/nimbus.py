"""Nimbus: accepts topologies and commands, runs the scheduler, and writes assignments.

A round every ``nimbus_round_s`` finds out which executors are alive, asks the scheduler, and writes the
assignments that differ. While Nimbus is down nothing is re-assigned, but workers and supervisors go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.decision_log import Fact
from storm_lab.emulator.control.nimbus_memory import Delays, Liveness, all_reported, occupied
from storm_lab.emulator.control.zookeeper import Origin, Record, StoredAssignment
from storm_lab.model import (
    Assignment,
    Cluster,
    Executor,
    InvalidAssignmentError,
    MeasuredLoad,
    Slot,
    Topology,
    acker_count,
    check_assignment,
    executors_of,
)
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane

ACTOR = "nimbus"


class Status(Enum):
    """A topology's status."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    REBALANCING = "rebalancing"
    KILLED = "killed"


class Nimbus:
    """The master daemon, with its scheduler plugged in."""

    def __init__(self, control: ControlPlane, scheduler: Scheduler[Any], first_round_ns: int) -> None:
        self._control = control
        self.scheduler = scheduler
        self.up = True
        self.topologies: dict[str, Topology] = {}
        self.submitted: dict[str, Topology] = {}
        """All topologies of the run as submitted, including those killed since."""
        self.status: dict[str, Status] = {}
        self.load: Callable[[], MeasuredLoad | None] = lambda: None
        """Returns the load for a scheduler that wants measured load; set by the monitoring."""
        self._liveness = Liveness(control.zookeeper, control.timers)
        self._current: dict[str, StoredAssignment] = {}
        self._last_answer: tuple[Scheduler[Any], SchedulingView, SchedulingResult] | None = None
        self._pending_placements: dict[str, Assignment] = {}
        """First placements by hand that wait for a scheduling round."""
        self._last_id = 0
        self._announced: dict[str, int] = {}
        self._running_callbacks: list[Callable[[str], None]] = []
        control.zookeeper.watch(Record.TASK_BEAT, self._on_heartbeat)
        rounds = control.clock.every(
            ns(control.timers.nimbus_round_s),
            Rank.NIMBUS,
            ACTOR,
            self.round,
            first_ns=first_round_ns,
            drifts=control.timers.timers_drift,
        )
        self._delays = Delays(control.clock, control.timers, rounds, ACTOR)

    def current(self, topology_id: str) -> StoredAssignment | None:
        """Return the assignment that Nimbus wrote last for a topology."""
        return self._current.get(topology_id)

    @property
    def present(self) -> Assignment:
        """The current assignments of all topologies together."""
        return Assignment.of((e, s) for stored in self._current.values() for e, s in stored.slots.items())

    @property
    def live_cluster(self) -> Cluster:
        """The nodes whose supervisors count as alive, in the cluster's order."""
        alive = self._liveness.nodes(self._control.clock.now_ns)
        cluster = self._control.cluster
        return replace(cluster, nodes=tuple(node for node in cluster.nodes if node.id in alive))

    def on_running(self, callback: Callable[[str], None]) -> None:
        """Call ``callback`` with a topology's id once all executors of a new assignment have reported."""
        self._running_callbacks.append(callback)

    def submit(self, topology: Topology, placement: Assignment | None = None) -> None:
        """Submit a topology as a user does; ``placement`` replaces the scheduler's first answer.

        From 1.0 on both wait for a round.
        """
        control = self._control
        resolved = replace(topology, ackers=acker_count(topology, control.version))
        self.topologies[topology.id] = self.submitted[topology.id] = resolved
        self._set_status(topology.id, Status.ACTIVE)
        control.log.note(ACTOR, "submit", topology.id, "user command", workers=topology.workers)
        if placement is not None:
            self._adopt_worker_count(topology.id, placement)
            self._pending_placements[topology.id] = placement
        if control.timers.schedules_at_submit and placement is not None:
            self._write_pending_placements()
        elif control.timers.schedules_at_submit:
            self._schedule("a topology has been submitted")

    def _write_pending_placements(self) -> None:
        for topology_id, placement in list(self._pending_placements.items()):
            self.write(topology_id, placement.slots, Origin.SCHEDULED, "placed by hand at submission")

    def round(self) -> int:
        """Run a scheduling round if Nimbus can; return for how many ns it occupies Nimbus's timer."""
        if not self.up or not self._control.zookeeper.up:
            return 0
        self._schedule("scheduling round")
        return ns(self._control.times.round_work_s)

    def rebalance(
        self,
        topology_id: str,
        *,
        workers: int | None = None,
        slots: Mapping[Executor, Slot] | None = None,
        wait_s: float | None = None,
        reason: str,
    ) -> None:
        """Switch the spouts off, wait, schedule from scratch or write ``slots``, and restore the status.

        The command is refused while another waits, and ``slots`` that another topology holds by then are not
        written.
        """
        control = self._control
        if self._refuses(topology_id, "rebalance", {Status.ACTIVE, Status.INACTIVE}):
            return
        topology = self.topologies[topology_id]
        if wait_s is None:
            wait_s = control.timers.rebalance_wait_s
        wait_ns = ns(topology.message_timeout_s if wait_s is None else wait_s)
        before = self.status[topology_id]
        self._set_status(topology_id, Status.REBALANCING)
        asked = workers if slots is None else None
        control.log.note(ACTOR, "rebalance", topology_id, reason, wait_s=wait_ns / 1e9, workers=asked)

        def due() -> None:
            if workers is not None:
                self.topologies[topology_id] = replace(self.topologies[topology_id], workers=workers)
            if slots is None:
                self._schedule(reason, from_scratch=topology_id)
            elif why := occupied(self._current, {topology_id}, slots):
                control.log.note(ACTOR, "refuse-rebalance", topology_id, why)
            else:
                self._adopt_worker_count(topology_id, Assignment(slots))
                self.write(topology_id, slots, Origin.REBALANCED, reason)
            self._set_status(topology_id, before)

        self._delays.after(topology_id, wait_ns, due)

    def set_active(self, topology_id: str, active: bool, *, reason: str) -> None:
        """Carry out the activate or the deactivate command: switch the spouts on or off."""
        command, status = ("activate", Status.ACTIVE) if active else ("deactivate", Status.INACTIVE)
        if not self._refuses(topology_id, command, {Status.ACTIVE, Status.INACTIVE}):
            self._control.log.note(ACTOR, command, topology_id, reason)
            self._set_status(topology_id, status)

    def kill(self, topology_id: str, *, wait_s: float | None = None, reason: str) -> None:
        """Switch the spouts off, wait (by default for the message timeout), and remove the topology.

        Supervisors end its workers at their next sync. A waiting rebalance is cancelled.
        """
        control = self._control
        if self._refuses(topology_id, "kill", set(Status) - {Status.KILLED}):
            return
        wait_ns = ns(self.topologies[topology_id].message_timeout_s if wait_s is None else wait_s)
        control.log.note(ACTOR, "kill", topology_id, reason, wait_s=wait_ns / 1e9)
        self._set_status(topology_id, Status.KILLED)
        self._delays.after(topology_id, wait_ns, lambda: self._remove(topology_id))

    def _remove(self, topology_id: str) -> None:
        control = self._control
        del self.topologies[topology_id], self.status[topology_id]
        self._current.pop(topology_id, None)
        self._pending_placements.pop(topology_id, None)
        control.log.note(ACTOR, "remove", topology_id, "it was killed and its wait is over")
        forget = partial(control.zookeeper.assignments.pop, topology_id, None)
        control.zookeeper.write(ACTOR, Record.ASSIGNMENT, topology_id, forget)

    def _refuses(self, topology_id: str, command: str, fits: set[Status]) -> bool:
        """Return whether a command cannot be carried out now; if so, log the reason."""
        status = self.status.get(topology_id)
        if self.up and status in fits:
            return False
        why = "it no longer exists" if status is None else f"it is {status.value}"
        why = why if self.up else "Nimbus is down"
        self._control.log.note(ACTOR, f"refuse-{command}", topology_id, why)
        return True

    def install(self, assignment: Assignment, reason: str) -> bool:
        """Put a given schedule into effect; return False if Nimbus is down or nothing differs.

        Killed topologies are left out. Each worker count becomes the number of slots used, so that later
        rounds find nothing to change. Raises `InvalidAssignmentError` if the schedule does not place the
        topologies that it names completely, or places them in slots of others.
        """
        if not self.up or not self._control.zookeeper.up:
            return False
        dead = {e.topology for e in assignment.slots if self.status.get(e.topology) in (None, Status.KILLED)}
        if dead:
            assignment = Assignment.of((e, s) for e, s in assignment.slots.items() if e.topology not in dead)
        named = dict.fromkeys(executor.topology for executor in assignment.slots)
        wanted = [e for name in named for e in executors_of(self.topologies[name], self._control.version)]
        check_assignment(assignment, self._control.cluster, wanted)
        if why := occupied(self._current, named, assignment.slots):
            raise InvalidAssignmentError(why)
        changed = False
        for topology_id in named:
            part = assignment.of_topology(topology_id)
            if self._differs(topology_id, part.slots):
                changed = True
                self._control.migration.publish(topology_id, part.slots, reason)
        return changed

    def write(self, topology_id: str, slots: Mapping[Executor, Slot], origin: Origin, reason: str) -> None:
        """Write a topology's assignment to ZooKeeper; executors that keep their slot keep the start time."""
        control = self._control
        self._pending_placements.pop(topology_id, None)
        if origin is Origin.INSTALLED:
            self._adopt_worker_count(topology_id, Assignment(slots))
        old = self._current.get(topology_id)
        kept = {} if old is None else {e: old.start_ns[e] for e, s in old.slots.items() if slots.get(e) == s}
        starts = {**dict.fromkeys(slots, control.clock.now_ns), **kept}
        self._last_id += 1
        stored = StoredAssignment(self._last_id, topology_id, slots, starts, origin)
        self._current[topology_id] = stored
        workers = {str(slot): len(members) for slot, members in stored.workers.items()}
        facts: dict[str, Fact] = {"id": stored.id, "origin": origin.value, "moved": len(slots) - len(kept)}
        control.log.note(ACTOR, "assign", topology_id, reason, workers=workers, **facts)
        record = partial(control.zookeeper.assignments.update, {topology_id: stored})
        control.zookeeper.write(ACTOR, Record.ASSIGNMENT, topology_id, record)

    def _differs(self, topology_id: str, slots: Mapping[Executor, Slot]) -> bool:
        current = self._current.get(topology_id)
        return current is None or dict(current.slots) != dict(slots)

    def _adopt_worker_count(self, topology_id: str, placement: Assignment) -> None:
        used = len(set(placement.slots.values()))
        self.topologies[topology_id] = replace(self.topologies[topology_id], workers=used)

    def _set_status(self, topology_id: str, status: Status) -> None:
        self.status[topology_id] = status
        zookeeper = self._control.zookeeper
        record = partial(zookeeper.active.update, {topology_id: status is Status.ACTIVE})
        zookeeper.write(ACTOR, Record.STATUS, topology_id, record)

    def _schedule(self, reason: str, from_scratch: str | None = None) -> None:
        """Run the scheduler over all topologies; ``from_scratch`` is placed as if it had no workers."""
        now = self._control.clock.now_ns
        cluster = self.live_cluster
        if not cluster.nodes:
            self._control.log.note(ACTOR, "skip-round", "cluster", "no supervisor is alive")
            return
        if from_scratch is not None:
            self._pending_placements.pop(from_scratch, None)
        self._write_pending_placements()
        present: dict[Executor, Slot] = {}
        dead_slots: set[Slot] = set()
        dead = 0
        for topology_id, stored in self._current.items():
            dead_here = set(self._liveness.dead(stored, now))
            dead += len(dead_here)
            dead_slots.update(stored.slots[executor] for executor in dead_here)
            if topology_id != from_scratch:
                present.update((e, s) for e, s in stored.slots.items() if e not in dead_here)
        view = SchedulingView(
            topologies=tuple(self.topologies.values()),
            cluster=cluster,
            version=self._control.version,
            present=Assignment(present),
            load=self.load(),
            dead_slots=frozenset(dead_slots),
            seed=self._control.seed,
        )
        result = self._ask(view, f"{reason} at {now / 1e9:g} s")
        if not dead and from_scratch is None and dict(result.assignment.slots) == present:
            return
        if dead:
            reason = f"{dead} executors send no heartbeats"
        for topology_id in self.topologies:
            slots = result.assignment.of_topology(topology_id).slots
            if slots and self._differs(topology_id, slots):
                origin = Origin.REBALANCED if topology_id == from_scratch else Origin.SCHEDULED
                self.write(topology_id, slots, origin, reason)

    def _ask(self, view: SchedulingView, case: str) -> SchedulingResult:
        """Return the scheduler's answer, or the last one if the view is the same, as in most rounds."""
        if self._last_answer is not None:
            asked, seen, result = self._last_answer
            if asked is self.scheduler and seen == view:
                return result
        result = ask(self.scheduler, view, case=case)
        self._last_answer = (self.scheduler, view, result)
        return result

    def _on_heartbeat(self, topology_id: str) -> None:
        stored = self._control.zookeeper.assignments.get(topology_id)
        if not self.up or stored is None or self._announced.get(topology_id) == stored.id:
            return
        if self.status.get(topology_id) in (None, Status.KILLED):
            return
        if all_reported(self._control.zookeeper, stored):
            self._announced[topology_id] = stored.id
            self._control.log.note(ACTOR, "running", topology_id, "all executors have reported", id=stored.id)
            for callback in self._running_callbacks:
                callback(topology_id)

    def stop(self) -> None:
        """Take Nimbus down."""
        self.up = False
        self._delays.stop()

    def start(self) -> None:
        """Bring Nimbus back; it has forgotten all heartbeats, and delayed commands wait from scratch."""
        self.up = True
        self._liveness = Liveness(self._control.zookeeper, self._control.timers)
        self._delays.start()
