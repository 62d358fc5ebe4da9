"""The cost of a call of user code: it varies around its mean, and the framework's code is cold at first.

No two executions of a real bolt cost the same, because of the collector, the caches and the allocator. The
cost of an execute or nextTuple is drawn from a lognormal distribution with mean 1 (`setup.costs`). The draw
is numbered by the task's calls, so it depends on nothing that other tasks do.

HotSpot compiles a method when it has been called often enough, so code warms up by calls and not by the
clock: half of what is ever compiled is due after `compile_calls` calls of user code in a worker. But code is
no faster before it has been compiled, and the compilers are threads that want CPU like all others: on a busy
core they fall behind. A loop in user code is compiled while it runs, so only the framework's part of a call
is slowed.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.state import rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

_UNIT = 1 << 20
# Number of quantiles in the table; a power of two.
QUANTILES = 4096
_ENOUGH_CALLS = 1 << 30


@inline
def draw_call_cost(k: State, task: int, work: int) -> int:
    """Return the cost of the task's next call, whose mean is ``work``."""
    if rows.cost(k, 0).spread == 0:
        return work
    t = rows.task(k, task)
    z = rows.s(k, 0).cost_seed + np.uint64(task) * np.uint64(0xD1342543DE82EF95)
    z = z + np.uint64(t.calls) * np.uint64(0x9E3779B97F4A7C15)
    t.calls += 1
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    quantile = np.int64((z ^ (z >> np.uint64(31))) >> np.uint64(52))
    return (work * rows.spread(k, quantile).value) >> 16  # type: ignore[arg-type]


@inline
def count_call(k: State, worker: int) -> None:
    """Count a call of user code by an executor of a worker."""
    w = rows.worker(k, worker)
    if w.calls < _ENOUGH_CALLS:
        w.calls += rows.cost(k, 0).call


@inline
def _halve(amount: int, half: int) -> int:
    """Return what is left of _UNIT if it halves with each ``half`` of ``amount``, linearly in between."""
    left = _UNIT >> min(amount // half, 40)
    return left - (left * (amount % half)) // (2 * half)


@jit
def warm_up(k: State, worker: int) -> None:
    """Update how much of a worker's code is to be compiled, and the extra cost of what is cold."""
    c = rows.cost(k, 0)
    w = rows.worker(k, worker)
    due = _UNIT - _halve(w.calls, c.compile_calls)
    done = due
    if c.compile > 0:
        hot = (c.compile * due) // _UNIT
        w.to_compile += hot - w.compile_due
        w.compile_due = hot
        done = _UNIT * (hot - w.to_compile) // c.compile
    # Subtract what all halvings leave, so that nothing is left when all is compiled.
    cold = _UNIT >> c.halvings
    left = _halve(done * c.halvings, _UNIT) - cold
    w.warm_excess = c.warm_excess * max(0, left) // (_UNIT - cold)
