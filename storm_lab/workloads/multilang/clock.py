"""The time that components see: it goes on by what they sleep and by virtual arrivals, without waiting."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LONGEST_SLEEP_S = 1e6


class TookTooLongError(BaseException):
    """A call did not come back in its time. Not an `Exception`, so that components do not catch it."""


class VirtualClock:
    """A clock that sleeps push forward; `slept_s` counts them."""

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
        """Pass time without waiting."""
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        seconds = min(float(seconds), _LONGEST_SLEEP_S)
        self.slept_s += seconds
        self._ahead_s += seconds

    def real(self) -> float:
        """Seconds that have really passed, from an arbitrary start."""
        return self._monotonic()

    def pass_s(self, seconds: float) -> None:
        """Let virtual time pass between calls."""
        self._ahead_s += seconds


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TookTooLongError` in the block when it has not ended in time."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
