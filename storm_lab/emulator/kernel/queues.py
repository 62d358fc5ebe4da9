"""Messages, and the queues between a worker's threads.

Messages are rows of a pool and are linked through ``next``. A thread that cannot hand a message over stops
(``BLOCKED``) and is put on the queue's list of waiters. Each message taken from the queue lets one waiter go
on; up to 0.10 an executor's receive queue lets all go on at the end of a batch. ``docs/emulator.md`` says
which queues are bounded and which overflow, by version.

In 2.x what comes from other workers and finds an executor's queue full waits in an overflow of its own, of
which the executor takes nothing before it has found its queue empty (``JCQueue.consumeImpl`` of 2.8.3). Then
executors of other workers send it nothing until its worker's timer next finds that there is no overflow any
more (``BackPressureTracker``).

A workload's trace and the messages of a long queue do not fit into a core's cache, and which record a message
names is known only when the message itself has been read. So each step prefetches what the next step reads:
first a message, then its record, then the record's emissions, then the records that these lead to.
Prefetching is a hint and changes no result.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import events, polling, run_queue, waiters
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

# In a shorter queue the messages are so recent that they are still in the cache.
_MIN_LENGTH = 3
# Emissions per cache line.
_EMISSIONS = 5


@inline
def _fetch_emissions(k: State, record: int) -> None:
    """Prefetch the emissions of a record that has already been fetched."""
    if record >= 0:
        first = rows.record(k, record).first_emission
        rows.fetch_emission(k, first)
        rows.fetch_emission(k, first + _EMISSIONS)


@jit
def _fetch_next(k: State, m: int) -> None:
    """Prefetch for ``m``, the first message of a long queue, and for those behind it."""
    message = rows.message(k, m)
    _fetch_emissions(k, message.record)
    if message.next >= 0:
        second = rows.message(k, message.next)
        rows.fetch_record(k, second.record)
        rows.fetch_root(k, second.root)
        rows.fetch_message(k, second.next)


@inline
def new_message(k: State) -> int:
    """Take a message from the pool, which must not be empty; the caller has to fill every field."""
    s = rows.s(k, 0)
    m = s.free_message
    s.free_message = rows.message(k, m).next
    s.free_messages -= 1
    rows.message(k, m).next = -1
    return m


@inline
def free_message(k: State, m: int) -> None:
    """Give a message back to the pool, and with it its reference to its root."""
    s = rows.s(k, 0)
    message = rows.message(k, m)
    root = message.root
    if root >= 0:
        r = rows.root(k, root)
        r.references -= 1
        if r.references == 0 and r.executor < 0:
            release_root(k, root)
    message.next = s.free_message
    s.free_message = m
    s.free_messages += 1


@inline
def release_root(k: State, root: int) -> None:
    """Give a root back to the pool: its spout has finished with it and nothing refers to it."""
    s = rows.s(k, 0)
    rows.root(k, root).next = s.free_root
    s.free_root = root
    s.free_roots += 1


@inline
def lose(k: State, m: int) -> None:
    """Drop a message that can never arrive, because its receiver is gone or unknown."""
    rows.s(k, 0).lost += 1
    free_message(k, m)


@inline
def append(k: State, head: int, tail: int, m: int) -> int:
    """Append a message to the chain from ``head`` to ``tail``; returns the chain's head."""
    rows.message(k, m).next = -1
    if head < 0:
        return m
    rows.message(k, tail).next = m
    return head


@jit
def park(k: State, worker: int, m: int) -> None:
    """Append a message to those that wait in their sender's worker for an executor out of reach."""
    w = rows.worker(k, worker)
    w.parked_head = append(k, w.parked_head, w.parked_tail, m)
    w.parked_tail = m


@inline
def add_output(k: State, thread: int, m: int) -> None:
    """Append a message to what a thread has produced and not yet handed over."""
    t = rows.thread(k, thread)
    t.out_head = append(k, t.out_head, t.out_tail, m)
    t.out_tail = m


@inline
def turn_period(k: State, source_index: int) -> int:
    """Return the time between two turns of an idle spout: it asks its queue's server, then sleeps."""
    source = rows.source(k, source_index)
    return source.pause + rows.cost(k, 0).late + source.fetch


@jit
def spout_poll_time(k: State, thread: int, not_before: int) -> int:
    """Return the first turn of an idle spout's loop at or after ``not_before``.

    An idle spout sleeps between empty turns, so what arrives waits for the end of a sleep. The turns are at
    regular intervals, in 2.x shorter ones if it waits for room; only the one that finds something is played.
    """
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    if e.active == 0:
        period = rows.cost(k, 0).inactive_sleep
    else:
        period = t.poll_every if polling.parks(k, thread) else turn_period(k, e.source)
    missing = not_before - e.poll_phase
    if missing <= 0:
        return e.poll_phase
    return e.poll_phase + ((missing + period - 1) // period) * period


@inline
def wake_spout_at(k: State, thread: int, time: int) -> None:
    """Schedule a sleeping spout's first turn at or after ``time``, unless one is due before."""
    event = events.timer_source(k, thread)
    at = spout_poll_time(k, thread, time)
    before = events.scheduled_at(k, event)
    if before < 0 or before > at:
        events.schedule(k, event, at)


@inline
def lower_flag(k: State, thread: int) -> None:
    """1.x back-pressure: withdraw a queue's request if it is below four tenths again."""
    t = rows.thread(k, thread)
    if t.flagged != 0 and 10 * t.length <= 4 * t.capacity:
        t.flagged = 0
        rows.topology(k, rows.executor(k, t.executor).topology).raised -= 1


@jit
def enqueue(k: State, thread: int, m: int) -> None:
    """Put a message at the end of a thread's queue; the caller knows that it has room or overflows."""
    t = rows.thread(k, thread)
    if t.kind == kinds.MAIN:
        rows.message(k, m).time = rows.s(k, 0).now
        _fetch_emissions(k, rows.message(k, m).record)
    t.head = append(k, t.head, t.tail, m)
    t.tail = m
    t.length += 1
    rows.message(k, m).place = 1
    t.places += 1
    if t.kind == kinds.MAIN and 10 * (t.length + t.held) >= 9 * t.capacity and t.flagged == 0:
        # 1.x back-pressure: a queue that is nine tenths full asks the topology's spouts to stop.
        topology = rows.topology(k, rows.executor(k, t.executor).topology)
        if topology.back_pressure != 0:
            t.flagged = 1
            topology.raised += 1
    if t.state == kinds.IDLE:
        if t.poll_every > 0:
            polling.schedule_poll(k, thread)
        else:
            polling.end_wait(k, thread)
            run_queue.wake_up(k, thread)
    elif t.state == kinds.POLLING:
        wake_spout_at(k, thread, rows.s(k, 0).now)


@inline
def enqueue_from_afar(k: State, thread: int, m: int) -> None:
    """2.x: put a message from another worker into an executor's queue, or into its overflow."""
    t = rows.thread(k, thread)
    if t.overflow == 0 and has_room(k, thread):
        enqueue(k, thread, m)
        return
    rows.message(k, m).time = rows.s(k, 0).now
    t.overflow_head = append(k, t.overflow_head, t.overflow_tail, m)
    t.overflow_tail = m
    t.overflow += 1
    t.stops_senders = 1


@inline
def waiting(k: State, thread: int) -> int:
    """Return how many messages wait for a thread."""
    t = rows.thread(k, thread)
    return t.length + t.overflow


@inline
def shares_place(k: State, feeder: int, thread: int) -> bool:
    """Return whether ``feeder`` hands over to a place that its present batch already has in a queue.

    Up to 0.10 a place of a queue holds all that a send or receive thread hands over at once, as one list.
    """
    t = rows.thread(k, feeder)
    listed = rows.s(k, 0).lists != 0 and (t.kind == kinds.SEND or t.kind == kinds.RECEIVE)
    return listed and rows.thread(k, thread).placed == t.hand_over


@inline
def enqueue_batch(k: State, feeder: int, thread: int, m: int) -> None:
    """Put a message of the feeder's present batch at the end of another thread's queue, which has room.

    From 0.9.2 on a network thread has marked the first message of each list.
    """
    if rows.s(k, 0).lists == 2 and rows.thread(k, feeder).kind == kinds.NETWORK:
        shared = rows.message(k, m).place == 0
    else:
        shared = shares_place(k, feeder, thread)
    enqueue(k, thread, m)
    t = rows.thread(k, thread)
    if shared:
        rows.message(k, m).place = 0
        t.places -= 1
    else:
        t.placed = rows.thread(k, feeder).hand_over


@inline
def _pop(k: State, thread: int) -> int:
    """Remove and return the first message of a thread's queue, whose place is not free yet."""
    t = rows.thread(k, thread)
    m = t.head
    t.head = rows.message(k, m).next
    if t.head < 0:
        t.tail = -1
    t.length -= 1
    if t.length >= _MIN_LENGTH:
        _fetch_next(k, t.head)
    rows.message(k, m).next = -1
    return m


@jit
def _schedule_check(k: State, thread: int) -> None:
    """Schedule when its worker's timer next finds that a thread's overflow is gone."""
    s = rows.s(k, 0)
    w = rows.worker(k, rows.thread(k, thread).worker)
    every = rows.topology(k, w.topology).overflow_check
    # 2.x has no send threads, so the timer of this executor's is free.
    events.schedule(k, events.timer_source(k, thread + 1), s.now + every - (s.now - w.started) % every)


@jit
def _take_overflow(k: State, thread: int) -> int:
    """Remove and return the first message of a thread's overflow."""
    t = rows.thread(k, thread)
    if t.overflow_due == 0:
        # It has found its queue empty.
        t.overflow_due = t.overflow
    m = t.overflow_head
    t.overflow_head = rows.message(k, m).next
    t.overflow -= 1
    t.overflow_due -= 1
    rows.message(k, m).next = -1
    if t.overflow == 0:
        t.overflow_tail = -1
        _schedule_check(k, thread)
    return m


@inline
def take(k: State, thread: int) -> int:
    """Remove and return the next message for a thread, of which there must be one."""
    t = rows.thread(k, thread)
    if t.overflow_due > 0 or t.length == 0:
        return _take_overflow(k, thread)
    m = _pop(k, thread)
    t.places -= rows.message(k, m).place
    if t.waiters >= 0 and (
        t.kind != kinds.RECEIVE or rows.worker(k, t.worker).unread <= rows.s(k, 0).unread_low
    ):
        waiters.release_waiter(k, thread)
    lower_flag(k, thread)
    return m


@inline
def take_from_batch(k: State, thread: int) -> int:
    """Remove and return the first message of a queue that is consumed in batches.

    The consumer of a Disruptor queue (Storm 0.8 to 1.x) handles all messages that are there before it moves
    its sequence. So the places of a batch become free together, when its last message has been handled.
    """
    t = rows.thread(k, thread)
    if t.batch == 0:
        t.batch = t.length
    m = _pop(k, thread)
    t.batch -= 1
    t.held += 1
    t.held_places += rows.message(k, m).place
    return m


@inline
def end_batch(k: State, thread: int) -> None:
    """Free the places of a batch whose last message has been handled, and let all waiters go on."""
    t = rows.thread(k, thread)
    t.places -= t.held_places
    t.held = t.held_places = 0
    while t.waiters >= 0:
        waiters.release_waiter(k, thread)
    lower_flag(k, thread)


@inline
def has_room(k: State, thread: int) -> bool:
    """Return whether a thread's queue has a free place."""
    t = rows.thread(k, thread)
    return t.places < t.capacity


@jit
def release_all(k: State, head: int) -> int:
    """Drop a chain of messages; returns how many there were."""
    count = 0
    while head >= 0:
        after = rows.message(k, head).next
        free_message(k, head)
        count += 1
        head = after
    return count
