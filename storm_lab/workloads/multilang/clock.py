"""The virtual time that components see: sleeps and virtual arrivals advance it, without any waiting."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LONGEST_SLEEP_S = 1e6


class TookTooLongError(BaseException):
    """A call did not return in time. Not an `Exception`, so that components do not catch it."""


class VirtualClock:
    """A clock that sleeps advance; `slept_s` is their total."""

    def __init__(self) -> None:
        self.slept_s = 0.0
        self._ahead_s = 0.0
        self._time, self._monotonic = time.time, time.monotonic

    def install(self) -> None:
        """Put this clock in place of the time functions that components call."""
        time.sleep = self.sleep  # type: ignore[assignment]
        time.time = lambda: self._time() + self._ahead_s
        time.monotonic = lambda: self._monotonic() + self._ahead_s

    def sleep(self, seconds: float) -> None:
        """Advance virtual time as by a sleep, without waiting."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        seconds = min(float(seconds), _LONGEST_SLEEP_S)
        self.slept_s += seconds
        self._ahead_s += seconds

    def real(self) -> float:
        """Return the seconds that have really passed, from an arbitrary start."""
        return self._monotonic()

    def pass_s(self, seconds: float) -> None:
        """Advance virtual time between calls."""
        self._ahead_s += seconds


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TookTooLongError` in the block if it does not end in time."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
