"""Nimbus' delayed commands: one wait a topology, which starts anew when Nimbus has been away.

Storm resumes a delayed command with its full delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storm_lab.emulator.control.clock import Event, Rank, VirtualClock


@dataclass(frozen=True, slots=True)
class _Delay:
    wait_ns: int
    then: Callable[[], None]
    event: Event


class Delays:
    """What is to be done for a topology when its wait is over."""

    def __init__(self, clock: VirtualClock, actor: str) -> None:
        self._clock = clock
        self._actor = actor
        self._waiting: dict[str, _Delay] = {}

    def after(self, topology_id: str, wait_ns: int, then: Callable[[], None]) -> None:
        """Do ``then`` after a wait; what waited for this topology before is given up."""
        if (waiting := self._waiting.pop(topology_id, None)) is not None:
            waiting.event.cancel()

        def due() -> None:
            del self._waiting[topology_id]
            then()

        event = self._clock.after(wait_ns, Rank.NIMBUS, self._actor, due)
        self._waiting[topology_id] = _Delay(wait_ns, then, event)

    def stop(self) -> None:
        """Nimbus is gone: nothing comes due until `start`."""
        for waiting in self._waiting.values():
            waiting.event.cancel()

    def start(self) -> None:
        """Nimbus is back: every wait begins again."""
        for topology_id, waiting in list(self._waiting.items()):
            self.after(topology_id, waiting.wait_ns, waiting.then)
