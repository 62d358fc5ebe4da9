"""Where tuples go: groupings choose tasks, and routing tables find their executors.

Groupings follow Storm (apache-storm versions 0.8 to 2.x): shuffle walks a shuffled list of the target tasks
and, up to 0.10, shuffles it again at its end; fields takes the Java hash of the values modulo the number of
tasks.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel.load_aware import load_aware_target
from storm_lab.emulator.kernel.queues import add_output, new_message, next_random, random_below
from storm_lab.emulator.state.arrays import (
    component_at,
    emission_at,
    executor_at,
    fetch_record,
    message_at,
    moved_at,
    pair_at,
    permutation_at,
    record_at,
    root_at,
    route_at,
    s_at,
    shuffle_at,
    stream_at,
    subscription_at,
    task_at,
    topology_at,
    traffic_at,
    worker_at,
)
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.kinds import (
    DATA,
    G_ALL,
    G_DIRECT,
    G_FIELDS,
    G_GLOBAL,
    G_LOAD_AWARE,
    G_LOCAL,
    G_NONE,
    G_PARTIAL,
    IN_CLUSTER,
    IN_NODE,
    IN_PROCESS,
    IN_RACK,
)
from storm_lab.emulator.state.layout import State


@jit
def _next_shuffled(k: State, task: int, state: int, targets: int, reshuffle: bool) -> int:
    """Return the next index of a walk over the shuffled list of targets."""
    w = shuffle_at(k, state)
    i = w.index
    if i >= targets:
        i = 0
        if reshuffle:
            for last in range(targets - 1, 0, -1):
                other = random_below(k, task, last + 1)
                a = w.first + last
                b = w.first + other
                permutation_at(k, a).value, permutation_at(k, b).value = (
                    permutation_at(k, b).value,
                    permutation_at(k, a).value,
                )
    w.index = i + 1
    return permutation_at(k, w.first + i).value


@jit
def choose_target(k: State, task: int, worker: int, subscription: int, record: int) -> int:
    """Return the global index of the target task of one emit, for a subscription that takes a single copy."""
    sub = subscription_at(k, subscription)
    c = component_at(k, sub.component)
    n = c.tasks
    g = sub.grouping
    if n == 1 or g == G_GLOBAL:
        return c.first_task
    if g in (G_FIELDS, G_DIRECT):
        return c.first_task + record_at(k, record).key % n
    state = task_at(k, task).shuffle + sub.own
    if g == G_LOAD_AWARE:
        return load_aware_target(k, task, worker, subscription, state)
    if g == G_NONE:
        return c.first_task + random_below(k, task, n)
    if g == G_PARTIAL:
        # Of the two candidates, choose the one that this emitter has used less so far.
        first = shuffle_at(k, state).first
        a = record_at(k, record).key % n
        b = record_at(k, record).key2 % n
        chosen = a if permutation_at(k, first + a).value <= permutation_at(k, first + b).value else b
        permutation_at(k, first + chosen).value += 1
        return c.first_task + chosen
    if g == G_LOCAL:
        # Take the targets in the sender's own worker in turn; if there are none, shuffle over all.
        route = worker_at(k, worker).route
        w = shuffle_at(k, state)
        for _ in range(n):
            w.local = (w.local + 1) % n
            e = route_at(k, route + c.first_task + w.local).value
            if e >= 0 and executor_at(k, e).worker == worker:
                return c.first_task + w.local
        if sub.load_aware != 0:
            return load_aware_target(k, task, worker, subscription, state)
    return c.first_task + _next_shuffled(k, task, state, n, s_at(k, 0).version_1 == 0)


@inline
def _fill(
    k: State, m: int, kind: int, source_task: int, task: int, root: int, record: int, size: int
) -> None:
    message = message_at(k, m)
    message.kind = kind
    message.locality = IN_PROCESS
    message.task = task
    message.target = -1
    message.source_task = source_task
    message.root = root
    message.record = record
    message.bytes = size
    message.edge = np.uint64(0)
    message.number = -1
    if root >= 0:
        root_at(k, root).references += 1


@jit
def emit_copy(
    k: State, thread: int, source_task: int, task: int, root: int, record: int, size: int, number: int
) -> np.uint64:
    """Produce one copy of a tuple; returns its edge id (0 when it is not anchored)."""
    m = new_message(k)
    _fill(k, m, DATA, source_task, task, root, record, size)
    message = message_at(k, m)
    message.number = number
    if root >= 0:
        message.edge = next_random(k, source_task)
    add_output(k, thread, m)
    return message.edge


@jit
def emit_control(
    k: State, thread: int, kind: int, source_task: int, task: int, root: int, edge: np.uint64
) -> None:
    """Produce a message to or from an acker."""
    m = new_message(k)
    # A root id, an XOR value and a task number: two longs and an int.
    _fill(k, m, kind, source_task, task, root, -1, 20)
    message_at(k, m).edge = edge
    add_output(k, thread, m)


@jit
def emit_all(
    k: State, thread: int, executor: int, task: int, record: int, root: int, number: int
) -> np.uint64:
    """Make all emissions of a record; returns the XOR of the new edge ids."""
    r = record_at(k, record)
    t = task_at(k, task)
    worker = executor_at(k, executor).worker
    first_stream = topology_at(k, executor_at(k, executor).topology).first_stream
    xor = np.uint64(0)
    for i in range(r.first_emission, r.first_emission + r.emissions):
        emission = emission_at(k, i)
        stream = stream_at(k, first_stream + emission.stream)
        t.emitted += 1
        for j in range(stream.subscriptions):
            subscription = stream.first_subscription + j
            child = emission.first_record + j
            sub = subscription_at(k, subscription)
            if sub.grouping == G_ALL:
                c = component_at(k, sub.component)
                for target in range(c.first_task, c.first_task + c.tasks):
                    xor ^= emit_copy(k, thread, task, target, root, child, emission.bytes, number)
                t.transferred += c.tasks
            else:
                target = choose_target(k, task, worker, subscription, child)
                xor ^= emit_copy(k, thread, task, target, root, child, emission.bytes, number)
                t.transferred += 1
    return xor


@jit
def count_copies(k: State, topology: int, record: int) -> int:
    """Return how many copies the emissions of a record make in a topology."""
    first_stream = topology_at(k, topology).first_stream
    r = record_at(k, record)
    copies = 0
    for i in range(r.first_emission, r.first_emission + r.emissions):
        emission = emission_at(k, i)
        stream = stream_at(k, first_stream + emission.stream)
        for j in range(stream.subscriptions):
            # The record's key is read when the emission is made.
            fetch_record(k, emission.first_record + j)
            sub = subscription_at(k, stream.first_subscription + j)
            copies += component_at(k, sub.component).tasks if sub.grouping == G_ALL else 1
    return copies


@inline
def _count(k: State, m: int, locality: int) -> None:
    """Count a message as traffic between its tasks."""
    message = message_at(k, m)
    source = task_at(k, message.source_task)
    to = task_at(k, message.task)
    sender = component_at(k, source.component)
    for i in range(sender.first_pair, sender.first_pair + sender.pairs):
        pair = pair_at(k, i)
        if pair.component == to.component:
            index = pair.first + source.local * component_at(k, to.component).tasks + to.local
            cell = traffic_at(k, index)
            if cell.locality != locality:
                _change_locality(k, index, locality)
            cell.tuples += 1
            cell.bytes += message.bytes
            return


@jit
def _change_locality(k: State, index: int, locality: int) -> None:
    """Set a new locality for a pair of tasks, and move its counts so far to MOVED."""
    cell = traffic_at(k, index)
    s = s_at(k, 0)
    if cell.tuples > 0:
        if s.moved == s.max_moved:
            # If thousands of pairs move in one event, they count for the old locality until the next reading.
            return
        row = moved_at(k, s.moved)
        s.moved += 1
        row.pair = index
        row.locality = cell.locality
        row.tuples = cell.tuples
        row.bytes = cell.bytes
        cell.tuples = 0
        cell.bytes = 0
    cell.locality = locality


@jit
def resolve(k: State, worker: int, m: int) -> int:
    """Find the executor that a message goes to, as ``worker`` sees the topology; -1 if it knows none.

    Also notes how far the message will travel, and counts it as traffic.
    """
    message = message_at(k, m)
    w = worker_at(k, worker)
    target = route_at(k, w.route + message.task).value
    if target < 0:
        return -1
    other = executor_at(k, target).worker
    message.target = target
    if other == worker:
        locality = IN_PROCESS
    else:
        there = worker_at(k, other)
        if w.node == there.node:
            locality = IN_NODE
        elif w.rack == there.rack:
            locality = IN_RACK
        else:
            locality = IN_CLUSTER
    message.locality = locality
    if message.source_task >= 0:
        _count(k, m, locality)
    return target
