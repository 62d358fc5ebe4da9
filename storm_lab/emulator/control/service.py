"""Services: additions to a run besides Storm itself, such as monitors, generators and tuners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from storm_lab.emulator.control.clock import Rank, SteppedPlane, VirtualClock
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.plane import WindowSample


@runtime_checkable
class Service(Protocol):
    """Settings of a service."""

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Register cycles, listeners and callbacks in one run, before the topologies are submitted."""


class Sampler:
    """Reads the data plane's counters once per window and calls the listeners in order of registration."""

    def __init__(self, clock: VirtualClock, plane: SteppedPlane, window_ns: int) -> None:
        self.window_ns = window_ns
        self._plane = plane
        self._listeners: list[Callable[[WindowSample], None]] = []
        clock.every(window_ns, Rank.MONITOR, "monitor", self._sample)

    def listen(self, listener: Callable[[WindowSample], None]) -> None:
        """Call ``listener`` with every sample from now on."""
        self._listeners.append(listener)

    def _sample(self) -> None:
        sample = self._plane.now().sample(with_traffic=bool(self._listeners))
        for listener in self._listeners:
            listener(sample)
