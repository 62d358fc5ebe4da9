"""Starting JVMs: those on one node share its cores with each other and with the workers that run there.

On real Storm 0.9.2 and 2.8.3 (data/live), CPU determines when a worker JVM is ready. On one machine a single
JVM on 0.88 of a core takes 1.2 s of CPU and is up after 1.4 s; of twelve that start on two cores, each takes
1.7 s of CPU and is up after 10 to 15 s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from storm_lab.emulator.control.clock import Event, Rank, SteppedPlane, VirtualClock
from storm_lab.model import Node

THREADS = 2
"""Threads of a starting JVM that want CPU: the main thread and a compiler, which take half of it each."""
CORES_PER_START = 1.06
"""Cores that both use on average where cores are free: the median of 23 starts of real 0.9.2 and 2.8.3."""
_SHORTEST_POLL_NS = 10_000_000
"""Shortest interval at which a start's CPU is polled, and so the most by which a JVM can be ready late."""


class _Start(NamedTuple):
    """Conditions for a JVM to be ready: a time, and the CPU that one of its threads must have had."""

    not_before_ns: int
    needed_cpu_ns: int
    ready: Callable[[], None]


class JvmStarts:
    """The JVMs that are starting on a node, where the threads of ``plane`` compete for the cores.

    A start takes at least ``least_ns``, and ``cpu_ns`` of CPU; with 0, it neither uses CPU nor is slowed down
    by other load.
    """

    def __init__(
        self, clock: VirtualClock, plane: SteppedPlane, node: Node, least_ns: int, cpu_ns: int
    ) -> None:
        self._clock = clock
        self._plane = plane
        self._node = node
        self._shortest_ns = max(least_ns, round(cpu_ns / CORES_PER_START))
        self._cpu_each_ns = cpu_ns // THREADS
        self._starting: dict[int, _Start] = {}
        self._next: Event | None = None

    def begin(self, number: int, ready: Callable[[], None]) -> None:
        """Start a JVM; call ``ready`` when it is up."""
        self._starting[number] = _Start(
            self._clock.now_ns + self._shortest_ns, self._cpu_so_far_ns + self._cpu_each_ns, ready
        )
        self._schedule_poll()

    def end(self, number: int) -> None:
        """End a JVM that is starting; other numbers are ignored."""
        if self._starting.pop(number, None) is not None:
            self._schedule_poll()

    @property
    def _cpu_so_far_ns(self) -> int:
        """CPU that each thread of a starting JVM has had, up to a constant."""
        return self._plane.now().cpu_time_ns(self._node) if self._cpu_each_ns > 0 else 0

    def _schedule_poll(self) -> None:
        """Report how many threads want CPU, and poll again when the next JVM may be ready."""
        now_ns, cpu_so_far_ns = self._clock.now_ns, self._cpu_so_far_ns
        starting = self._starting.values()
        if self._cpu_each_ns > 0:
            wanting = sum(start.needed_cpu_ns > cpu_so_far_ns for start in starting)
            self._plane.now().set_starting(self._node, THREADS * wanting)
        if self._next is not None:
            self._next.cancel()
            self._next = None
        if starting:
            wait_ns = min(
                max(start.needed_cpu_ns - cpu_so_far_ns, _SHORTEST_POLL_NS)
                if start.needed_cpu_ns > cpu_so_far_ns
                else max(start.not_before_ns - now_ns, 0)
                for start in starting
            )
            self._next = self._clock.after(wait_ns, Rank.PROCESS, f"jvm:{self._node.id}", self._poll)

    def _poll(self) -> None:
        self._next = None
        now_ns, cpu_so_far_ns = self._clock.now_ns, self._cpu_so_far_ns
        up = [
            number
            for number, start in self._starting.items()
            if start.not_before_ns <= now_ns and start.needed_cpu_ns <= cpu_so_far_ns
        ]
        calls = [self._starting.pop(number).ready for number in up]
        self._schedule_poll()
        for ready in calls:
            ready()
