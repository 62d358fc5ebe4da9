"""What a call of user code costs beside its mean: it varies, and the framework around it is cold at first.

No two executions of a real bolt cost the same: the collector, caches and the allocator see to that. The cost
of an execute or nextTuple is drawn from a lognormal distribution with mean 1 (`setup.prices`), by number of
the call, so that what one task draws depends on nothing else.

HotSpot compiles a method when it has been called often enough, so code warms up by calls and not by the
clock: half of the excess is gone after `warm_calls` calls of user code in a worker. A loop in user code is
compiled while it runs; only the framework's part of a call is slowed.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.state.arrays import cost_at, s_at, spread_at, task_at, worker_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

# Quantiles in the table; a power of two.
QUANTILES = 4096
_ENOUGH_CALLS = 1 << 30


@inline
def varied(k: State, task: int, work: int) -> int:
    """What the task's next call costs whose mean is ``work``."""
    if cost_at(k, 0).spread == 0:
        return work
    t = task_at(k, task)
    z = s_at(k, 0).draws + np.uint64(task) * np.uint64(0xD1342543DE82EF95)
    z = z + np.uint64(t.calls) * np.uint64(0x9E3779B97F4A7C15)
    t.calls += 1
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    quantile = np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(52))
    return (work * spread_at(k, quantile).value) >> 16  # type: ignore[arg-type]


@inline
def count_call(k: State, worker: int) -> None:
    """An executor of a worker calls user code."""
    w = worker_at(k, worker)
    if w.calls < _ENOUGH_CALLS:
        w.calls += cost_at(k, 0).call


@jit
def warm_up(k: State, worker: int) -> int:
    """Bring the excess of a worker's cold code up to date; returns the CPU that compiling has taken since."""
    c = cost_at(k, 0)
    w = worker_at(k, worker)
    before = w.warm_excess
    if before == 0:
        return 0
    halvings = w.calls // c.warm_calls
    rest = w.calls % c.warm_calls
    halved = c.warm_excess >> min(halvings, 40)
    w.warm_excess = halved - (halved * rest) // (2 * c.warm_calls)
    return c.compile * (before - w.warm_excess) // c.warm_excess
