"""The event heap: what happens next, and to whom.

An *event source* is anything with at most one next event: a node's processor, a node's wake-up line, a
wire, a spout's source, a thread's timer. So the heap holds one entry per busy source, not one per tuple, and
an entry can be moved when its time changes. Equal times are served in the order in which they were scheduled
(a running counter).

Numbering of event sources: nodes' processors, nodes' wake-ups, channels, spouts' sources, then two per
thread (timer, period).
"""

from __future__ import annotations

from storm_lab.emulator.arrays import event_at, position_at, s_at
from storm_lab.emulator.jit import inline, jit
from storm_lab.emulator.layout import State


@inline
def timer_source(k: State, thread: int) -> int:
    """Event source of a thread's one-shot timer."""
    return s_at(k, 0).timers + 2 * thread


@inline
def period_source(k: State, thread: int) -> int:
    """Event source of a thread's periodic tick."""
    return s_at(k, 0).timers + 2 * thread + 1


@inline
def line_source(k: State, source: int) -> int:
    """Event source of a spout source: the turn that finds its next line."""
    s = s_at(k, 0)
    return 2 * s.nodes + s.channels + source


@inline
def _place(k: State, i: int, time: int, seq: int, source: int) -> None:
    e = event_at(k, i)
    e.time = time
    e.seq = seq
    e.source = source
    position_at(k, source).value = i


@jit
def _sift_up(k: State, i: int, time: int, seq: int, source: int) -> None:
    while i > 0:
        parent = (i - 1) >> 1
        p = event_at(k, parent)
        if p.time < time or (p.time == time and p.seq < seq):
            break
        _place(k, i, p.time, p.seq, p.source)
        i = parent
    _place(k, i, time, seq, source)


@jit
def _sift_down(k: State, i: int, time: int, seq: int, source: int) -> None:
    n = s_at(k, 0).heap_n
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        c = event_at(k, child)
        if child + 1 < n:
            d = event_at(k, child + 1)
            if d.time < c.time or (d.time == c.time and d.seq < c.seq):
                child += 1
                c = d
        if time < c.time or (time == c.time and seq < c.seq):
            break
        _place(k, i, c.time, c.seq, c.source)
        i = child
    _place(k, i, time, seq, source)


@jit
def schedule(k: State, source: int, time: int) -> None:
    """Set the time of a source's next event, whether it has one already or not."""
    s = s_at(k, 0)
    seq = s.seq
    s.seq = seq + 1
    i = position_at(k, source).value
    if i < 0:
        i = s.heap_n
        s.heap_n = i + 1
        _sift_up(k, i, time, seq, source)
    elif time < event_at(k, i).time:
        _sift_up(k, i, time, seq, source)
    else:
        _sift_down(k, i, time, seq, source)


@jit
def unschedule(k: State, source: int) -> None:
    """Take a source's event away; no effect when it has none."""
    i = position_at(k, source).value
    if i < 0:
        return
    position_at(k, source).value = -1
    s = s_at(k, 0)
    s.heap_n -= 1
    n = s.heap_n
    if i == n:
        return
    last = event_at(k, n)
    time, seq, source = last.time, last.seq, last.source
    if i > 0:
        p = event_at(k, (i - 1) >> 1)
        if time < p.time or (time == p.time and seq < p.seq):
            _sift_up(k, i, time, seq, source)
            return
    _sift_down(k, i, time, seq, source)
