"""Who ran where, from when to when: the rows of the tuple log's ``placements`` table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from storm_lab.model import Executor, Slot


@dataclass(frozen=True, slots=True)
class Placement:
    """An executor's stay in a worker process; ``end_ns`` None means until the end of the run."""

    executor: Executor
    worker: int
    slot: Slot
    start_ns: int
    end_ns: int | None = None


class PlacementLog:
    """Stays that have ended, in order of their end, and those that go on."""

    def __init__(self, sink: Callable[[Placement], None] | None = None) -> None:
        self._sink = sink
        self._open: dict[tuple[int, Executor], Placement] = {}
        self._ended: list[Placement] = []

    def begin(self, executor: Executor, worker: int, slot: Slot, time_ns: int) -> None:
        """The executor is ready in this worker."""
        self._open[worker, executor] = Placement(executor, worker, slot, time_ns)

    def end(self, executor: Executor, worker: int, time_ns: int) -> None:
        """The executor runs no more in this worker."""
        self._close(replace(self._open.pop((worker, executor)), end_ns=time_ns))

    def finish(self) -> None:
        """The run is over: what is still running is noted without an end."""
        for stay in list(self._open.values()):
            self._close(stay)
        self._open.clear()

    def _close(self, stay: Placement) -> None:
        self._ended.append(stay)
        if self._sink is not None:
            self._sink(stay)

    @property
    def stays(self) -> tuple[Placement, ...]:
        """All stays, by start, worker and executor."""
        everything = [*self._ended, *self._open.values()]
        return tuple(sorted(everything, key=lambda stay: (stay.start_ns, stay.worker, stay.executor)))

    def absences(self, executor: Executor) -> list[tuple[int, int]]:
        """Spans between the first start and the last end in which the executor ran nowhere."""
        gaps: list[tuple[int, int]] = []
        covered_to: int | None = None
        endless = False
        for stay in self.stays:
            if stay.executor != executor or endless:
                continue
            if covered_to is not None and stay.start_ns > covered_to:
                gaps.append((covered_to, stay.start_ns))
            endless = stay.end_ns is None
            covered_to = max(covered_to or 0, stay.end_ns or 0)
        return gaps
