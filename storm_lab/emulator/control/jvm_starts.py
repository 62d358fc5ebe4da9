"""JVMs that start on one node share its cores: the more start at once, the longer each takes.

On real Storm 0.9.2 and 2.8.3 (the first machine of data/live; two cores of 2.5 GHz) 60 worker JVMs used 5 to
9 s of CPU until they were ready, however long that took: 3.6 to 5.5 s where a JVM started alone, 11 to 16 s
where three did, 26 to 34 s where six did.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush

from storm_lab.emulator.control.clock import Event, Rank, VirtualClock


class JvmStarts:
    """The JVMs that start on a node, with equal shares of its cores.

    Args:
        clock: of the run.
        actor: in whose name JVMs get ready.
        alone_ns: how long one takes that has all the cores it can use.
        cores_each: how many those are; 0 = it takes no longer, whatever else starts.
        cores: of the node, or what its quota leaves of them.
    """

    def __init__(
        self, clock: VirtualClock, actor: str, alone_ns: int, cores_each: float, cores: float
    ) -> None:
        self._clock = clock
        self._actor = actor
        self._alone_ns = alone_ns
        self._cores_each = cores_each
        self._cores = cores
        # How far a JVM has come that has been here from the first: all get on at the same speed.
        self._progress_ns = 0
        self._as_of_ns = 0
        self._starting: dict[int, int] = {}
        self._order: list[tuple[int, int, Callable[[], None]]] = []
        self._next: Event | None = None

    def begin(self, number: int, ready: Callable[[], None]) -> None:
        """Start a JVM; ``ready`` is called when it is up."""
        self._get_on()
        self._starting[number] = self._progress_ns + self._alone_ns
        heappush(self._order, (self._starting[number], number, ready))
        self._plan()

    def end(self, number: int) -> None:
        """A JVM that starts is killed; one that does not is passed over."""
        if number in self._starting:
            self._get_on()
            del self._starting[number]
            self._plan()

    @property
    def _slowness(self) -> float:
        """Seconds that take the place of one of a JVM alone."""
        return max(1.0, len(self._starting) * self._cores_each / self._cores)

    def _get_on(self) -> None:
        elapsed = self._clock.now_ns - self._as_of_ns
        self._as_of_ns = self._clock.now_ns
        self._progress_ns += round(elapsed / self._slowness)

    def _plan(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
        while self._order and self._order[0][1] not in self._starting:
            heappop(self._order)
        if self._order:
            done = self._order[0][0]
            left_ns = max(0, round((done - self._progress_ns) * self._slowness))
            self._next = self._clock.after(left_ns, Rank.PROCESS, self._actor, partial(self._done, done))

    def _done(self, progress_ns: int) -> None:
        self._next = None
        self._as_of_ns, self._progress_ns = self._clock.now_ns, progress_ns
        up = []
        while self._order and self._order[0][0] <= progress_ns:
            _, number, ready = heappop(self._order)
            if self._starting.pop(number, None) is not None:
                up.append(ready)
        self._plan()
        for ready in up:
            ready()
