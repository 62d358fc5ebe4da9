"""The virtual clock: what happens next, and in which order things happen at the same instant.

Times are integer nanoseconds since the start of the run. The order of events is total and is this:

1. by time;
2. at equal times by :class:`Rank`: what the world does to the cluster comes first, what merely looks at it
   last;
3. at equal time and rank by the actor's name, as text;
4. for one actor, in the order in which the events were scheduled.

So no outcome depends on the order in which independent actors were set up. Tuples that move at an instant
have moved before any event of that instant: the data plane is run up to and including a time before control
acts at it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import IntEnum

from storm_lab.emulator.plane import Plane

SECOND = 1_000_000_000

Action = Callable[[], None]


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * SECOND)


class Rank(IntEnum):
    """Who goes first at equal times."""

    FAULT = 0
    """What the fault plan does to the world."""
    PROCESS = 1
    """A process or thread is ready, or ends."""
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


class Event:
    """A scheduled action; :meth:`cancel` takes it back."""

    __slots__ = ("action", "cancelled", "time_ns")

    def __init__(self, time_ns: int, action: Action) -> None:
        self.time_ns = time_ns
        self.action = action
        self.cancelled = False

    def cancel(self) -> None:
        """The action will not run."""
        self.cancelled = True


class VirtualClock:
    """Events of the control plane, in the documented order."""

    def __init__(self) -> None:
        self.now_ns = 0
        # Plain tuples, in the documented order: the heap compares them often. No two have one sequence.
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

        The next turn follows a fixed period after this one. The timers of Storm's daemons drift instead, by
        their own work, against every other one: they are armed anew when it is done (``schedule-recurring``
        of ``timer.clj``, 0.8 to 1.x; ``StormTimer.scheduleRecurring``, 2.x). With ``drifts`` the ``action``
        returns how many nanoseconds its work keeps the timer's thread. `ValueError` for a period that is not
        positive.
        """
        if period_ns <= 0:
            raise ValueError(f"the period of {actor} is {period_ns} ns: it must be positive")

        def drifting_turn() -> None:
            work_ns = action() or 0
            if not event.cancelled:
                event.time_ns += period_ns + work_ns
                self._put(event, rank, actor)

        def turn() -> None:
            # The next turn is set before the action, which may cancel it.
            event.time_ns += period_ns
            self._put(event, rank, actor)
            action()

        first_ns = self.now_ns + period_ns if first_ns is None else first_ns
        event = self.at(first_ns, rank, actor, drifting_turn if drifts else turn)
        return event

    def run_until(self, end_ns: int) -> None:
        """Run every event up to and including ``end_ns``, then stand at ``end_ns``."""
        heap = self._heap
        while heap and heap[0][0] <= end_ns:
            event = heapq.heappop(heap)[4]
            if event.cancelled:
                continue
            self.now_ns = event.time_ns
            event.action()
        self.now_ns = max(self.now_ns, end_ns)


class SteppedPlane:
    """A data plane that is brought up to the control clock before it is asked anything.

    So tuples and control events alternate in virtual time; an instant at which control asks nothing costs the
    data plane nothing.
    """

    def __init__(self, plane: Plane, clock: VirtualClock) -> None:
        self._plane = plane
        self._clock = clock

    def now(self) -> Plane:
        """The data plane, run up to and including the present instant."""
        self._plane.run_until(self._clock.now_ns)
        return self._plane
