"""Connections between workers: which executors each worker can reach, and when its spouts may emit.

Each worker keeps a table of the executors' slots as of its last refresh, and a connection to each slot in it.
`storm_lab.emulator.attempts` says when it tries again to reach a slot where no worker listens, and
`storm_lab.emulator.unreached` what becomes of messages without a connection. Peers notice the end of a
process at once, as a broken connection, unless its node has failed with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from storm_lab.emulator.attempts import Attempts
from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.times import ExecutorsBegin
from storm_lab.emulator.control.worker import WorkerProcess
from storm_lab.emulator.control.zookeeper import StoredAssignment
from storm_lab.emulator.unreached import Unreached, unreached_of
from storm_lab.model import Executor, Slot
from storm_lab.model.version import V0_9_0

if TYPE_CHECKING:
    # Circular import: the control plane imports this module.
    from storm_lab.emulator.control.control_plane import ControlPlane

_LOOK_NS = 1_000_000_000
"""How often a worker that has begun nothing yet looks at its connections (0.9.4 on)."""
_MESSAGE_CHECK_NS = 100_000_000
"""How often a client that has given up is checked for a message."""


class Connections:
    """The connections of all running workers."""

    def __init__(self, control: ControlPlane) -> None:
        self._control = control
        self._clock = control.clock
        self._begin = ExecutorsBegin(control.timers.executors_begin)
        self._refresh_hold_ns = ns(control.times.refresh_hold_s)
        self._running: defaultdict[str, list[WorkerProcess]] = defaultdict(list)
        self._listening: defaultdict[Slot, list[WorkerProcess]] = defaultdict(list)
        self._changed: dict[int, WorkerProcess] = {}
        waits = control.unreached is not Unreached.DROP
        self._ends_worker = waits and control.unreached is unreached_of(control.version)

    def running(self, topology_id: str) -> tuple[WorkerProcess, ...]:
        """Return the topology's running workers, in order of readiness."""
        return tuple(self._running[topology_id])

    def add(self, process: WorkerProcess) -> None:
        """Add a process that now listens; peers that want its slot reach it at their next attempt."""
        self._running[process.topology].append(process)
        self._listening[process.slot].append(process)
        process.connections_ready = self._begin is ExecutorsBegin.AT_START
        if self._begin.waits:
            first_ns = _LOOK_NS if self._begin is ExecutorsBegin.CONNECTED_AT_REFRESH else 0
            self._clock.after(first_ns, Rank.WORKER, process.actor, partial(self._look, process))
        self.retry_peers(process)

    def retry_peers(self, process: WorkerProcess) -> None:
        """Schedule the next attempts of all peers to which a process did not answer before."""
        for peer in self._running[process.topology]:
            if peer is not process and self._wants(peer, process.slot):
                self._schedule_retry(peer, process.slot)

    def _schedule_retry(self, process: WorkerProcess, slot: Slot) -> None:
        """Schedule a process's next attempt to reach a slot, unless it has given up."""
        attempts = process.attempts.get(slot)
        due_ns = attempts.due_ns(self._clock.now_ns) if attempts else self._clock.now_ns
        if due_ns is not None:
            again = partial(self._retry, process, slot)
            self._clock.at(due_ns, Rank.WORKER, process.actor, again)

    def remove(self, process: WorkerProcess, *, node_failed: bool) -> None:
        """Remove a process that has ended; its peers' connections break.

        A node that has failed can no longer say so. Its peers keep their connections and send into them,
        until a refresh drops them or the node is back.
        """
        self._running[process.topology].remove(process)
        self._listening[process.slot].remove(process)
        if not node_failed:
            self._break_links(process.topology, lambda link: link is process)

    def node_is_back(self, node: str) -> None:
        """Break the connections to what ran on a node that had failed: now it refuses what peers send."""
        for topology_id in self._running:
            self._break_links(topology_id, lambda link: not link.running and link.slot.node == node)

    def _break_links(self, topology_id: str, broken: Callable[[WorkerProcess], bool]) -> None:
        for peer in self._running[topology_id]:
            for slot in [slot for slot, link in peer.links.items() if broken(link)]:
                del peer.links[slot]
                self._retry(peer, slot)

    def refresh(self, process: WorkerProcess, assignment: StoredAssignment) -> None:
        """Adopt a table of executors' slots: drop connections no longer needed, and connect to the rest.

        The worker's transfer thread waits meanwhile, by whatever method and even if nothing has changed.
        """
        self._control.plane.now().hold_sending(process.id, self._refresh_hold_ns)
        if process.assignment is assignment and not process.attempts:
            self.update_spouts(process)
            return
        process.assignment = assignment
        wanted = assignment.workers
        by_slot: tuple[dict[Slot, Any], ...] = (process.links, process.attempts, process.attempts_before)
        for known in by_slot:
            for slot in known.keys() - wanted.keys():
                del known[slot]
        for slot in wanted:
            if slot not in process.attempts:
                self._connect(process, slot)
            elif self._listening[slot]:
                self._schedule_retry(process, slot)
        self._schedule_update(process)

    def executors_changed(self, process: WorkerProcess) -> None:
        """Update the peers' views after executor threads of a process have started or stopped."""
        for peer in self._running[process.topology]:
            if peer is process or peer.links.get(process.slot) is process:
                self._schedule_update(peer)

    def _retry(self, process: WorkerProcess, slot: Slot) -> None:
        if process.running and self._wants(process, slot):
            self._connect(process, slot)
            self._schedule_update(process)

    def _wants(self, process: WorkerProcess, slot: Slot) -> bool:
        return process.assignment is not None and slot in process.assignment.workers

    def _connect(self, process: WorkerProcess, slot: Slot) -> None:
        if slot == process.slot:
            process.links[slot] = process
            return
        listening = [peer for peer in self._listening[slot] if peer.topology == process.topology]
        receiver = self._control.migration.receiver(process, listening) if listening else None
        if receiver is not None:
            process.links[slot] = receiver
            attempts = process.attempts.pop(slot, None)
            if attempts is not None:
                process.attempts_before[slot] = attempts.made
            else:
                process.attempts_before.setdefault(slot, 1)
            return
        if slot in process.links and not process.links[slot].running:
            # Its node has failed, which nobody has noticed.
            return
        process.links.pop(slot, None)
        if slot not in process.attempts:
            attempts = process.attempts[slot] = self._new_attempts(process, slot)
            if self._ends_worker and (give_up_ns := attempts.give_up_ns()) is not None:
                give_up = partial(self._give_up, process, slot, attempts)
                self._clock.at(give_up_ns, Rank.PROCESS, process.actor, give_up)

    def _new_attempts(self, process: WorkerProcess, slot: Slot) -> Attempts:
        control, now_ns = self._control, self._clock.now_ns
        seed = f"{control.seed}/connect/{process.number}"
        if control.version >= V0_9_0:
            # In 0.8 all connections of a process wait equally long.
            seed = f"{seed}/{slot}/{now_ns}"
        return Attempts(control.back_off, now_ns, seed, process.attempts_before.get(slot, 0))

    def _give_up(self, process: WorkerProcess, slot: Slot, attempts: Attempts) -> None:
        """After the last attempt, end the worker at its first message for the slot (0.9.0 to 0.9.3)."""
        if not process.running or process.attempts.get(slot) is not attempts:
            return
        if not attempts.given_up:
            attempts.given_up = True
            self._schedule_update(process)
        if self._control.plane.now().has_parked(process.id):
            self._control.fleet.crash(process, "netty", "gave up connecting: Async loop died")
        else:
            again = partial(self._give_up, process, slot, attempts)
            self._clock.after(_MESSAGE_CHECK_NS, Rank.PROCESS, process.actor, again)

    def _schedule_update(self, process: WorkerProcess) -> None:
        """Update the data plane on what the process reaches, at the end of this instant."""
        if not self._changed:
            # Tuples do not move within an instant, so one update after all changes is enough.
            self._clock.at(self._clock.now_ns, Rank.WORKER, "~connections", self._update)
        self._changed[process.number] = process

    def _update(self) -> None:
        changed, self._changed = self._changed, {}
        views: dict[tuple[int, tuple[WorkerProcess | None, ...]], dict[Executor, int]] = {}
        for _, process in sorted(changed.items()):
            if not process.running or process.assignment is None:
                continue
            reached = tuple(process.links.get(slot) for slot in process.assignment.workers)
            key = (process.assignment.id, reached)
            if key not in views:
                views[key] = self._reachable(process.assignment, reached)
            view = self._with_own_executors(process, views[key])
            connecting = bool(process.attempts)
            if view != process.view or connecting != process.connecting:
                process.view, process.connecting = view, connecting
                buffered = self._control.plane.now().connect(process.id, view, connecting=connecting)
                self._note_dropped(process)
                if buffered:
                    why = "their receivers can be reached again"
                    self._note(process, "send-buffered", why, tuples=buffered)
        for topology_id in sorted({process.topology for process in changed.values()}):
            for process in self._running[topology_id]:
                if self._begin is ExecutorsBegin.SPOUTS_CONNECTED and not any(
                    self._still_connects(end) for end in (process, *process.links.values())
                ):
                    process.connections_ready = True
                self.update_spouts(process)

    @staticmethod
    def _still_connects(process: WorkerProcess) -> bool:
        return process.assignment is None or not all(each.given_up for each in process.attempts.values())

    def _look(self, process: WorkerProcess) -> None:
        """Let a worker begin if it has connected to all of its peers, and else look again later."""
        if not process.running:
            return
        if process.assignment is not None and not process.attempts:
            process.connections_ready = True
            self._control.fleet.read_status(process)
        else:
            at_refresh = self._begin is ExecutorsBegin.CONNECTED_AT_REFRESH
            again_ns = ns(self._control.timers.refresh_s) if at_refresh else _LOOK_NS
            self._clock.after(again_ns, Rank.WORKER, process.actor, partial(self._look, process))

    @staticmethod
    def _reachable(
        assignment: StoredAssignment, reached: tuple[WorkerProcess | None, ...]
    ) -> dict[Executor, int]:
        """Map executors to workers, for executors that really run in the worker reached at their slot."""
        view: dict[Executor, int] = {}
        for executors, receiver in zip(assignment.workers.values(), reached, strict=True):
            if receiver is not None:
                same = receiver.executors == executors
                there = executors if same else [e for e in executors if e in receiver.executors]
                view.update(dict.fromkeys(there, receiver.id))
        return view

    def _with_own_executors(self, process: WorkerProcess, view: dict[Executor, int]) -> dict[Executor, int]:
        """Return the view with the process's own executors kept, whatever the assignment now says.

        Transfer between threads of a worker uses no table: ``local-tasks`` of ``worker.clj``'s mk-transfer-fn
        (0.8 to 1.x) and the local queues of ``ExecutorTransfer`` (2.x) are those of the worker's start.
        """
        own = process.executors
        if self._control.migration.moves_threads or all(view.get(executor) == process.id for executor in own):
            return view
        return {**view, **dict.fromkeys(own, process.id)}

    def newly_dropped(self, process: WorkerProcess) -> int:
        """Return how many tuples for unreachable receivers the process has dropped since the last call."""
        before, process.dropped = process.dropped, self._control.plane.now().dropped(process.id)
        return process.dropped - before

    def _note_dropped(self, process: WorkerProcess) -> None:
        if dropped := self.newly_dropped(process):
            why = "their receivers could not be reached"
            self._note(process, "send-dropped", why, lost_unreached=dropped)

    def _note(self, process: WorkerProcess, action: str, reason: str, **facts: int) -> None:
        self._control.log.note(process.actor, action, str(process.slot), reason, **facts)

    def finish(self) -> None:
        """At the end of the run, log the tuples dropped since the last change."""
        for workers in self._running.values():
            for process in workers:
                self._note_dropped(process)

    def update_spouts(self, process: WorkerProcess) -> None:
        """Switch the process's spouts on or off as its topology, its connections and its age require."""
        if not process.running:
            return
        now = self._clock.now_ns
        may_begin = process.topology_active and (process.connections_ready or not self._begin.waits)
        if may_begin and not process.prepared:
            process.prepared = True
            self._control.plane.now().prepare(process.id)
        active = process.topology_active and process.connections_ready
        spouts_on = active and now >= process.idle_until_ns
        if spouts_on != process.spouts_on:
            process.spouts_on = spouts_on
            self._control.plane.now().activate(process.id, spouts_on)
