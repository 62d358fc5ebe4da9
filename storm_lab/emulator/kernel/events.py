"""The calendar of events: set, move and remove the next event of an event source.

An *event source* is anything that has at most one next event, so there is one event for each busy source, not
one for each tuple. They are numbered in this order: nodes' processors, nodes' wake-ups of threads, channels,
spouts' sources, then two for each thread (timer, period). Events at equal times are served in the order in
which they were scheduled (a running counter, `seq`).

In a large cluster with thousands of events, those before the *horizon* are in a heap, which so stays small.
All others are in buckets by time: unsorted linked lists. When the heap is empty, the horizon moves on by one
bucket, whose events go into the heap. The buckets form a ring that is passed lap after lap; an event of a
later lap stays in its bucket. A small cluster has no horizon: all events are in the heap. Where an event is
stored does not affect the order.
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
    e.time, e.seq, e.source = time, seq, source
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


# Width of a bucket: the time in which about this many events are played.
_BUCKET_EVENTS = 16
# With fewer scheduled events the heap alone is faster.
_MIN_CALENDAR_EVENTS = 256
# The width is fitted again after this many events at the earliest.
_FIT_EVENTS = 4096


@jit
def put_far(k: State, source: int, time: int, seq: int) -> None:
    """Put an event into its bucket, for a source that has none."""
    s = rows.s(k, 0)
    index = (time >> s.bucket_bits) & (kinds.FAR_BUCKETS - 1)
    bucket = rows.bucket(k, index)
    slot = rows.slot(k, source)
    slot.time, slot.seq, slot.place = time, seq, kinds.FAR
    slot.previous, slot.next = -1, bucket.value
    if bucket.value >= 0:
        rows.slot(k, bucket.value).previous = source
    bucket.value = source
    s.far_n += 1


@jit
def take_far(k: State, source: int) -> None:
    """Remove a source's event from its bucket."""
    s = rows.s(k, 0)
    slot = rows.slot(k, source)
    if slot.previous >= 0:
        rows.slot(k, slot.previous).next = slot.next
    else:
        rows.bucket(k, (slot.time >> s.bucket_bits) & (kinds.FAR_BUCKETS - 1)).value = slot.next
    if slot.next >= 0:
        rows.slot(k, slot.next).previous = slot.previous
    slot.place = kinds.UNSCHEDULED
    s.far_n -= 1


@jit
def _empty_bucket(k: State) -> None:
    """Move the horizon on by one bucket, and that bucket's events before the new horizon into the heap."""
    s = rows.s(k, 0)
    source = rows.bucket(k, (s.horizon >> s.bucket_bits) & (kinds.FAR_BUCKETS - 1)).value
    s.horizon += 1 << s.bucket_bits
    while source >= 0:
        slot = rows.slot(k, source)
        after = slot.next
        if slot.time < s.horizon:
            take_far(k, source)
            insert(k, source, slot.time, slot.seq)
        source = after


@jit
def move_horizon(k: State) -> None:
    """Move the horizon on until the heap has the next events; the heap is empty, but not the buckets."""
    s = rows.s(k, 0)
    while True:
        for _ in range(kinds.FAR_BUCKETS):
            _empty_bucket(k)
            if s.heap_n > 0:
                return
        # Nothing was due in a whole lap: jump to the first event in any bucket.
        least = kinds.NEVER
        for i in range(kinds.FAR_BUCKETS):
            source = rows.bucket(k, i).value
            while source >= 0:
                least = min(least, rows.slot(k, source).time)
                source = rows.slot(k, source).next
        s.horizon = (least >> s.bucket_bits) << s.bucket_bits


@jit
def fit_horizon(k: State) -> None:
    """Decide whether a horizon pays, and fit the width of the buckets to the rate of events."""
    s = rows.s(k, 0)
    played = s.events - s.fitted_events
    if played < _FIT_EVENTS:
        return
    wanted = (s.now - s.fitted_at) * _BUCKET_EVENTS // played
    s.fitted_events, s.fitted_at = s.events, s.now
    bits = 0
    while 2 << bits <= wanted:
        bits += 1
    if s.heap_n + s.far_n < _MIN_CALENDAR_EVENTS:
        if s.horizon < kinds.NEVER:
            _gather_events(k)
    elif s.horizon == kinds.NEVER or abs(bits - s.bucket_bits) > 1:
        _gather_events(k)
        s.bucket_bits = bits
        s.horizon = ((s.now >> bits) + 1) << bits
        # Move the heap's events beyond the horizon into buckets.
        n = s.heap_n
        s.heap_n = 0
        for i in range(n):
            e = rows.event(k, i)
            time, seq, source = e.time, e.seq, e.source
            if time < s.horizon:
                insert(k, source, time, seq)
            else:
                put_far(k, source, time, seq)


@jit
def _gather_events(k: State) -> None:
    """Move all events into the heap, without a horizon."""
    s = rows.s(k, 0)
    s.horizon = kinds.NEVER
    for i in range(kinds.FAR_BUCKETS):
        bucket = rows.bucket(k, i)
        while bucket.value >= 0:
            source = bucket.value
            take_far(k, source)
            insert(k, source, rows.slot(k, source).time, rows.slot(k, source).seq)


@inline
def scheduled_at(k: State, source: int) -> int:
    """Return the time of a source's next event; -1 when it has none."""
    slot = rows.slot(k, source)
    return slot.time if slot.place != kinds.UNSCHEDULED else -1


@jit
def schedule(k: State, source: int, time: int) -> None:
    """Set the time of a source's next event, whether or not it has one already."""
    s = rows.s(k, 0)
    seq = s.seq
    s.seq = seq + 1
    slot = rows.slot(k, source)
    if slot.place == kinds.FAR:
        take_far(k, source)
    if time >= s.horizon:
        if slot.place >= 0:
            remove(k, source)
        put_far(k, source, time, seq)
    elif slot.place < 0:
        insert(k, source, time, seq)
    else:
        before = slot.time
        slot.time = time
        if time < before:
            sift_up(k, slot.place, time, seq, source)
        else:
            sift_down(k, slot.place, time, seq, source)


@jit
def unschedule(k: State, source: int) -> None:
    """Remove a source's event; no effect when it has none."""
    place = rows.slot(k, source).place
    if place >= 0:
        remove(k, source)
    elif place == kinds.FAR:
        take_far(k, source)


@jit
def reschedule_event(k: State, source: int, time: int) -> None:
    """Set the time of a source's next event, or remove it at NEVER; no effect if it is so already."""
    if time == kinds.NEVER:
        unschedule(k, source)
    elif scheduled_at(k, source) != time:
        schedule(k, source, time)
