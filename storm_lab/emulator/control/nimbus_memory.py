"""Nimbus's memory: which executors and nodes are alive, and which commands are delayed.

An executor counts as alive for ``task_launch_s`` after its assignment to its slot, and then as long as its
heartbeat keeps changing (Storm 0.8 to 2.x). Nimbus measures a heartbeat's age with its own clock, from the
round in which it saw the reported time change, so it notices a death 30 to 40 s after the last heartbeat. A
heartbeat that Nimbus checks for the first time counts as fresh.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from storm_lab.emulator.control.clock import Event, Rank, VirtualClock, next_wake_ns, ns
from storm_lab.emulator.control.times import Timers
from storm_lab.emulator.control.zookeeper import StoredAssignment, ZooKeeper
from storm_lab.model import Executor, Slot


class Liveness:
    """Nimbus's memory of heartbeats."""

    def __init__(self, zookeeper: ZooKeeper, timers: Timers) -> None:
        self._zookeeper = zookeeper
        self._timers = timers
        # The last reported time, and when Nimbus first saw it.
        self._seen: dict[Executor, tuple[int | None, int]] = {}

    def nodes(self, now_ns: int) -> frozenset[str]:
        """Return the nodes whose supervisor has a session: it pings ZooKeeper, or did so recently."""
        oldest = now_ns - ns(self._timers.supervisor_timeout_s)
        silent = self._zookeeper.silent_since
        return frozenset(node for node, since in silent.items() if since is None or since > oldest)

    def dead(self, assignment: StoredAssignment, now_ns: int) -> list[Executor]:
        """Return the assigned executors that count as dead in this round; note which heartbeats changed."""
        timers, seen, start_ns = self._timers, self._seen, assignment.start_ns
        launched_before = now_ns - ns(timers.task_launch_s)
        oldest = now_ns - ns(timers.task_timeout_s)
        dead: list[Executor] = []
        for slot, executors in assignment.workers.items():
            beats = self._zookeeper.task_beats.get(slot, {})
            for executor in executors:
                reported = beats.get(executor)
                last = seen.get(executor)
                if last is None or last[0] != reported:
                    last = seen[executor] = (reported, now_ns)
                start = start_ns[executor]
                newest = max(reported or 0, start) if timers.heartbeat_by_sender else last[1]
                if start <= launched_before and newest <= oldest:
                    dead.append(executor)
        return dead


def all_reported(zookeeper: ZooKeeper, assignment: StoredAssignment) -> bool:
    """Return whether every executor has given a heartbeat from its slot since its assignment to it."""
    beats = zookeeper.task_beats
    for slot, executors in assignment.workers.items():
        from_slot = beats.get(slot, {})
        if any(from_slot.get(executor, -1) < assignment.start_ns[executor] for executor in executors):
            return False
    return True


def occupied(
    current: Mapping[str, StoredAssignment], named: Collection[str], slots: Mapping[Executor, Slot]
) -> str:
    """Say which of the slots belongs to a topology that is not ``named``; empty if none does."""
    held = {
        slot: topology_id
        for topology_id, stored in current.items()
        if topology_id not in named
        for slot in stored.slots.values()
    }
    clash = min(held.keys() & set(slots.values()), default=None)
    return "" if clash is None else f"slot {clash} belongs to topology {held[clash]!r}"


@dataclass(frozen=True, slots=True)
class _Delay:
    wait_ns: int
    then: Callable[[], None]
    event: Event


class Delays:
    """Delayed actions, at most one per topology; Storm resumes them with their full delay.

    The timer that also runs the rounds sleeps until the first event in its queue, for at most
    ``timer_sleep_s``. An event that is added meanwhile and is due earlier comes late.
    """

    def __init__(self, clock: VirtualClock, timers: Timers, rounds: Event, actor: str) -> None:
        self._clock = clock
        self._timers = timers
        self._rounds = rounds
        self._actor = actor
        self._waiting: dict[str, _Delay] = {}

    def after(self, topology_id: str, wait_ns: int, then: Callable[[], None]) -> None:
        """Run ``then`` when the timer wakes after a wait; it replaces the topology's waiting action."""
        if (waiting := self._waiting.pop(topology_id, None)) is not None:
            waiting.event.cancel()

        def due() -> None:
            del self._waiting[topology_id]
            then()

        due_ns = max(self._clock.now_ns + wait_ns, self._awake_ns())
        event = self._clock.at(due_ns, Rank.NIMBUS, self._actor, due)
        self._waiting[topology_id] = _Delay(wait_ns, then, event)

    def _awake_ns(self) -> int:
        """Return when the timer wakes next."""
        round_ns = ns(self._timers.nimbus_round_s)
        wake_ns = next_wake_ns(self._clock.now_ns, self._rounds, round_ns, self._timers.timer_sleep_s)
        return min([wake_ns, *(waiting.event.time_ns for waiting in self._waiting.values())])

    def stop(self) -> None:
        """Suspend all waits until `start`, as Nimbus is down."""
        for waiting in self._waiting.values():
            waiting.event.cancel()

    def start(self) -> None:
        """Start every wait from scratch, as Nimbus is back."""
        for topology_id, waiting in list(self._waiting.items()):
            self.after(topology_id, waiting.wait_ns, waiting.then)
