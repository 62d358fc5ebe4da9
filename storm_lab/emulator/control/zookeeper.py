"""ZooKeeper: what the daemons tell each other, and a write server that has a capacity.

Reads are free and immediate. A write waits for its turn behind the writes ahead of it and for one
transaction-log sync; it takes effect, and its watches fire, when it is committed. Storm@Twitter (section 3.1)
found the transaction log to be what limits the number of workers; writes by others (Kafka consumers' offsets)
share it. Two ways out of the paper are settings here: heartbeats to daemons of their own, and offsets to a
key-value store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial

from storm_lab.emulator.constant import constant
from storm_lab.emulator.control.clock import SECOND, Rank, VirtualClock, ns
from storm_lab.model import Executor, Slot
from storm_lab.model.grouped import grouped


class Origin(Enum):
    """How an assignment came about; methods of migration may treat them differently."""

    SCHEDULED = "scheduled"
    """By Nimbus itself: a first placement, or one forced by a failure."""
    REBALANCED = "rebalanced"
    """By the rebalance command, with the spouts switched off."""
    INSTALLED = "installed"
    """Handed to Nimbus while the topology runs."""


class StoredAssignment:
    """A topology's assignment as it stands in ZooKeeper.

    ``id`` numbers all assignments of the run, from 1; ``start_ns`` says since when each executor has been
    assigned to its slot. ``slots`` is in order of executors. ``workers`` is slot to its executors, both
    ascending, and ``place`` gives for each executor, in the order of ``slots``, the index of its slot in
    ``workers``; ``nodes`` is node id to the slots used there.
    """

    def __init__(
        self,
        number: int,
        topology_id: str,
        slots: Mapping[Executor, Slot],
        start_ns: Mapping[Executor, int],
        origin: Origin,
    ) -> None:
        self.id = number
        self.topology = topology_id
        self.slots = {executor: slots[executor] for executor in sorted(slots)}
        self.start_ns = start_ns
        self.origin = origin
        index = {slot: place for place, slot in enumerate(sorted(set(slots.values())))}
        self.place = tuple(index[slot] for slot in self.slots.values())
        members = grouped(self.slots, self.slots.__getitem__)
        self.workers = {slot: tuple(members[slot]) for slot in index}
        self.nodes = grouped(index, lambda slot: slot.node)


class Record(StrEnum):
    """What a write is about."""

    ASSIGNMENT = "assignment"
    STATUS = "status"
    SUPERVISOR_BEAT = "supervisor-beat"
    TASK_BEAT = "task-beat"
    STATISTICS = "statistics"


_HEARTBEATS = frozenset({Record.SUPERVISOR_BEAT, Record.TASK_BEAT, Record.STATISTICS})


@dataclass(frozen=True, slots=True)
class ZooKeeperPlan:
    """How fast ZooKeeper writes and who else writes to it.

    ``heartbeat_daemons`` sends heartbeats elsewhere; ``offsets_elsewhere`` does so with the consumers'
    offsets, of which ``offset_writes_per_s`` are written.
    """

    writes_per_s: float = constant(
        733.0,
        unit="writes/s",
        allowed=(100.0, 1000.0),
        source="Storm@Twitter: 1200 workers at 3 s and 333 Kafka writes/s, database-class disk; arithmetic",
    )
    sync_s: float = constant(
        0.010,
        allowed=(0.005, 0.030),
        source="one sync of the transaction log; SATA disk, RAID with cache at the low end",
    )
    offset_writes_per_s: float = 0.0
    heartbeat_daemons: bool = False
    offsets_elsewhere: bool = False

    @classmethod
    def dedicated(cls, **others: float | bool) -> ZooKeeperPlan:
        """Machines of its own with ordinary disks: 300 workers' heartbeats beside 333 offsets a second."""
        return cls(writes_per_s=433.0, sync_s=0.023, **others)  # type: ignore[arg-type]


class WriteServer:
    """One log disk: first come, first served, at a fixed rate, beside a steady stream of others' writes."""

    def __init__(self, plan: ZooKeeperPlan) -> None:
        self._rate = plan.writes_per_s
        self._sync_s = plan.sync_s
        self._others = 0.0 if plan.offsets_elsewhere else plan.offset_writes_per_s
        self._waiting = 0.0
        self._last_ns = 0

    def others_by(self, now_ns: int) -> float:
        """Writes that others have asked for by now."""
        return self._others * now_ns / SECOND

    def committed_at(self, now_ns: int) -> int:
        """Queue a write now; when it will be committed."""
        self._waiting = self.waiting(now_ns) + 1.0
        self._last_ns = now_ns
        return now_ns + ns(self._sync_s + self._waiting / self._rate)

    def waiting(self, now_ns: int) -> float:
        """Writes in the queue."""
        elapsed_s = (now_ns - self._last_ns) / SECOND
        return max(0.0, self._waiting + (self._others - self._rate) * elapsed_s)


class ZooKeeper:
    """The shared records, and the watches on them."""

    def __init__(self, clock: VirtualClock, plan: ZooKeeperPlan) -> None:
        self._clock = clock
        self._plan = plan
        self.server = WriteServer(plan)
        self.up = True
        self.assignments: dict[str, StoredAssignment] = {}
        self.active: dict[str, bool] = {}
        self.silent_since: dict[str, int | None] = {}
        """By node: since when its supervisor is gone; None while it pings, which needs no disk."""
        self.task_beats: dict[Slot, dict[Executor, int]] = {}
        """When each executor's last heartbeat from a slot was sent."""
        self.written: Counter[Record] = Counter()
        """Writes that went to the disk so far, without those of others."""
        self._watchers: dict[Record, list[Callable[[str], None]]] = {}
        self._held: list[tuple[str, Record, str, Callable[[], object]]] = []

    def watch(self, record: Record, callback: Callable[[str], None]) -> None:
        """Call back with the key (topology or node) whenever a record of this kind has changed."""
        self._watchers.setdefault(record, []).append(callback)

    def write(self, actor: str, record: Record, key: str, apply: Callable[[], object]) -> int:
        """Ask for a write; ``apply`` runs at its commit. How long until then: so long its client waits.

        While ZooKeeper is down its clients try again and again: assignments and statuses are written when it
        is back; a heartbeat of then would be stale and is dropped.
        """
        if not self.up:
            if record not in _HEARTBEATS:
                self._held.append((actor, record, key, apply))
            return 0
        if record in _HEARTBEATS and self._plan.heartbeat_daemons:
            committed = self._clock.now_ns
        else:
            committed = self.server.committed_at(self._clock.now_ns)
            self.written[record] += 1
        commit = partial(self._commit, actor, record, key, apply)
        self._clock.at(committed, Rank.COORDINATION, f"zookeeper:{actor}", commit)
        return committed - self._clock.now_ns

    def told(self, record: Record, key: str, apply: Callable[[], object]) -> None:
        """Nimbus is told past ZooKeeper (2.x: by a supervisor's Thrift call): it takes effect at once."""
        apply()
        for callback in self._watchers.get(record, ()):
            callback(key)

    def _commit(self, actor: str, record: Record, key: str, apply: Callable[[], object]) -> None:
        if self.up:
            self.told(record, key, apply)
        else:
            # It went down with the write in its queue.
            self.write(actor, record, key, apply)

    def stop(self) -> None:
        """ZooKeeper is gone; its records survive on disk."""
        self.up = False

    def start(self) -> None:
        """ZooKeeper is back and takes the writes that its clients have held."""
        self.up = True
        held, self._held = self._held, []
        for actor, record, key, apply in held:
            self.write(actor, record, key, apply)
