"""The event heap: the next events, each with its time and its event source.

An *event source* is anything that has at most one next event: a node's processor, a node's list of threads
that were woken, a channel, a spout's source, a thread's timer or period. So there is one event for each busy
source, not one for each tuple. Events at equal times are served in the order in which they were scheduled (a
running counter, `seq`). In a large cluster only what is due soon is in the heap (``schedule.py``).

Event sources are numbered in this order: nodes' processors, nodes' wake-ups, channels, spouts' sources, then
two for each thread (timer, period).
"""

from __future__ import annotations

from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def timer_source(k: State, thread: int) -> int:
    """Return the event source of a thread's one-shot timer."""
    return rows.s(k, 0).timers + 2 * thread


@inline
def period_source(k: State, thread: int) -> int:
    """Return the event source of a thread's periodic tick."""
    return rows.s(k, 0).timers + 2 * thread + 1


@inline
def source_event(k: State, source: int) -> int:
    """Return the event source of a spout's source: the turn that finds its next line."""
    s = rows.s(k, 0)
    return 2 * s.nodes + s.channels + source


@inline
def _place(k: State, i: int, time: int, seq: int, source: int) -> None:
    e = rows.event(k, i)
    e.time = time
    e.seq = seq
    e.source = source
    rows.slot(k, source).place = i


@jit
def sift_up(k: State, i: int, time: int, seq: int, source: int) -> None:
    """Put an event at place ``i`` or nearer to the top of the heap."""
    while i > 0:
        parent = (i - 1) >> 1
        p = rows.event(k, parent)
        if p.time < time or (p.time == time and p.seq < seq):
            break
        _place(k, i, p.time, p.seq, p.source)
        i = parent
    _place(k, i, time, seq, source)


@jit
def sift_down(k: State, i: int, time: int, seq: int, source: int) -> None:
    """Put an event at place ``i`` or further from the top of the heap."""
    n = rows.s(k, 0).heap_n
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        c = rows.event(k, child)
        if child + 1 < n:
            d = rows.event(k, child + 1)
            if d.time < c.time or (d.time == c.time and d.seq < c.seq):
                child += 1
                c = d
        if time < c.time or (time == c.time and seq < c.seq):
            break
        _place(k, i, c.time, c.seq, c.source)
        i = child
    _place(k, i, time, seq, source)


@inline
def insert(k: State, source: int, time: int, seq: int) -> None:
    """Put an event into the heap, for a source that has none."""
    s = rows.s(k, 0)
    i = s.heap_n
    s.heap_n = i + 1
    rows.slot(k, source).time = time
    sift_up(k, i, time, seq, source)


@jit
def remove(k: State, source: int) -> None:
    """Remove a source's event from the heap."""
    slot = rows.slot(k, source)
    s = rows.s(k, 0)
    i = slot.place
    slot.place = kinds.UNSCHEDULED
    s.heap_n -= 1
    n = s.heap_n
    if i == n:
        return
    last = rows.event(k, n)
    time, seq, source = last.time, last.seq, last.source
    if i > 0:
        p = rows.event(k, (i - 1) >> 1)
        if time < p.time or (time == p.time and seq < p.seq):
            sift_up(k, i, time, seq, source)
            return
    sift_down(k, i, time, seq, source)
