"""A node's processor: fair sharing of cores between the threads that want CPU.

With n such threads and c cores every thread runs at speed ``share = min(1, capacity(n) / n)``; hardware
threads beyond the cores add ``ht_gain`` of a core each. This is the fluid limit of a fair operating-system
scheduler with a small time slice. A node keeps one *virtual time* that advances at ``share``; a thread that
starts a burst of work w finishes when virtual time has advanced by w, whatever comes and goes meanwhile. So
a change of n moves one number, not n finish times.

Virtual time is an integer in units of 2**-SHARE_BITS ns: exact ties, same bytes everywhere.
"""

from __future__ import annotations

from storm_lab.emulator.arrays import (
    cost_at,
    event_at,
    node_at,
    position_at,
    run_queue_at,
    s_at,
    thread_at,
    worker_at,
)
from storm_lab.emulator.heap import schedule, unschedule
from storm_lab.emulator.jit import inline, jit
from storm_lab.emulator.kinds import RUNNING, SHARE_BITS
from storm_lab.emulator.layout import State


@inline
def share_of(k: State, node: int) -> int:
    """Speed of each active thread, of 2**SHARE_BITS."""
    p = node_at(k, node)
    n = p.active
    if n <= p.cores:
        return 1 << SHARE_BITS
    used = min(n, p.threads)
    capacity = p.cores * 1024 + (used - p.cores) * p.ht_gain
    return (capacity << (SHARE_BITS - 10)) // n


@inline
def advance(k: State, node: int) -> None:
    """Bring a node's virtual time up to now."""
    p = node_at(k, node)
    now = s_at(k, 0).now
    if p.active > 0:
        p.v += (now - p.v_at) * share_of(k, node)
    p.v_at = now


@inline
def _before(k: State, a: int, b: int) -> bool:
    x = thread_at(k, a)
    y = thread_at(k, b)
    return x.v_finish < y.v_finish or (x.v_finish == y.v_finish and x.v_seq < y.v_seq)


@inline
def _put(k: State, node: int, i: int, thread: int) -> None:
    run_queue_at(k, node * s_at(k, 0).queue_width + i).value = thread
    thread_at(k, thread).heap_pos = i


@jit
def _up(k: State, node: int, i: int, thread: int) -> None:
    while i > 0:
        parent = (i - 1) >> 1
        other = run_queue_at(k, node * s_at(k, 0).queue_width + parent).value
        if _before(k, other, thread):
            break
        _put(k, node, i, other)
        i = parent
    _put(k, node, i, thread)


@jit
def _down(k: State, node: int, i: int, thread: int) -> None:
    n = node_at(k, node).active
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        c = run_queue_at(k, node * s_at(k, 0).queue_width + child).value
        if child + 1 < n:
            d = run_queue_at(k, node * s_at(k, 0).queue_width + child + 1).value
            if _before(k, d, c):
                child += 1
                c = d
        if _before(k, thread, c):
            break
        _put(k, node, i, c)
        i = child
    _put(k, node, i, thread)


@jit
def start_burst(k: State, thread: int, work: int) -> None:
    """Let a thread want CPU for ``work`` ns (at the reference clock) from now on."""
    t = thread_at(k, thread)
    node = t.node
    advance(k, node)
    p = node_at(k, node)
    w = worker_at(k, t.worker)
    excess = w.warm_excess + w.heap_excess
    if excess > 0:
        work += (work * excess) >> 16
    if p.active >= p.threads:
        # Context switch and cache refill, growing with the run queue up to four threads per core.
        work += cost_at(k, 0).switch * min(p.active // p.threads, 4)
    work = (work * p.slow * p.extra) >> 20
    s = s_at(k, 0)
    t.work = work
    t.v_finish = p.v + (work << SHARE_BITS)
    t.v_seq = s.seq
    s.seq += 1
    t.state = RUNNING
    p.active += 1
    _up(k, node, p.active - 1, thread)


@jit
def leave_cpu(k: State, thread: int) -> None:
    """Take a thread out of its node's run queue, done or killed."""
    t = thread_at(k, thread)
    node = t.node
    i = t.heap_pos
    p = node_at(k, node)
    p.active -= 1
    n = p.active
    t.heap_pos = -1
    if i == n:
        return
    last = run_queue_at(k, node * s_at(k, 0).queue_width + n).value
    parent = node * s_at(k, 0).queue_width + ((i - 1) >> 1)
    if i > 0 and _before(k, last, run_queue_at(k, parent).value):
        _up(k, node, i, last)
    else:
        _down(k, node, i, last)


@jit
def reschedule(k: State, node: int) -> None:
    """Tell the event heap when the node's next burst ends."""
    p = node_at(k, node)
    if p.active == 0:
        unschedule(k, node)
        return
    advance(k, node)
    missing = thread_at(k, run_queue_at(k, node * s_at(k, 0).queue_width + 0).value).v_finish - p.v
    time = p.v_at
    if missing > 0:
        share = share_of(k, node)
        time += (missing + share - 1) // share
    i = position_at(k, node).value
    if i < 0 or event_at(k, i).time != time:
        schedule(k, node, time)
