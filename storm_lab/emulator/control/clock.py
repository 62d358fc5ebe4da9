"""The virtual clock: runs the events of the control plane in a fixed order.

Times are integer nanoseconds since the start of the run. Events are totally ordered:

1. by time;
2. at equal times by :class:`Rank`: changes of the world come first, mere observers last;
3. at equal time and rank by the actor's name, as text;
4. for one actor, in the order in which the events were scheduled.

So no outcome depends on the order in which independent actors were set up. The data plane is run up to and
including an instant before any control event of that instant.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from storm_lab.emulator.plane import Plane

SECOND = 1_000_000_000

Action = Callable[[], None]


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * SECOND)


class Rank(IntEnum):
    """Order of events at equal times."""

    FAULT = 0
    """Actions of the fault plan."""
    PROCESS = 1
    """A process or thread becomes ready, or ends."""
    COORDINATION = 2
    """A ZooKeeper write is committed, and its watches fire."""
    SUPERVISOR = 3
    """Supervisors' ticks."""
    WORKER = 4
    """Workers' refreshes, polls and heartbeats."""
    NIMBUS = 5
    """Scheduling rounds and commands."""
    MONITOR = 6
    """Load monitors, schedule generator, custom scheduler, tuners."""


@dataclass(eq=False, slots=True)
class Event:
    """A scheduled action, which :meth:`cancel` takes back."""

    time_ns: int
    action: Action
    cancelled: bool = False

    def cancel(self) -> None:
        """Keep the action from running."""
        self.cancelled = True


class VirtualClock:
    """Schedules the events of the control plane and runs them in the documented order."""

    def __init__(self) -> None:
        self.now_ns = 0
        # Plain tuples in the documented order, because the heap compares them often. Sequence numbers are
        # unique.
        self._heap: list[tuple[int, int, str, int, Event]] = []
        self._sequence = 0

    def at(self, time_ns: int, rank: Rank, actor: str, action: Action) -> Event:
        """Schedule ``action``; `ValueError` if the time has passed."""
        if time_ns < self.now_ns:
            raise ValueError(
                f"{actor} schedules an event at {time_ns} ns, but it is {self.now_ns} ns already"
            )
        event = Event(time_ns, action)
        self._put(event, rank, actor)
        return event

    def _put(self, event: Event, rank: Rank, actor: str) -> None:
        heapq.heappush(self._heap, (event.time_ns, rank, actor, self._sequence, event))
        self._sequence += 1

    def after(self, delay_ns: int, rank: Rank, actor: str, action: Action) -> Event:
        """Schedule ``action`` after a delay of zero or more nanoseconds."""
        return self.at(self.now_ns + delay_ns, rank, actor, action)

    def every(
        self,
        period_ns: int,
        rank: Rank,
        actor: str,
        action: Callable[[], int | None],
        *,
        first_ns: int | None = None,
        drifts: bool = False,
    ) -> Event:
        """Repeat ``action`` until the event is cancelled; by default the first turn is one period from now.

        With ``drifts`` a timer is set again only when the work of a turn is done, as those of Storm's daemons
        are (``schedule-recurring`` of ``timer.clj``, 0.8 to 1.x; ``StormTimer.scheduleRecurring``, 2.x), and
        ``action`` returns for how many nanoseconds it occupies the timer's thread. `ValueError` for a period
        that is not positive.
        """
        if period_ns <= 0:
            raise ValueError(f"the period of {actor} is {period_ns} ns: it must be positive")

        def drifting_turn() -> None:
            work_ns = action() or 0
            if not event.cancelled:
                event.time_ns += period_ns + work_ns
                self._put(event, rank, actor)

        def turn() -> None:
            # Schedule the next turn before the action, which may cancel it.
            event.time_ns += period_ns
            self._put(event, rank, actor)
            action()

        first_ns = self.now_ns + period_ns if first_ns is None else first_ns
        event = self.at(first_ns, rank, actor, drifting_turn if drifts else turn)
        return event

    def run_until(self, end_ns: int) -> None:
        """Run every event up to and including ``end_ns``, then set the clock to ``end_ns``."""
        heap = self._heap
        while heap and heap[0][0] <= end_ns:
            event = heapq.heappop(heap)[4]
            if event.cancelled:
                continue
            self.now_ns = event.time_ns
            event.action()
        self.now_ns = max(self.now_ns, end_ns)


def next_wake_ns(now_ns: int, turns: Event, period_ns: int, sleep_s: float | None) -> int:
    """Return when a Storm timer wakes next: only then it notices events that were added while it slept.

    It sleeps until the next of its recurring ``turns``. With a ``sleep_s`` it sleeps for no longer than that
    at a time (``timer.clj`` from 0.10 on, ``StormTimer``).
    """
    if sleep_s is None:
        return turns.time_ns
    asleep_ns = now_ns - (turns.time_ns - period_ns)
    return min(turns.time_ns, now_ns + -asleep_ns % ns(sleep_s))


class SteppedPlane:
    """Access to a data plane that brings it up to the control clock first; other instants cost it nothing."""

    def __init__(self, plane: Plane, clock: VirtualClock) -> None:
        self._plane = plane
        self._clock = clock

    def now(self) -> Plane:
        """Return the data plane, run up to and including the present instant."""
        self._plane.run_until(self._clock.now_ns)
        return self._plane
