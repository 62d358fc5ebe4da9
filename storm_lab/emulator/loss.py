"""How a run loses tuples, and how it ends early."""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.errors import StormLabError


class EmulationStoppedError(StormLabError):
    """A stated limit ended the run before its planned end; what was recorded so far is kept."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Tuples that died with a worker or executor, by the place they were in."""

    receive_queue: int = 0
    executing: int = 0
    send_queue: int = 0
    transfer_queue: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.receive_queue + self.executing + self.send_queue + self.transfer_queue

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.receive_queue + other.receive_queue,
            self.executing + other.executing,
            self.send_queue + other.send_queue,
            self.transfer_queue + other.transfer_queue,
        )
