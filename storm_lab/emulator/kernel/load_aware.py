"""Load-aware shuffle, Storm's default from 1.0 on: targets are drawn by weights that follow their queues.

1.x: the weight is ``int(101 - 100 * load)``, recomputed at most once a second. 2.x: weights move between 0
and 100 by steps (+1 for the least loaded, -10 for the others) inside a *scope*. The scope starts at the
sender's own worker. It widens to the node, the rack and everything when the average load in it exceeds 0.8,
and narrows below 0.2. Load is the filled part of a receive queue: read directly in the sender's own worker,
else as last reported (every 5 s). Storm 2.x walks a shuffled ring of picks; here every pick is drawn, which
has the same shares and a little more variance.
"""

from __future__ import annotations

from storm_lab.emulator.kernel.queues import random_below
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

REBUILD_NS = 1_000_000_000
_WIDEN, _NARROW = 800, 200  # topology.localityaware.higher.bound and lower.bound, in 1/1000
_IN_SCOPE = 1000  # added to the weight of a target in scope


@jit
def _load(k: State, worker: int, task: int) -> int:
    """Return the load of a target as a worker sees it, in 1/1000; full if its place is unknown."""
    w = rows.worker(k, worker)
    target = rows.route(k, w.route + task).value
    if target < 0:
        return 1000
    e = rows.executor(k, target)
    if e.worker != worker:
        return e.reported_load
    t = rows.thread(k, e.main_thread)
    return min(1000, 1000 * t.length // t.capacity)


@inline
def locality_of(k: State, worker: int, other: int) -> int:
    """Return how far a message from one worker to another travels."""
    if other == worker:
        return kinds.IN_PROCESS
    w = rows.worker(k, worker)
    there = rows.worker(k, other)
    if w.node == there.node:
        return kinds.IN_NODE
    return kinds.IN_RACK if w.rack == there.rack else kinds.IN_CLUSTER


@jit
def _distance(k: State, worker: int, task: int) -> int:
    """Return how far away a target is; further than everything if its place is unknown."""
    target = rows.route(k, rows.worker(k, worker).route + task).value
    return locality_of(k, worker, rows.executor(k, target).worker) if target >= 0 else kinds.IN_CLUSTER + 1


@jit
def _scope_load(k: State, worker: int, first_task: int, n: int, scope: int) -> int:
    """Return the average load of the targets in a scope, in 1/1000; -1 when the scope is empty."""
    total = 0
    count = 0
    for i in range(n):
        if _distance(k, worker, first_task + i) <= scope:
            total += _load(k, worker, first_task + i)
            count += 1
    return total // count if count > 0 else -1


@jit
def _choose_scope(k: State, worker: int, first_task: int, n: int, scope: int) -> int:
    """Return the scope for the next second."""
    while scope < kinds.IN_CLUSTER and _scope_load(k, worker, first_task, n, scope) < 0:
        scope += 1
    if scope < kinds.IN_CLUSTER and _scope_load(k, worker, first_task, n, scope) > _WIDEN:
        return scope + 1
    if scope > kinds.IN_PROCESS:
        narrower = _scope_load(k, worker, first_task, n, scope - 1)
        if 0 <= narrower < _NARROW:
            return scope - 1
    return scope


@jit
def _rebuild(k: State, worker: int, state: int, first_task: int, n: int) -> None:
    """Recompute the weights of one subscription of one task."""
    s = rows.s(k, 0)
    w = rows.shuffle(k, state)
    if s.version_2 == 0:
        for i in range(n):
            weight = (1010 - _load(k, worker, first_task + i)) // 10
            rows.permutation(k, w.first + i).value = _IN_SCOPE + weight
    else:
        scope = _choose_scope(k, worker, first_task, n, w.scope)
        fresh = scope != w.scope or w.due == 0
        w.scope = scope
        least = 1000
        for i in range(n):
            if _distance(k, worker, first_task + i) <= scope:
                least = min(least, _load(k, worker, first_task + i))
        for i in range(n):
            cell = rows.permutation(k, w.first + i)
            weight = 100 if fresh else cell.value % _IN_SCOPE
            inside = _distance(k, worker, first_task + i) <= scope
            if inside and not fresh:
                if _load(k, worker, first_task + i) <= least + 50:
                    weight = min(100, weight + 1)
                else:
                    weight = max(0, weight - 10)
            cell.value = weight + (_IN_SCOPE if inside else 0)
    total = 0
    for i in range(n):
        value = rows.permutation(k, w.first + i).value
        if value >= _IN_SCOPE:
            total += value - _IN_SCOPE
    w.index = total
    w.due = s.now + REBUILD_NS


@jit
def load_aware_target(k: State, task: int, worker: int, subscription: int, state: int) -> int:
    """Return the global index of the target task for one tuple."""
    c = rows.component(k, rows.subscription(k, subscription).component)
    n = c.tasks
    w = rows.shuffle(k, state)
    if rows.s(k, 0).now >= w.due:
        _rebuild(k, worker, state, c.first_task, n)
    if w.index == 0:
        return c.first_task + random_below(k, task, n)
    draw = random_below(k, task, w.index)
    for i in range(n):
        value = rows.permutation(k, w.first + i).value - _IN_SCOPE
        if value > 0:
            draw -= value
            if draw < 0:
                return c.first_task + i
    return c.first_task
