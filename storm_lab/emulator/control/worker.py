"""Worker processes: how their JVMs start, their state, and what they know of each other.

JVMs that start on one node share its cores with each other and with the workers that run there. On real Storm
0.9.2 and 2.8.3 (data/live), CPU determines when a worker JVM is ready. On one machine a single JVM on 0.88 of
a core takes 1.2 s of CPU and is up after 1.4 s; of twelve that start on two cores, each takes 1.7 s of CPU
and is up after 10 to 15 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from storm_lab.emulator.attempts import Attempts
from storm_lab.emulator.control.clock import Event, Rank, SteppedPlane, VirtualClock
from storm_lab.emulator.control.zookeeper import StoredAssignment
from storm_lab.model import Executor, Node, Slot

NOT_READY = -1
"""Id of a process that the data plane does not yet know."""
START_THREADS = 2
"""Threads of a starting JVM that want CPU: the main thread and a compiler, which take half of it each."""
CORES_PER_START = 1.06
"""Cores that both use on average where cores are free: the median of 23 starts of real 0.9.2 and 2.8.3."""
_SHORTEST_POLL_NS = 10_000_000
"""Shortest interval at which a start's CPU is polled, and so the most by which a JVM can be ready late."""


class WorkerState(Enum):
    """How a supervisor sees one of its worker processes (Storm@Twitter section 2.2.2)."""

    NOT_STARTED = "not started"
    """No heartbeat yet."""
    VALID = "valid"
    """Runs what it should."""
    DISALLOWED = "disallowed"
    """Runs something other than what is assigned to its slot."""
    TIMED_OUT = "timed out"
    """Has not given a heartbeat for too long."""


@dataclass(eq=False, slots=True)
class WorkerProcess:
    """One JVM, from its launch to its end.

    ``id`` is the data plane's number, NOT_READY while the JVM starts. ``generation`` is the id of the
    assignment that launched it, ``generations`` those whose messages it accepts. ``assignment`` is its own
    table of executors' slots, as of its last refresh. By slot, ``links`` are its open connections,
    ``attempts`` those to connect elsewhere, and ``attempts_before`` how many an open connection has taken.
    ``connections_ready`` says whether it has seen them all open, and ``prepared`` whether its executors have
    begun. ``dropped`` counts the tuples dropped for lack of a connection. From ``silent_since_ns`` on it only
    collects garbage and sends no heartbeats.
    """

    number: int
    slot: Slot
    topology: str
    executors: tuple[Executor, ...]
    generation: int
    launched_ns: int
    id: int = NOT_READY
    ready_ns: int | None = None
    ended_ns: int | None = None
    leaving: bool = False
    generations: set[int] = field(default_factory=set)
    assignment: StoredAssignment | None = None
    links: dict[Slot, WorkerProcess] = field(default_factory=dict)
    attempts: dict[Slot, Attempts] = field(default_factory=dict)
    attempts_before: dict[Slot, int] = field(default_factory=dict)
    view: dict[Executor, int] = field(default_factory=dict)
    connecting: bool = False
    topology_active: bool = False
    connections_ready: bool = False
    prepared: bool = False
    idle_until_ns: int = 0
    spouts_on: bool = False
    dropped: int = 0
    silent_since_ns: int | None = None
    actor: str = field(init=False)
    """The process's name in the decision log."""

    def __post_init__(self) -> None:
        self.actor = f"worker:{self.number}"

    @property
    def running(self) -> bool:
        """Whether the JVM is ready and has not ended."""
        return self.ready_ns is not None and self.ended_ns is None

    def last_heartbeat_ns(self, now_ns: int, period_ns: int) -> int | None:
        """Return the time of the newest heartbeat file, which is written from readiness to end or silence."""
        if self.ready_ns is None:
            return None
        until = min(time for time in (now_ns, self.ended_ns, self.silent_since_ns) if time is not None)
        return self.ready_ns + (until - self.ready_ns) // period_ns * period_ns


class _Start(NamedTuple):
    """Conditions for a JVM to be ready: a time, and the CPU that one of its threads must have had."""

    not_before_ns: int
    needed_cpu_ns: int
    ready: Callable[[], None]


class JvmStarts:
    """The JVMs that are starting on a node, where the threads of ``plane`` compete for the cores.

    A start takes at least ``least_ns``, and its part of ``cpu_ns`` of CPU; with 0, it neither uses CPU nor is
    slowed down by other load.
    """

    def __init__(
        self, clock: VirtualClock, plane: SteppedPlane, node: Node, least_ns: int, cpu_ns: int
    ) -> None:
        self._clock = clock
        self._plane = plane
        self._node = node
        self._least_ns = least_ns
        self._cpu_ns = cpu_ns
        self._starting: dict[int, _Start] = {}
        self._next: Event | None = None

    def begin(self, number: int, ready: Callable[[], None], part: float = 1.0) -> None:
        """Start a JVM that takes a ``part`` of the usual CPU; call ``ready`` when it is up."""
        cpu_ns = round(self._cpu_ns * part)
        self._starting[number] = _Start(
            self._clock.now_ns + max(self._least_ns, round(cpu_ns / CORES_PER_START)),
            self._cpu_so_far_ns + cpu_ns // START_THREADS,
            ready,
        )
        self._schedule_poll()

    def end(self, number: int) -> None:
        """End a JVM that is starting; other numbers are ignored."""
        if self._starting.pop(number, None) is not None:
            self._schedule_poll()

    @property
    def _cpu_so_far_ns(self) -> int:
        """CPU that each thread of a starting JVM has had, up to a constant."""
        return self._plane.now().cpu_time_ns(self._node) if self._cpu_ns > 0 else 0

    def _schedule_poll(self) -> None:
        """Report how many threads want CPU, and poll again when the next JVM may be ready."""
        now_ns, cpu_so_far_ns = self._clock.now_ns, self._cpu_so_far_ns
        starting = self._starting.values()
        if self._cpu_ns > 0:
            wanting = sum(start.needed_cpu_ns > cpu_so_far_ns for start in starting)
            self._plane.now().set_starting(self._node, START_THREADS * wanting)
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
