"""Worker processes: their state, and what they know of each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from storm_lab.emulator.control.zookeeper import StoredAssignment
from storm_lab.model import Executor, Slot

NOT_READY = -1
"""Id of a process that the data plane does not yet know."""


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
    table of executors' slots, as of its last refresh, ``links`` are its open connections by slot, and
    ``dropped`` counts the tuples dropped for lack of one. From ``silent_since_ns`` on it only collects
    garbage and sends no heartbeats.
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
    trying_since: dict[Slot, int] = field(default_factory=dict)
    view: dict[Executor, int] = field(default_factory=dict)
    connecting: bool = False
    topology_active: bool = False
    connections_ready: bool = False
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
