"""Load-aware shuffle: the targets of tuples are drawn by weights that follow their queues.

Every worker has a timer that fires each second and up to half a second more. From the first time after five
seconds on, it then sends the loads of its executors' queues to the workers that are connected to it, and
again five seconds later. So a load that others see is up to six and a half seconds old, and each worker's at
another time. A target whose load is not known counts as full, and so does every task of an executor but its
first, for which alone a load is sent (``WorkerState.refreshLoad`` and ``LoadMapping`` of 2.8.3).

1.x: the weight is ``int(101 - 100 * load)``, recomputed by the task at most once a second. 2.x: the timer
moves weights between 0 and 100 by steps (+1 for the least loaded, -10 for the others) inside a *scope*. The
scope starts at the sender's own worker. It widens to the node, the rack and everything when the average load
in it exceeds 0.8, and narrows below 0.2. Storm 2.x walks a shuffled ring of picks; here every pick is drawn,
which has the same shares and a little more variance.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel import random_bits
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State
from storm_lab.emulator.state.names import NS_PER_MS, NS_PER_S

REFRESH_NS, JITTER_MS = NS_PER_S, 500
"""Time between two refreshes, and the limit of what a worker's timer adds to it at random
(``Worker.doRefreshLoad`` and ``StormTimer.scheduleRecurringWithJitter`` of 2.8.3).
"""
REPORT_NS = 5 * NS_PER_S
"""The least time between two reports of a worker's loads (``WorkerState.LOAD_REFRESH_INTERVAL_MS``)."""
FULL = 1000
"""The load of a full queue, in 1/1000, and of one whose load is not known (``LoadMapping.NOT_CONNECTED``)."""
_WIDEN, _NARROW = 800, 200  # topology.localityaware.higher.bound and lower.bound, in 1/1000
_JITTER = 1 << 32  # the first of the streams of random bits for timers
_IN_SCOPE = 1000  # added to the weight of a target in scope


@inline
def _queue_load(k: State, executor: int) -> int:
    t = rows.thread(k, rows.executor(k, executor).main_thread)
    return min(FULL, 1000 * t.length // t.capacity)


@jit
def _load(k: State, worker: int, task: int) -> int:
    """Return the load of a target as a worker sees it, in 1/1000."""
    w = rows.worker(k, worker)
    target = rows.route(k, w.route + task).value
    if target < 0:
        return FULL
    e = rows.executor(k, target)
    if task != e.first_task:
        return FULL
    return _queue_load(k, target) if e.worker == worker else e.reported_load


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
def _choose_scope(k: State, worker: int, first_task: int, n: int, scope: int, new: bool) -> int:
    """Return the scope until the next refresh; a ``new`` shuffle knows no loads."""
    while scope < kinds.IN_CLUSTER and _scope_load(k, worker, first_task, n, scope) < 0:
        scope += 1
    if new:
        return scope
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
        new = w.due == 0
        scope = _choose_scope(k, worker, first_task, n, w.scope, new)
        fresh = new or scope != w.scope
        w.scope = scope
        least = FULL
        for i in range(n):
            if _distance(k, worker, first_task + i) <= scope:
                least = min(least, _load(k, worker, first_task + i))
        for i in range(n):
            cell = rows.permutation(k, w.first + i)
            weight = 100 if fresh else cell.value % _IN_SCOPE
            inside = _distance(k, worker, first_task + i) <= scope
            if inside and not new:
                if _load(k, worker, first_task + i) <= least + 50:
                    weight = min(100, weight + 1)
                else:
                    weight = max(0, weight - 10)
            cell.value = weight + (_IN_SCOPE if inside else 0)
    w.index = 0
    for i in range(n):
        w.index += max(0, rows.permutation(k, w.first + i).value - _IN_SCOPE)
    # In 2.x only the worker's timer does so again.
    w.due = kinds.NEVER if s.version_2 != 0 else s.now + REFRESH_NS


@inline
def next_refresh(k: State, worker: int) -> int:
    """Return when a worker's timer fires next."""
    now = rows.s(k, 0).now
    jitter_ms = np.int64(random_bits.drawn(k, _JITTER + worker, now) >> np.uint64(33)) % JITTER_MS
    return now + REFRESH_NS + jitter_ms * NS_PER_MS


@entry
def refresh_loads(k: State, workers: int, executors: int, shuffles: int) -> int:
    """Let workers whose timers are due report their loads, and in 2.x recompute weights, also of idle tasks.

    Returns when to call it again at the latest; no worker that starts meanwhile is due before.
    """
    now = rows.s(k, 0).now
    for index in range(executors):
        e = rows.executor(k, index)
        if e.alive != 0:
            worker = rows.worker(k, e.worker)
            if worker.refresh_due <= now and worker.report_due < now:
                e.reported_load = _queue_load(k, index)
    for state in range(shuffles):
        w = rows.shuffle(k, state)
        # 1.x recomputes them when it emits.
        if w.due == kinds.NEVER:
            worker = rows.worker(k, w.worker)
            if worker.alive != 0 and worker.refresh_due <= now:
                c = rows.component(k, w.component)
                _rebuild(k, w.worker, state, c.first_task, c.tasks)
    first = now + REFRESH_NS
    for i in range(workers):
        worker = rows.worker(k, i)
        if worker.alive != 0:
            if worker.refresh_due <= now:
                worker.refresh_due = next_refresh(k, i)
                if worker.report_due < now:
                    worker.report_due = now + REPORT_NS
            first = min(first, worker.refresh_due)
    return first


@jit
def load_aware_target(k: State, task: int, worker: int, subscription: int, state: int) -> int:
    """Return the global index of the target task for one tuple."""
    c = rows.component(k, rows.subscription(k, subscription).component)
    n = c.tasks
    w = rows.shuffle(k, state)
    if w.worker != worker:
        # Its executor has moved, and begins anew.
        w.due, w.scope = 0, kinds.IN_PROCESS
    if rows.s(k, 0).now >= w.due:
        w.worker, w.component = worker, rows.subscription(k, subscription).component
        _rebuild(k, worker, state, c.first_task, n)
    if w.index == 0:
        return c.first_task + random_bits.random_below(k, task, n)
    draw = random_bits.random_below(k, task, w.index)
    for i in range(n):
        value = rows.permutation(k, w.first + i).value - _IN_SCOPE
        if value > 0:
            draw -= value
            if draw < 0:
                return c.first_task + i
    return c.first_task
