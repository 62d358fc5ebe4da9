"""Notes of what was done to a cluster, and when."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from storm_lab.errors import StormLabError


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """Something that was done to the cluster. Times are CLOCK_MONOTONIC, as ``System.nanoTime()`` gives."""

    start_ns: int
    end_ns: int
    kind: str
    subject: str
    detail: str = ""


@contextmanager
def noted(events: list[ControlEvent], kind: str, subject: str, detail: str = "") -> Iterator[None]:
    """Add an event for the time that the block takes; its kind ends in ``-failed`` if the block fails."""
    start_ns = time.monotonic_ns()
    try:
        yield
    except StormLabError as error:
        events.append(ControlEvent(start_ns, time.monotonic_ns(), f"{kind}-failed", subject, str(error)))
        raise
    events.append(ControlEvent(start_ns, time.monotonic_ns(), kind, subject, detail))
