"""Records that a long queue's next messages need are prefetched, which does not change results."""

from __future__ import annotations

import pytest

from storm_lab.bench._kernel_model import Model, start
from storm_lab.emulator.kernel.queues import _MIN_LENGTH
from tests.emulator.uncompiled import printed

MS = 1_000_000
OVERLOADED = Model(spouts=1, bolts=4, ackers=1, nodes=2, rate_per_s=20_000.0, lines=101)
COUNTED = ("rng", "execute", "emitted", "transferred", "executed", "acked", "failed")


def counts_after(stop_ms: int) -> tuple[int, list[list[int]]]:
    """Length of the longest queue, and the counters of all tasks."""
    plane, _ = start(OVERLOADED)
    plane.run_until(stop_ms * MS)
    task = plane.kernel.task
    return int(plane.kernel.thread["length"].max()), [task[name].tolist() for name in COUNTED]


@pytest.mark.slow
def test_prefetching_uses_only_existing_indices() -> None:
    longest, counts = counts_after(25)
    assert longest > 10 * _MIN_LENGTH
    assert printed(__name__, "t.counts_after(25)") == str((longest, counts))
