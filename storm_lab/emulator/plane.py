"""The data plane: what may be asked of it, what it answers, and one through which nothing flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from storm_lab.errors import StormLabError
from storm_lab.model import Executor, Node, Slot


class EmulationStoppedError(StormLabError):
    """A stated limit ended the run before its planned end; what was recorded so far is kept."""


class Loss(NamedTuple):
    """Tuples that died with a worker or executor, by the place they were in."""

    receive_queue: int = 0
    executing: int = 0
    send_queue: int = 0
    transfer_queue: int = 0

    @property
    def facts(self) -> dict[str, int]:
        """Tuples by place, as facts for the decision log."""
        return {f"lost_{place}": int(tuples) for place, tuples in self._asdict().items()}


@dataclass(frozen=True, slots=True)
class WindowSample:
    """What the load monitors read: counters since the previous sample, of virtual time ``start_ns``.

    CPU in nanoseconds of one core, by worker and executor, and of all that ran on a node; ``traffic`` in
    tuples, by topology, sending task and receiving task; ``failed`` are root tuples, by topology; ``queued``
    is the length of receive queues at the end of the window, by worker and executor.
    """

    start_ns: int
    end_ns: int
    executor_cpu_ns: Mapping[tuple[int, Executor], int] = field(default_factory=dict)
    node_cpu_ns: Mapping[str, int] = field(default_factory=dict)
    traffic: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[tuple[int, Executor], int] = field(default_factory=dict)


class Plane:
    """What the control plane may ask of the data plane; of this one, through which nothing flows.

    Workers come and go, time passes, and there is nothing to count. That answers questions about coordination
    alone: whether a thousand workers keep their heartbeats depends on supervisors, workers and ZooKeeper, and
    on no tuple. Worker ids are running numbers, one per process start.
    """

    def __init__(self) -> None:
        self._workers = 0
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
        """Let so many threads of JVMs that start on a node want CPU from now on."""
        self.cpu_time_ns(node)
        self._starting[node.id] = threads

    def cpu_time_ns(self, node: Node) -> int:
        """CPU that a thread of a JVM that starts on the node would have had so far.

        Only a difference between two times means something, and only if one started all the while.
        """
        spent, as_of_ns = self._cpu_time.get(node.id, (0, 0))
        quota = node.cores if node.cpu_quota is None else min(node.cores, node.cpu_quota)
        wanted = max(quota, self._starting.get(node.id, 0))
        spent += round((self.now_ns - as_of_ns) * quota / wanted)
        self._cpu_time[node.id] = (spent, self.now_ns)
        return spent

    def start_worker(self, slot: Slot, topology_id: str, executors: Sequence[Executor]) -> int:
        """Start a worker process that is ready at once; returns its number."""
        self._workers += 1
        return self._workers - 1

    def stop_worker(self, worker: int) -> Loss:
        """Kill a worker process now; returns what was lost with it."""
        return Loss()

    def start_executor(self, worker: int, executor: Executor) -> None:
        """Start one executor thread in a running worker."""

    def stop_executor(self, worker: int, executor: Executor) -> Loss:
        """Kill one executor thread of a running worker; returns what was lost with it."""
        return Loss()

    def connect(self, worker: int, view: Mapping[Executor, int], *, connecting: bool = False) -> int:
        """Set where executors run, as a worker sees it; those left out are out of its reach.

        ``view``: executor to the worker that runs it; it does not change any more. ``connecting``: the worker
        lacks a connection that it wants. Returns how many tuples had waited in the worker for executors that
        it now reaches.
        """
        return 0

    def dropped(self, worker: int) -> int:
        """Tuples that a worker has dropped so far because it could not reach their receivers."""
        return 0

    def waits(self, worker: int) -> bool:
        """Whether tuples wait in a worker for receivers that it does not reach."""
        return False

    def full_heaps(self) -> Mapping[int, int]:
        """Workers that do nothing but collect, as queued tuples fill their heaps, and since when."""
        return {}

    def activate(self, worker: int, active: bool) -> None:
        """Let a worker's spouts call nextTuple, or not."""

    def sample(self, *, traffic_read: bool = True) -> WindowSample:
        """Counters since the previous sample; ``traffic`` may be left out where nobody reads it."""
        start, self._last_sample_ns = self._last_sample_ns, self._now_ns
        return WindowSample(start, self._now_ns)

    def set_node_speed(self, node: str, factor: float) -> None:
        """Slow a node down (factor below 1) or back to normal (1)."""

    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None:
        """Cut or delay the link between two nodes, in both directions; without either it is as before."""

    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None:
        """Change the rate of a spout's source from now on; what has arrived stays queued."""

    def set_max_pending(self, topology_id: str, limit: int | None) -> None:
        """Change max spout pending, per spout task; None is no limit."""

    def charge(self, worker: int, cpu_ns: int) -> None:
        """Let a worker spend CPU on management (a poll, a sync), beside its threads."""

    def hold_sending(self, worker: int, duration_ns: int) -> None:
        """Let a worker's transfer thread send nothing for so long from now on.

        Its table of connections is locked; executors go on, and what they produce queues up.
        """

    def processed(self, topology_id: str) -> int:
        """Root tuples of a topology acked since the start of the run."""
        return 0

    def committed(self, topology_id: str) -> int:
        """A topology's log lines before stored offsets, done for good; `UserError`: no spout reads one."""
        return 0

    def finish(self) -> None:
        """Write what is still in the buffers, and the roots that are still in flight."""
