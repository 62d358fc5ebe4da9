"""The interface of the data plane, its answers, and an empty implementation without tuples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from storm_lab.errors import StormLabError
from storm_lab.model import Executor, Node, Slot

MOST_LINKS = 256
"""Most links between two nodes that a run can cut or delay."""


class EmulationStoppedError(StormLabError):
    """A limit ended the run before its planned end; what was recorded so far is kept."""


class Loss(NamedTuple):
    """Tuples lost with a worker or executor, by the place they were in."""

    receive_queue: int = 0
    executing: int = 0
    send_queue: int = 0
    transfer_queue: int = 0

    @property
    def facts(self) -> dict[str, int]:
        """Tuples lost by place, as facts for the decision log."""
        return {f"lost_{place}": int(tuples) for place, tuples in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class WindowSample:
    """Counters that the load monitors read: those from ``start_ns``, the previous sample, to ``end_ns``.

    CPU is in nanoseconds of one core, by worker and executor, and in total by node. ``traffic`` is in tuples,
    by topology, sending task and receiving task. ``failed`` counts root tuples by topology. ``queued`` is the
    length of the receive queues at the end of the window, by worker and executor.
    """

    start_ns: int
    end_ns: int
    executor_cpu_ns: Mapping[tuple[int, Executor], int] = field(default_factory=dict)
    node_cpu_ns: Mapping[str, int] = field(default_factory=dict)
    traffic: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[tuple[int, Executor], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stay:
    """An executor's stay in a worker process; ``end_ns`` None means until the end of the run."""

    executor: Executor
    worker: int
    slot: Slot
    start_ns: int
    end_ns: int | None = None


class Plane:
    """The requests that the control plane makes to the data plane; this implementation plays no tuples.

    This is enough for questions about coordination alone, such as whether a thousand workers keep up their
    heartbeats. Worker ids are consecutive numbers, one per process start.
    """

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        """Of worker processes, in order of their numbers."""
        self.stays: list[Stay] = []
        """Of executor instances, in the order of their threads' starts, which also numbers them."""
        self._executors: defaultdict[int, dict[Executor, int]] = defaultdict(dict)
        """By worker: its running executors and their numbers."""
        self._numbers: dict[tuple[int, Executor], int] = {}
        """By worker and executor: the number of the latest instance, which may have ended."""
        self._now_ns = self._last_sample_ns = 0
        self._starting: dict[str, int] = {}
        self._cpu_time: dict[str, tuple[int, int]] = {}

    @property
    def now_ns(self) -> int:
        """Virtual time."""
        return self._now_ns

    def run_until(self, time_ns: int) -> None:
        """Play all events up to and including a time."""
        self._now_ns = time_ns

    def set_starting(self, node: Node, threads: int) -> None:
        """Set how many threads of starting JVMs want CPU on a node from now on."""
        self.cpu_time_ns(node)
        self._starting[node.id] = threads

    def cpu_time_ns(self, node: Node) -> int:
        """CPU that a thread of a starting JVM would have had on the node so far.

        Only the difference between two readings counts, and only if a JVM was starting all the time between.
        """
        spent, as_of_ns = self._cpu_time.get(node.id, (0, 0))
        quota = node.cores if node.cpu_quota is None else min(node.cores, node.cpu_quota)
        wanted = max(quota, self._starting.get(node.id, 0))
        spent += round((self.now_ns - as_of_ns) * quota / wanted)
        self._cpu_time[node.id] = (spent, self.now_ns)
        return spent

    def start_worker(
        self, slot: Slot, topology_id: str, executors: Sequence[Executor], *, prepared: bool = True
    ) -> int:
        """Start a worker process that listens at once; returns its number.

        If its bolts are not ``prepared`` yet, what they receive waits until `prepare`.
        """
        worker = len(self.slots)
        self.slots.append(slot)
        for executor in executors:
            self._begin_stay(worker, executor)
        return worker

    def stop_worker(self, worker: int) -> Loss:
        """Kill a worker process now; returns what was lost with it."""
        for executor in list(self._executors[worker]):
            self._end_stay(worker, executor)
        return Loss()

    def start_executor(self, worker: int, executor: Executor) -> None:
        """Start one executor thread in a running worker."""
        self._begin_stay(worker, executor)

    def stop_executor(self, worker: int, executor: Executor) -> Loss:
        """Kill one executor thread of a running worker; returns what was lost with it."""
        self._end_stay(worker, executor)
        return Loss()

    def _begin_stay(self, worker: int, executor: Executor) -> None:
        self._executors[worker][executor] = self._numbers[worker, executor] = len(self.stays)
        self.stays.append(Stay(executor, worker, self.slots[worker], self.now_ns))

    def _end_stay(self, worker: int, executor: Executor) -> None:
        index = self._executors[worker].pop(executor)
        self.stays[index] = replace(self.stays[index], end_ns=self.now_ns)

    def absences(self, executor: Executor) -> list[tuple[int, int]]:
        """Return the spans between the first start and the last end in which the executor ran nowhere."""
        gaps: list[tuple[int, int]] = []
        own = [stay for stay in self.stays if stay.executor == executor]
        covered_to = own[0].start_ns if own else 0
        for stay in own:
            if stay.start_ns > covered_to:
                gaps.append((covered_to, stay.start_ns))
            if stay.end_ns is None:
                break
            covered_to = max(covered_to, stay.end_ns)
        return gaps

    def connect(self, worker: int, view: Mapping[Executor, int], *, connecting: bool = False) -> int:
        """Set the executors that a worker reaches; return how many tuples had waited in it for them.

        ``view`` maps each executor to the worker that runs it, and must not be changed afterwards.
        ``connecting`` says that the worker lacks a connection that it wants.
        """
        return 0

    def dropped(self, worker: int) -> int:
        """Tuples that a worker has dropped so far because it could not reach their receivers."""
        return 0

    def has_parked(self, worker: int) -> bool:
        """Whether tuples wait in a worker for receivers that it does not reach."""
        return False

    def full_heaps(self) -> Mapping[int, int]:
        """Workers that only collect garbage because queued tuples fill their heaps, and since when."""
        return {}

    def prepare(self, worker: int) -> None:
        """Prepare a worker's bolts: from now on they execute what they receive.

        The stays of the worker's executors begin now.
        """
        for index in self._executors[worker].values():
            self.stays[index] = replace(self.stays[index], start_ns=self.now_ns)

    def activate(self, worker: int, active: bool) -> None:
        """Switch a worker's spouts on or off: whether they call nextTuple."""

    def sample(self, *, with_traffic: bool = True) -> WindowSample:
        """Return the counters since the previous sample; ``traffic`` may be left out if it is not read."""
        start, self._last_sample_ns = self._last_sample_ns, self._now_ns
        return WindowSample(start, self._now_ns)

    def set_node_speed(self, node: str, factor: float) -> None:
        """Slow a node down (factor below 1) or back to normal (1)."""

    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None:
        """Cut or delay the link between two nodes in both directions; without either, restore it."""

    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None:
        """Change the rate of a spout's source from now on; lines that have arrived stay queued."""

    def set_max_pending(self, topology_id: str, limit: int | None) -> None:
        """Change max spout pending, per spout task; None means no limit."""

    def charge(self, worker: int, cpu_ns: int) -> None:
        """Charge a worker with CPU for management (a poll, a sync), besides its threads."""

    def hold_sending(self, worker: int, duration_ns: int) -> None:
        """Lock a worker's connections: its transfer thread sends nothing for ``duration_ns`` from now on."""

    def acked_roots(self, topology_id: str) -> int:
        """Root tuples of a topology acked since the start of the run."""
        return 0

    def committed_lines(self, topology_id: str) -> int:
        """Final log lines of a topology, before the stored offsets; `UserError` if no spout reads a log."""
        return 0

    def finish(self) -> None:
        """Write the rows still in the buffers and the roots still in flight."""
