"""ZooKeeper: the records that the daemons share, and a write server of limited capacity.

Reads are free and immediate. A write waits for the writes ahead of it and for one sync of the transaction
log. It takes effect, and its watches fire, when it is committed. Storm@Twitter (section 3.1) found that the
transaction log limits the number of workers; writes of Kafka consumers' offsets share it. Two of the paper's
remedies are settings here: heartbeats go to daemons of their own, and offsets to a key-value store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import partial
from itertools import count

from storm_lab.emulator.control.clock import SECOND, Rank, VirtualClock, ns
from storm_lab.model import Executor, Slot
from storm_lab.model.constant import constant
from storm_lab.model.grouped import grouped


class Origin(Enum):
    """How an assignment came about; migration methods may treat origins differently."""

    SCHEDULED = "scheduled"
    """By Nimbus itself: a first placement, or one made necessary by a failure."""
    REBALANCED = "rebalanced"
    """By the rebalance command, with the spouts switched off."""
    INSTALLED = "installed"
    """Handed to Nimbus while the topology runs."""


@dataclass(eq=False)
class StoredAssignment:
    """A topology's assignment as stored in ZooKeeper, numbered from 1 through the run.

    ``start_ns`` is the time since when each executor has been assigned to its slot. ``slots`` is in order of
    executors. ``workers`` maps each slot to its executors, both ascending, and ``nodes`` each node to its
    slots.
    """

    id: int
    topology: str
    slots: Mapping[Executor, Slot]
    start_ns: Mapping[Executor, int]
    origin: Origin
    workers: Mapping[Slot, tuple[Executor, ...]] = field(init=False)
    nodes: Mapping[str, list[Slot]] = field(init=False)

    def __post_init__(self) -> None:
        self.slots = dict(sorted(self.slots.items()))
        members = grouped(self.slots, self.slots.__getitem__)
        self.workers = {slot: tuple(members[slot]) for slot in sorted(members)}
        self.nodes = grouped(self.workers, lambda slot: slot.node)


class Record(StrEnum):
    """Subject of a write."""

    ASSIGNMENT = "assignment"
    STATUS = "status"
    SUPERVISOR_BEAT = "supervisor-beat"
    TASK_BEAT = "task-beat"
    STATISTICS = "statistics"


_HEARTBEATS = frozenset({Record.SUPERVISOR_BEAT, Record.TASK_BEAT, Record.STATISTICS})


@dataclass(frozen=True, slots=True)
class ZooKeeperPlan:
    """How fast ZooKeeper writes, and which other writes it serves.

    ``offset_writes_per_s`` is the rate of the consumers' offsets. ``heartbeat_daemons`` and
    ``offsets_elsewhere`` keep heartbeats and offsets away from ZooKeeper.
    """

    writes_per_s: float = constant(
        733.0,
        unit="writes/s",
        allowed=(100.0, 1000.0),
        source="Storm@Twitter: sum of 1200 workers' heartbeats every 3 s and 333 Kafka writes/s, on a "
        "database-class disk",
    )
    sync_s: float = constant(
        0.010,
        allowed=(0.005, 0.030),
        source="one sync of the transaction log; SATA disk, at the low end RAID with cache",
    )
    offset_writes_per_s: float = 0.0
    heartbeat_daemons: bool = False
    offsets_elsewhere: bool = False

    @classmethod
    def dedicated(cls, **others: float | bool) -> ZooKeeperPlan:
        """Dedicated machines with ordinary disks, for 300 workers' heartbeats and 333 offsets a second."""
        return cls(writes_per_s=433.0, sync_s=0.023, **others)  # type: ignore[arg-type]


class WriteServer:
    """One log disk: serves writes in order at a fixed rate, besides a steady stream of others' writes."""

    def __init__(self, plan: ZooKeeperPlan) -> None:
        self._rate = plan.writes_per_s
        self._sync_s = plan.sync_s
        self._other_writes_per_s = 0.0 if plan.offsets_elsewhere else plan.offset_writes_per_s
        self._queue_length = 0.0
        self._last_ns = 0

    def other_writes_by(self, now_ns: int) -> float:
        """Return how many writes others have requested so far."""
        return self._other_writes_per_s * now_ns / SECOND

    def enqueue(self, now_ns: int) -> int:
        """Queue a write now; return the time at which it will be committed."""
        self._queue_length = self.queue_length(now_ns) + 1.0
        self._last_ns = now_ns
        return now_ns + ns(self._sync_s + self._queue_length / self._rate)

    def queue_length(self, now_ns: int) -> float:
        """Return the number of writes in the queue."""
        elapsed_s = (now_ns - self._last_ns) / SECOND
        return max(0.0, self._queue_length + (self._other_writes_per_s - self._rate) * elapsed_s)


class ZooKeeper:
    """The shared records and their watches."""

    def __init__(self, clock: VirtualClock, plan: ZooKeeperPlan) -> None:
        self._clock = clock
        self._plan = plan
        self.server = WriteServer(plan)
        self.up = True
        self.assignments: dict[str, StoredAssignment] = {}
        self.active: dict[str, bool] = {}
        self.silent_since: dict[str, int | None] = {}
        """By node: the time since when its supervisor is gone; None while it pings, which needs no disk."""
        self.task_beats: dict[Slot, dict[Executor, int]] = {}
        """Send time of each executor's last heartbeat from a slot."""
        self.written: Counter[Record] = Counter()
        """Writes to the disk so far, without those of others."""
        self._watchers: dict[Record, list[Callable[[str], None]]] = {}
        self._numbers = count()
        self._held_writes: list[tuple[int, Callable[[], object]]] = []

    def watch(self, record: Record, callback: Callable[[str], None]) -> None:
        """Call back with the key (topology or node) whenever a record of this kind has changed."""
        self._watchers.setdefault(record, []).append(callback)

    def write(self, actor: str, record: Record, key: str, apply: Callable[[], object]) -> int:
        """Queue a write, and return the ns until its commit, for which the client waits.

        ``apply`` runs at the commit. While ZooKeeper is down, clients retry: assignments and statuses are
        written when it is back; heartbeats would be stale by then and are dropped.
        """
        number = next(self._numbers)

        def hold() -> None:
            if record not in _HEARTBEATS:
                self._held_writes.append((number, partial(self.write, actor, record, key, apply)))

        def commit() -> None:
            if self.up:
                self.apply_now(record, key, apply)
            else:
                # ZooKeeper went down with the write in its queue.
                hold()

        if not self.up:
            hold()
            return 0
        if record in _HEARTBEATS and self._plan.heartbeat_daemons:
            committed = self._clock.now_ns
        else:
            committed = self.server.enqueue(self._clock.now_ns)
            self.written[record] += 1
        self._clock.at(committed, Rank.COORDINATION, f"zookeeper:{actor}", commit)
        return committed - self._clock.now_ns

    def apply_now(self, record: Record, key: str, apply: Callable[[], object]) -> None:
        """Apply a change and call the watchers at once, as for what reaches Nimbus by Thrift (2.x)."""
        apply()
        for callback in self._watchers.get(record, ()):
            callback(key)

    def stop(self) -> None:
        """Take ZooKeeper down; its records survive on disk."""
        self.up = False

    def start(self) -> None:
        """Bring ZooKeeper back; it takes the writes that its clients have held."""
        self.up = True
        held_writes, self._held_writes = self._held_writes, []
        # In the order in which they were written; one that was in the queue is older than those held at once.
        for _, write_again in sorted(held_writes, key=lambda held: held[0]):
            write_again()
