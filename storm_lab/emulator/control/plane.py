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
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def executor_cpu_ns(self) -> Mapping[tuple[int, Executor], int]: ...
    @property
    def worker_cpu_ns(self) -> Mapping[int, int]: ...
    @property
    def node_cpu_ns(self) -> Mapping[str, int]: ...
    @property
    def traffic(self) -> Mapping[tuple[str, int, int], int]: ...
    @property
    def failed(self) -> Mapping[str, int]: ...
    @property
    def queued(self) -> Mapping[tuple[int, Executor], int]: ...


class Plane(Protocol):
    """The data plane's requests; worker ids are running numbers, one per process start."""

    def run_until(self, time_ns: int) -> None: ...
    def start_worker(
        self, slot: Slot, topology_id: str, executors: Sequence[Executor], *, generation: int = 0
    ) -> int: ...
    def stop_worker(self, worker: int) -> Any: ...
    def start_executor(self, worker: int, executor: Executor) -> None: ...
    def stop_executor(self, worker: int, executor: Executor) -> Any: ...
    def connect(self, worker: int, view: Mapping[Executor, int]) -> None: ...
    def activate(self, worker: int, active: bool) -> None: ...
    def sample(self) -> Any: ...
    def set_node_speed(self, node: str, factor: float) -> None: ...
    def set_link(self, node_a: str, node_b: str, *, cut: bool = False, extra_delay_ns: int = 0) -> None: ...
    def set_load(self, topology_id: str, spout: str, rate_per_s: float) -> None: ...
    def finish(self) -> None: ...


class SteppedPlane:
    """A data plane that is brought up to the control clock before it is asked anything."""

    def __init__(self, plane: Plane, clock: VirtualClock) -> None:
        self._plane = plane
        self._clock = clock

    def now(self) -> Plane:
        """The data plane, run up to and including the present instant."""
        self._plane.run_until(self._clock.now_ns)
        return self._plane
