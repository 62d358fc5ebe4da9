"""Where tuples go: groupings choose tasks, routes find their executors, wires carry them.

Groupings follow Storm (apache-storm versions 0.8 to 2.x): shuffle walks a shuffled list of the target tasks
and, up to 0.10, shuffles it anew at its end; fields takes the Java hash of the values modulo the number of
tasks.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.heap import schedule
from storm_lab.emulator.jit import inline, jit
from storm_lab.emulator.layout import (
    DATA,
    G_ALL,
    G_DIRECT,
    G_FIELDS,
    G_GLOBAL,
    G_LOCAL,
    G_NONE,
    G_PARTIAL,
    G_SHUFFLE_ONCE,
    IN_CLUSTER,
    IN_NODE,
    IN_PROCESS,
    IN_RACK,
    Kernel,
)
from storm_lab.emulator.queues import add_output, lose, new_message, next_random, random_below


@jit
def _walk(k: Kernel, task: int, state: int, targets: int, reshuffle: bool) -> int:
    """Next index of a shuffled walk over the targets."""
    w = k.shuffle[state]
    i = w.index
    if i >= targets:
        i = 0
        if reshuffle:
            for last in range(targets - 1, 0, -1):
                other = random_below(k, task, last + 1)
                a = w.first + last
                b = w.first + other
                k.permutation[a], k.permutation[b] = k.permutation[b], k.permutation[a]
    w.index = i + 1
    return k.permutation[w.first + i]


@jit
def choose_target(k: Kernel, task: int, worker: int, subscription: int, record: int) -> int:
    """Global index of the target task for one emit to one subscription that takes a single copy."""
    sub = k.subscription[subscription]
    c = k.component[sub.component]
    n = c.tasks
    g = sub.grouping
    if n == 1 or g == G_GLOBAL:
        return c.first_task
    if g in (G_FIELDS, G_DIRECT):
        return c.first_task + k.record[record].key % n
    state = k.task[task].shuffle + sub.own
    if g == G_NONE:
        return c.first_task + random_below(k, task, n)
    if g == G_PARTIAL:
        # Which of its two candidates this emitter has used less so far.
        first = k.shuffle[state].first
        a = k.record[record].key % n
        b = k.record[record].key2 % n
        chosen = a if k.permutation[first + a] <= k.permutation[first + b] else b
        k.permutation[first + chosen] += 1
        return c.first_task + chosen
    if g == G_LOCAL:
        row = k.worker[worker].route
        w = k.shuffle[state]
        for _ in range(n):
            w.index += 1
            i = k.permutation[w.first + w.index % n]
            e = k.route[row, c.first_task + i]
            if e >= 0 and k.executor[e].worker == worker:
                return c.first_task + i
    return c.first_task + _walk(k, task, state, n, g != G_SHUFFLE_ONCE)


@inline
def _fill(
    k: Kernel, m: int, kind: int, source_task: int, task: int, root: int, record: int, size: int
) -> None:
    message = k.message[m]
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
        k.root[root].references += 1


@jit
def emit_copy(
    k: Kernel, thread: int, source_task: int, task: int, root: int, record: int, size: int, number: int
) -> np.uint64:
    """Produce one copy of a tuple; returns its edge id (0 when it is not anchored)."""
    m = new_message(k)
    _fill(k, m, DATA, source_task, task, root, record, size)
    message = k.message[m]
    message.number = number
    if root >= 0:
        message.edge = next_random(k, source_task)
    add_output(k, thread, m)
    return message.edge


@jit
def emit_control(
    k: Kernel, thread: int, kind: int, source_task: int, task: int, root: int, edge: np.uint64
) -> None:
    """Produce a message to or from an acker."""
    m = new_message(k)
    # A root id, an XOR value and a task number: two longs and an int.
    _fill(k, m, kind, source_task, task, root, -1, 20)
    k.message[m].edge = edge
    add_output(k, thread, m)


@jit
def emit_all(
    k: Kernel, thread: int, executor: int, task: int, record: int, root: int, number: int
) -> np.uint64:
    """Make all emissions of a record; returns the XOR of the new edge ids."""
    r = k.record[record]
    t = k.task[task]
    worker = k.executor[executor].worker
    xor = np.uint64(0)
    for i in range(r.first_emission, r.first_emission + r.emissions):
        emission = k.emission[i]
        stream = k.stream[emission.stream]
        t.emitted += 1
        for j in range(stream.subscriptions):
            subscription = stream.first_subscription + j
            child = emission.first_record + j
            sub = k.subscription[subscription]
            if sub.grouping == G_ALL:
                c = k.component[sub.component]
                for target in range(c.first_task, c.first_task + c.tasks):
                    xor ^= emit_copy(k, thread, task, target, root, child, emission.bytes, number)
                t.transferred += c.tasks
            else:
                target = choose_target(k, task, worker, subscription, child)
                xor ^= emit_copy(k, thread, task, target, root, child, emission.bytes, number)
                t.transferred += 1
    return xor


@jit
def copies_of(k: Kernel, record: int) -> int:
    """How many copies the emissions of a record make."""
    r = k.record[record]
    copies = 0
    for i in range(r.first_emission, r.first_emission + r.emissions):
        stream = k.stream[k.emission[i].stream]
        for j in range(stream.subscriptions):
            sub = k.subscription[stream.first_subscription + j]
            copies += k.component[sub.component].tasks if sub.grouping == G_ALL else 1
    return copies


@jit
def resolve(k: Kernel, worker: int, m: int) -> int:
    """Find the executor that a message goes to, as ``worker`` sees the topology; -1 when it knows none.

    Notes how far the message will travel and counts it as traffic.
    """
    message = k.message[m]
    w = k.worker[worker]
    target = k.route[w.route, message.task]
    if target < 0:
        return -1
    other = k.executor[target].worker
    message.target = target
    if other == worker:
        locality = IN_PROCESS
    else:
        a = w.node
        b = k.worker[other].node
        if a == b:
            locality = IN_NODE
        elif k.node[a].rack == k.node[b].rack:
            locality = IN_RACK
        else:
            locality = IN_CLUSTER
    message.locality = locality
    if message.source_task >= 0:
        source = k.task[message.source_task]
        to = k.task[message.task]
        first = k.pair_first[source.component, to.component]
        if first >= 0:
            pair = first + source.local * k.component[to.component].tasks + to.local
            k.traffic[pair, locality] += 1
            k.traffic_bytes[pair, locality] += message.bytes
    return target


@jit
def transmit(k: Kernel, start: int, m: int) -> None:
    """Put a message on the wire from node ``start`` to its target's node.

    The network card sends one after another; a rack's uplink is shared by its nodes; in between lies a
    constant latency. So arrivals from one node over one channel are in order, as TCP keeps them.
    """
    message = k.message[m]
    s = k.s[0]
    to = k.worker[k.executor[message.target].worker].node
    channel_index = k.channel_of[start, to]
    channel = k.channel[channel_index]
    if channel.cut != 0:
        lose(k, m)
        return
    at = s.now
    if start != to:
        p = k.node[start]
        size = message.bytes + k.cost[0].header_bytes
        at = max(at, p.nic_out_free) + size * p.nic_ps_per_byte // 1000
        p.nic_out_free = at
        if message.locality == IN_CLUSTER and k.cost[0].uplink_ps_per_byte > 0:
            tx = size * k.cost[0].uplink_ps_per_byte // 1000
            up = k.rack[p.rack]
            at = max(at, up.out_free) + tx
            up.out_free = at
            down = k.rack[k.node[to].rack]
            at = max(at, down.in_free) + tx
            down.in_free = at
    message.time = at + channel.latency
    put_on_channel(k, channel_index, m)


@jit
def put_on_channel(k: Kernel, channel_index: int, m: int) -> None:
    """Append a message, whose arrival time is set, to a channel."""
    channel = k.channel[channel_index]
    k.message[m].next = -1
    if channel.head < 0:
        channel.head = m
        s = k.s[0]
        schedule(k, 2 * s.nodes + channel_index, k.message[m].time)
    else:
        # A connection delivers in order, also when its latency has just become shorter.
        last = k.message[channel.tail]
        last.next = m
        if k.message[m].time < last.time:
            k.message[m].time = last.time
    channel.tail = m
