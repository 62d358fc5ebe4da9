"""Where tuples go: groupings choose tasks, and routing tables find their executors.

Groupings follow Storm (apache-storm versions 0.8 to 2.x; ``docs/emulator.md`` has a table of them). From 1.0
on shuffle is load-aware by default: targets are drawn by weights that follow their queues. 1.x: the weight is
``int(101 - 100 * load)``, recomputed at most once a second. 2.x: a timer of each worker moves weights between
0 and 100 by steps (+1 for the least loaded, -10 for the others) inside a *scope*. The scope starts at the
sender's own worker. It widens to the node, the rack and everything when the average load in it exceeds 0.8,
and narrows below 0.2.
Storm 2.x walks a shuffled ring of picks; here every pick is drawn, which has the same shares and a little
more variance.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel import queues, random_bits
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State
from storm_lab.emulator.state.names import NS_PER_MS, NS_PER_S

REFRESH_NS, JITTER_MS = NS_PER_S, 500
"""Time between two refreshes of the weights, and in 2.x the limit of what a worker's timer adds to it at
random (``Worker.doRefreshLoad`` and ``StormTimer.scheduleRecurringWithJitter`` of 2.8.3).
"""
_WIDEN, _NARROW = 800, 200  # topology.localityaware.higher.bound and lower.bound, in 1/1000
_JITTER = 1 << 32  # the first of the streams of random bits for timers
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
        least = 1000
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
    """Return when a worker of 2.x next recomputes its tasks' weights."""
    now = rows.s(k, 0).now
    jitter_ms = np.int64(random_bits.drawn(k, _JITTER + worker, now) >> np.uint64(33)) % JITTER_MS
    return now + REFRESH_NS + jitter_ms * NS_PER_MS


@entry
def refresh_weights(k: State, workers: int, shuffles: int) -> int:
    """2.x: recompute the weights of workers whose timers are due, also for tasks that emit nothing.

    Returns when to call it again at the latest; no worker that starts meanwhile is due before.
    """
    now = rows.s(k, 0).now
    for state in range(shuffles):
        w = rows.shuffle(k, state)
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


@jit
def _next_shuffled(k: State, task: int, state: int, targets: int, reshuffle: bool) -> int:
    """Return the next index of a walk over the shuffled list of targets."""
    w = rows.shuffle(k, state)
    i = w.index
    if i >= targets:
        i = 0
        if reshuffle:
            for last in range(targets - 1, 0, -1):
                a = rows.permutation(k, w.first + last)
                b = rows.permutation(k, w.first + random_bits.random_below(k, task, last + 1))
                a.value, b.value = b.value, a.value
    w.index = i + 1
    return rows.permutation(k, w.first + i).value


@jit
def choose_target(k: State, task: int, worker: int, subscription: int, record: int) -> int:
    """Return the global index of the target task of one emit, for a subscription that takes a single copy."""
    sub = rows.subscription(k, subscription)
    c = rows.component(k, sub.component)
    n = c.tasks
    g = sub.grouping
    if n == 1 or g == kinds.G_GLOBAL:
        return c.first_task
    if g in (kinds.G_FIELDS, kinds.G_DIRECT):
        return c.first_task + rows.record(k, record).key % n
    state = rows.task(k, task).shuffle + sub.own
    if g == kinds.G_LOAD_AWARE:
        return load_aware_target(k, task, worker, subscription, state)
    if g == kinds.G_NONE:
        return c.first_task + random_bits.random_below(k, task, n)
    if g == kinds.G_PARTIAL:
        # Of the two candidates, choose the one that this emitter has used less so far.
        first = rows.shuffle(k, state).first
        a = rows.record(k, record).key % n
        b = rows.record(k, record).key2 % n
        chosen = a if rows.permutation(k, first + a).value <= rows.permutation(k, first + b).value else b
        rows.permutation(k, first + chosen).value += 1
        return c.first_task + chosen
    if g == kinds.G_LOCAL:
        # Take the targets in the sender's own worker in turn; if there are none, shuffle over all.
        route = rows.worker(k, worker).route
        w = rows.shuffle(k, state)
        for _ in range(n):
            w.local = (w.local + 1) % n
            e = rows.route(k, route + c.first_task + w.local).value
            if e >= 0 and rows.executor(k, e).worker == worker:
                return c.first_task + w.local
        if sub.load_aware != 0:
            return load_aware_target(k, task, worker, subscription, state)
    return c.first_task + _next_shuffled(k, task, state, n, rows.s(k, 0).version_1 == 0)


@inline
def make_message(k: State, kind: int, source_task: int, task: int, root: int, record: int, size: int) -> int:
    """Take a message from the pool and fill it in; it has no edge and is not logged."""
    m = queues.new_message(k)
    message = rows.message(k, m)
    message.kind, message.locality = kind, kinds.IN_PROCESS
    message.source_task, message.task, message.target = source_task, task, -1
    message.root, message.edge, message.number = root, np.uint64(0), -1
    message.record, message.bytes = record, size
    if root >= 0:
        rows.root(k, root).references += 1
    return m


@jit
def emit_control(
    k: State, thread: int, kind: int, source_task: int, task: int, root: int, edge: np.uint64
) -> None:
    """Produce a message to or from an acker."""
    # A root id, an XOR value and a task number: two longs and an int.
    m = make_message(k, kind, source_task, task, root, -1, 20)
    rows.message(k, m).edge = edge
    queues.add_output(k, thread, m)


@jit
def emit_all(
    k: State, thread: int, executor: int, task: int, record: int, root: int, number: int
) -> np.uint64:
    """Make all emissions of a record; returns the XOR of the new edge ids."""
    r = rows.record(k, record)
    t = rows.task(k, task)
    worker = rows.executor(k, executor).worker
    first_stream = rows.topology(k, rows.executor(k, executor).topology).first_stream
    xor = np.uint64(0)
    for i in range(r.first_emission, r.first_emission + r.emissions):
        emission = rows.emission(k, i)
        stream = rows.stream(k, first_stream + emission.stream)
        t.emitted += 1
        for j in range(stream.subscriptions):
            subscription = stream.first_subscription + j
            child = emission.first_record + j
            sub = rows.subscription(k, subscription)
            if sub.grouping == kinds.G_ALL:
                first = rows.component(k, sub.component).first_task
                copies = rows.component(k, sub.component).tasks
            else:
                first, copies = choose_target(k, task, worker, subscription, child), 1
            for target in range(first, first + copies):
                m = make_message(k, kinds.DATA, task, target, root, child, emission.bytes)
                rows.message(k, m).number = number
                if root >= 0:
                    edge = random_bits.next_random(k, task)
                    rows.message(k, m).edge = edge
                    xor ^= edge
                queues.add_output(k, thread, m)
            t.transferred += copies
    return xor


@jit
def count_copies(k: State, topology: int, record: int) -> int:
    """Return how many copies the emissions of a record make in a topology."""
    first_stream = rows.topology(k, topology).first_stream
    r = rows.record(k, record)
    copies = 0
    for i in range(r.first_emission, r.first_emission + r.emissions):
        emission = rows.emission(k, i)
        stream = rows.stream(k, first_stream + emission.stream)
        for j in range(stream.subscriptions):
            # The record's key is read when the emission is made.
            rows.fetch_record(k, emission.first_record + j)
            sub = rows.subscription(k, stream.first_subscription + j)
            copies += rows.component(k, sub.component).tasks if sub.grouping == kinds.G_ALL else 1
    return copies


@jit
def resolve(k: State, worker: int, m: int) -> int:
    """Find a message's executor and locality as ``worker`` sees them, and count the traffic; -1: unknown."""
    message = rows.message(k, m)
    w = rows.worker(k, worker)
    target = rows.route(k, w.route + message.task).value
    if target < 0:
        return -1
    message.target = target
    locality = locality_of(k, worker, rows.executor(k, target).worker)
    message.locality = locality
    if message.source_task >= 0:
        source, to = rows.task(k, message.source_task), rows.task(k, message.task)
        sender = rows.component(k, source.component)
        for i in range(sender.first_pair, sender.first_pair + sender.pairs):
            pair = rows.pair(k, i)
            if pair.component == to.component:
                index = pair.first + source.local * rows.component(k, to.component).tasks + to.local
                cell = rows.traffic(k, locality * rows.s(k, 0).task_pairs + index)
                cell.tuples += 1
                cell.bytes += message.bytes
                break
    return target
