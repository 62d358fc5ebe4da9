"""Where tuples go: groupings choose tasks, and routing tables find their executors.

Groupings follow Storm (apache-storm versions 0.8 to 2.x; ``docs/emulator.md`` has a table of them). From 1.0
on shuffle is load-aware by default (`storm_lab.emulator.kernel.load_aware`).
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel import queues, random_bits
from storm_lab.emulator.kernel.load_aware import load_aware_target, locality_of
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


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
    if g == kinds.G_FIELDS or g == kinds.G_DIRECT:
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
