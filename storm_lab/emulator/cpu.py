"""A node's processor: fair sharing of cores between the threads that want CPU.

With n such threads and c cores every thread runs at speed ``share = min(1, capacity(n) / n)``; hardware
threads beyond the cores add ``ht_gain`` of a core each. This is the fluid limit of a fair operating-system
scheduler with a small time slice. A node keeps one *virtual time* that advances at ``share``; a thread that
starts a burst of work w finishes when virtual time has advanced by w, whatever comes and goes meanwhile. So
a change of n moves one number, not n finish times.

Virtual time is an integer in units of 2**-SHARE_BITS ns: exact ties, same bytes everywhere.
"""

from __future__ import annotations

from storm_lab.emulator.heap import schedule, unschedule
from storm_lab.emulator.jit import inline, jit
from storm_lab.emulator.layout import RUNNING, SHARE_BITS, Kernel


@inline
def share_of(k: Kernel, node: int) -> int:
    """Speed of each active thread, of 2**SHARE_BITS."""
    p = k.node[node]
    n = p.active
    if n <= p.cores:
        return 1 << SHARE_BITS
    used = min(n, p.threads)
    capacity = p.cores * 1024 + (used - p.cores) * p.ht_gain
    return (capacity << (SHARE_BITS - 10)) // n


@inline
def advance(k: Kernel, node: int) -> None:
    """Bring a node's virtual time up to now."""
    p = k.node[node]
    now = k.s[0].now
    if p.active > 0:
        p.v += (now - p.v_at) * share_of(k, node)
    p.v_at = now


@inline
def _before(k: Kernel, a: int, b: int) -> bool:
    x = k.thread[a]
    y = k.thread[b]
    return x.v_finish < y.v_finish or (x.v_finish == y.v_finish and x.v_seq < y.v_seq)


@inline
def _put(k: Kernel, node: int, i: int, thread: int) -> None:
    k.run_queue[node, i] = thread
    k.thread[thread].heap_pos = i


@jit
def _up(k: Kernel, node: int, i: int, thread: int) -> None:
    while i > 0:
        parent = (i - 1) >> 1
        other = k.run_queue[node, parent]
        if _before(k, other, thread):
            break
        _put(k, node, i, other)
        i = parent
    _put(k, node, i, thread)


@jit
def _down(k: Kernel, node: int, i: int, thread: int) -> None:
    n = k.node[node].active
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        c = k.run_queue[node, child]
        if child + 1 < n:
            d = k.run_queue[node, child + 1]
            if _before(k, d, c):
                child += 1
                c = d
        if _before(k, thread, c):
            break
        _put(k, node, i, c)
        i = child
    _put(k, node, i, thread)


@jit
def start_burst(k: Kernel, thread: int, work: int) -> None:
    """Let a thread want CPU for ``work`` ns (at the reference clock) from now on."""
    t = k.thread[thread]
    node = t.node
    advance(k, node)
    p = k.node[node]
    warm = k.worker[t.worker].warm_excess
    if warm > 0:
        work += (work * warm) >> 16
    if p.active >= p.threads:
        # Context switch and cache refill, growing with the run queue up to four threads per core.
        work += k.cost[0].switch * min(p.active // p.threads, 4)
    work = (work * p.slow * p.extra) >> 20
    s = k.s[0]
    t.work = work
    t.v_finish = p.v + (work << SHARE_BITS)
    t.v_seq = s.seq
    s.seq += 1
    t.state = RUNNING
    p.active += 1
    _up(k, node, p.active - 1, thread)


@jit
def leave_cpu(k: Kernel, thread: int) -> None:
    """Take a thread out of its node's run queue, done or killed."""
    t = k.thread[thread]
    node = t.node
    i = t.heap_pos
    p = k.node[node]
    p.active -= 1
    n = p.active
    t.heap_pos = -1
    if i == n:
        return
    last = k.run_queue[node, n]
    if i > 0 and _before(k, last, k.run_queue[node, (i - 1) >> 1]):
        _up(k, node, i, last)
    else:
        _down(k, node, i, last)


@jit
def reschedule(k: Kernel, node: int) -> None:
    """Tell the event heap when the node's next burst ends."""
    p = k.node[node]
    if p.active == 0:
        unschedule(k, node)
        return
    advance(k, node)
    missing = k.thread[k.run_queue[node, 0]].v_finish - p.v
    time = p.v_at
    if missing > 0:
        share = share_of(k, node)
        time += (missing + share - 1) // share
    i = k.position[node]
    if i < 0 or k.event[i].time != time:
        schedule(k, node, time)
