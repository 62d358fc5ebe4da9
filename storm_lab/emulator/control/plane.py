"""What the control plane may ask of the data plane, and how the two clocks are kept together.

The control plane never looks inside the data plane. :class:`SteppedPlane` runs the data plane up to the
present instant before each request, so tuples and control events alternate in virtual time; an instant at
which control asks nothing costs the data plane nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from storm_lab.emulator.control.clock import VirtualClock
from storm_lab.model import Executor, Slot


class WindowSample(Protocol):
    """Counters since the previous sample; CPU in nanoseconds of one core."""

    @property
    def start_ns(self) -> int:
        """Virtual time of the previous sample."""

    @property
    def end_ns(self) -> int:
        """Virtual time of this sample."""

    @property
    def executor_cpu_ns(self) -> Mapping[tuple[int, Executor], int]:
        """CPU by worker and executor."""

    @property
    def worker_cpu_ns(self) -> Mapping[int, int]:
        """CPU of the threads that a worker's executors share."""

    @property
    def node_cpu_ns(self) -> Mapping[str, int]:
        """CPU of all that ran on a node."""

    @property
    def traffic(self) -> Mapping[tuple[str, int, int], int]:
        """Tuples by topology, sending task and receiving task."""

    @property
    def failed(self) -> Mapping[str, int]:
        """Root tuples that failed, by topology."""

    @property
    def queued(self) -> Mapping[tuple[int, Executor], int]:
        """Tuples in an executor's receive queue now, by worker and executor."""


class Plane(Protocol):
    """The data plane's requests; worker ids are running numbers, one per process start."""

    def run_until(self, time_ns: int) -> None:
        """Play all events up to and including a time."""

    def start_worker(
        self, slot: Slot, topology_id: str, executors: Sequence[Executor], *, generation: int = 0
    ) -> int:
        """Start a worker process that is ready at once; returns its number."""

    def stop_worker(self, worker: int) -> Any:
        """Kill a worker process now; returns what was lost with it."""

    def start_executor(self, worker: int, executor: Executor) -> None:
        """Start one executor thread in a running worker."""

    def stop_executor(self, worker: int, executor: Executor) -> Any:
        """Kill one executor thread of a running worker; returns what was lost with it."""

    def connect(self, worker: int, view: Mapping[Executor, int], *, connecting: bool = False) -> int:
        """Set where executors run, as a worker sees it; returns how many waiting messages that lets go."""

    def dropped(self, worker: int) -> int:
        """Tuples that a worker has dropped so far because it could not reach their receivers."""

    def waits(self, worker: int) -> bool:
        """Whether tuples wait in a worker for receivers that it does not reach."""

    def activate(self, worker: int, active: bool) -> None:
        """Let a worker's spouts call nextTuple, or not."""

    def sample(self) -> Any:
        """Counters since the previous sample: a `WindowSample`."""

    def set_node_speed(self, node: str, factor: float) -> None:
        """Slow a node down (factor below 1) or back to normal (1)."""

    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None:
        """Cut or delay the link between two nodes; without either it is as before."""

    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None:
        """Change the rate of a spout's source."""

    def set_max_pending(self, topology_id: str, limit: int | None) -> None:
        """Change max spout pending, per spout task; None is no limit."""

    def charge(self, worker: int, cpu_ns: int) -> None:
        """Let a worker spend CPU on management, beside its threads."""

    def hold_sending(self, worker: int, duration_ns: int) -> None:
        """Let a worker's transfer thread send nothing for so long from now on."""

    def processed(self, topology_id: str) -> int:
        """Root tuples of a topology acked since the start of the run."""

    def committed(self, topology_id: str) -> int:
        """Lines of a topology's logs before their stored offsets."""

    def finish(self) -> None:
        """Write what is still in the buffers, and the roots that are still in flight."""


class SteppedPlane:
    """A data plane that is brought up to the control clock before it is asked anything."""

    def __init__(self, plane: Plane, clock: VirtualClock) -> None:
        self._plane = plane
        self._clock = clock

    def now(self) -> Plane:
        """The data plane, run up to and including the present instant."""
        self._plane.run_until(self._clock.now_ns)
        return self._plane
