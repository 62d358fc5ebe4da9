"""Reliability: roots, the XOR ledger in the acker executors, and the spouts' pending maps.

This is Storm's algorithm (Storm@Twitter section 2.3; Storm 0.8 to 2.x; ``docs/emulator.md``). The ledger
entry is kept in the root's record but belongs to one acker executor: when that executor dies, or its map has
been rotated often enough, the entry is gone. A spout's pending map is one list of roots in the order of their
buckets, where those more than a bucket old have expired.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from storm_lab.emulator.kernel import queues, random_bits, routing, source_queue
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State

# Most roots that one call of lose_pending gives up; limits the log rows that it writes.
MAX_LOST_ROOTS = 4096


@jit
def open_root(k: State, executor: int, task: int, number: int) -> int:
    """Open a root tuple that its spout will wait for; the pool of roots must not be empty."""
    s = rows.s(k, 0)
    root = s.free_root
    r = rows.root(k, root)
    s.free_root = r.next
    s.free_roots -= 1
    e = rows.executor(k, executor)
    r.id = random_bits.next_random(k, task)
    r.executor, r.task, r.number = executor, task, number
    r.line, r.attempt = e.line, e.attempt
    r.ledger = np.uint64(0)
    r.references = r.rotation = r.outcome = r.failed = 0
    r.acker = r.init_time = r.delta = -1
    r.emitted, r.sleep = s.now, rows.source(k, e.source).sleep
    _link(k, root)
    e.pending += 1
    return root


@inline
def _link(k: State, root: int) -> None:
    """Put a root into the newest bucket of its spout's pending map."""
    r = rows.root(k, root)
    e = rows.executor(k, r.executor)
    r.bucket = e.bucket
    r.next = -1
    r.previous = e.last_pending
    if e.last_pending >= 0:
        rows.root(k, e.last_pending).next = root
    else:
        e.first_pending = root
    e.last_pending = root


@jit
def extend_root(k: State, root: int) -> None:
    """Restart a root's time-out, as its acker asks the spout to; no effect if it has expired."""
    if age_of(k, root) < 2:
        _unlink(k, root)
        _link(k, root)


@inline
def _unlink(k: State, root: int) -> None:
    """Remove a root from its spout's pending map."""
    r = rows.root(k, root)
    e = rows.executor(k, r.executor)
    before, after = r.previous, r.next
    if before >= 0:
        rows.root(k, before).next = after
    else:
        e.first_pending = after
    if after >= 0:
        rows.root(k, after).previous = before
    else:
        e.last_pending = before


@inline
def _log_root(k: State, topology: int, task: int, number: int, outcome: int) -> Any:
    """Add a row to the log of roots, for one that ends now; returns the row, to be completed."""
    s = rows.s(k, 0)
    row = rows.root_row(k, s.root_rows)
    s.root_rows += 1
    row.topology, row.task, row.number = topology, task, number
    row.completed, row.outcome = s.now, outcome
    return row


@jit
def close_root(k: State, root: int, outcome: int) -> None:
    """Close a root whose outcome its spout has learned: log it, tell the source, forget it."""
    s = rows.s(k, 0)
    r = rows.root(k, root)
    e = rows.executor(k, r.executor)
    _unlink(k, root)
    e.pending -= 1
    row = _log_root(k, e.topology, r.task, r.number, outcome)
    row.line, row.attempt = r.line, r.attempt
    row.emitted, row.sleep = r.emitted, r.sleep
    row.latency = r.delta if s.version_1 != 0 else s.now - r.emitted
    if outcome == kinds.ACKED:
        rows.task(k, r.task).acked += 1
    else:
        rows.task(k, r.task).failed += 1
    source = rows.source(k, e.source)
    # Nobody tells a caller that the spout with its call has died.
    time = s.now if outcome != kinds.LOST else max(s.now, r.emitted + source.patience)
    if outcome != kinds.ACKED and source.replay != 0:
        source_queue.return_line(k, e.source, r.line, r.attempt + 1, time)
    elif source.kind == kinds.S_CLOSED:
        source_queue.return_line(k, e.source, -1, 0, time + source.answer)
    r.executor = -1
    if r.references == 0:
        queues.release_root(k, root)


@jit
def ack_untracked(k: State, executor: int, task: int, number: int) -> None:
    """Ack a root with a message id at once, with latency 0, because its topology has no ackers."""
    now = rows.s(k, 0).now
    e = rows.executor(k, executor)
    row = _log_root(k, e.topology, task, number, kinds.ACKED)
    row.line, row.attempt = e.line, e.attempt
    row.emitted, row.sleep, row.latency = now, 0, 0
    rows.task(k, task).acked += 1
    source = rows.source(k, e.source)
    if source.kind == kinds.S_CLOSED:
        source_queue.return_line(k, e.source, -1, 0, now + source.answer)


@inline
def age_of(k: State, root: int) -> int:
    """Return how old the bucket of a pending root is: 0 or 1, or 2 if the root has expired."""
    r = rows.root(k, root)
    return min(2, rows.executor(k, r.executor).bucket - r.bucket)


@inline
def has_expired(k: State, executor: int) -> bool:
    """Return whether a spout's pending map has a root that has expired."""
    first = rows.executor(k, executor).first_pending
    return first >= 0 and age_of(k, first) == 2


@jit
def fail_expired(k: State, executor: int, most: int) -> None:
    """Fail up to ``most`` roots that have expired from the pending map."""
    while most > 0 and has_expired(k, executor):
        most -= 1
        close_root(k, rows.executor(k, executor).first_pending, kinds.TIMED_OUT)


@entry
def lose_pending(k: State, executor: int) -> int:
    """Give up at most MAX_LOST_ROOTS roots of a dying spout, newest first; returns how many are left."""
    e = rows.executor(k, executor)
    root = -1
    for _ in range(min(e.pending, MAX_LOST_ROOTS)):
        if root < 0:
            # Go back to the first root of the newest bucket that is not empty.
            root = e.last_pending
            while root != e.first_pending and age_of(k, rows.root(k, root).previous) == age_of(k, root):
                root = rows.root(k, root).previous
        after = rows.root(k, root).next
        close_root(k, root, kinds.LOST)
        root = after
    return e.pending


@jit
def acker_execute(k: State, thread: int, executor: int, m: int) -> None:
    """Let an acker handle one message: update the ledger, and tell the spout what follows.

    The spout is told when the tree is complete, has failed, or has been given more time. A result that
    answers a call takes the path of the ack of the tuple that brought it; the rest of the tree is not waited
    for.
    """
    message = rows.message(k, m)
    root = message.root
    r = rows.root(k, root)
    e = rows.executor(k, executor)
    s = rows.s(k, 0)
    timeout = rows.topology(k, e.topology).timeout
    rotation = (s.now - e.started) // timeout
    kind = message.kind
    # The map has two buckets, and three in 2.x.
    fresh = r.acker != executor or rotation - r.rotation >= 2 + s.version_2
    if fresh:
        if kind == kinds.RESET:
            return
        r.acker, r.init_time, r.failed = executor, -1, 0
        r.ledger = np.uint64(0)
    # Up to 0.10 every message renews the entry; from 1.0 on only a fail and a reset do.
    if s.version_1 == 0 or fresh or kind == kinds.FAIL or kind == kinds.RESET:
        r.rotation = rotation
    if kind == kinds.INIT or kind == kinds.ACK or kind == kinds.ANSWER:
        r.ledger ^= message.edge
    if kind == kinds.INIT:
        r.init_time = s.now
    elif kind == kinds.FAIL:
        r.failed = 1
    if r.init_time < 0:
        return
    if r.failed != 0:
        news = kinds.FAILED
    elif r.ledger == np.uint64(0) or kind == kinds.ANSWER:
        news = kinds.COMPLETE
        r.delta = s.now - r.init_time
    elif kind == kinds.RESET:
        news = kinds.EXTENDED
    else:
        return
    if news != kinds.EXTENDED:
        r.acker = -1
    routing.emit_control(k, thread, news, message.task, r.task, root, np.uint64(0))


@inline
def answers_first(k: State, root: int) -> bool:
    """Return whether the root is a call that is answered by its first result."""
    executor = rows.root(k, root).executor
    return executor >= 0 and rows.source(k, rows.executor(k, executor).source).first_result != 0


@jit
def send_to_acker(
    k: State, thread: int, kind: int, task: int, topology_index: int, root: int, edge: np.uint64
) -> None:
    """Produce an init, ack, fail or reset message to the acker that keeps this root."""
    topology = rows.topology(k, topology_index)
    # The fields grouping on the root id: Java's hash of a list that holds one Long.
    root_id = rows.root(k, root).id
    folded = np.int64((root_id ^ (root_id >> np.uint64(32))) & np.uint64(0xFFFFFFFF))
    value = (31 + folded) & 0xFFFFFFFF
    if value >= 0x80000000:
        value -= 0x100000000
    target = rows.component(k, topology.acker_component).first_task + value % topology.ackers
    routing.emit_control(k, thread, kind, task, target, root, edge)
