"""Batches of Storm 1.x and 2.x: tuples that a thread gathers for a queue and hands over together.

From 1.0 on each thread has a batch for each queue that it puts tuples into.

1.x (``DisruptorQueue.ThreadLocalBatcher`` of 1.2.4): a batch of ``topology.disruptor.batch.size`` is handed
over when it is full, or at the latest at the worker's next tick, which comes every
``topology.disruptor.batch.timeout.millis``. What the queue has no room for waits in its unbounded overflow.
So a full queue stops no thread but a spout's, which does not call nextTuple while its send queue is full.

2.x (``JCQueue.BatchInserter`` of 2.8.3): ``topology.producer.batch.size`` is for executors' queues and
``topology.transfer.batch.size`` for the worker's transfer queue; both are 1 unless they are set. A full batch
is handed over when its thread has one more tuple for the same queue. Before that, a flush tuple lets the
executor hand over what it has; a timer of the worker puts one into the queue of each of its executors every
``topology.batch.flush.interval.millis``. The thread that reads from other workers gets no flush tuples, so
what it has gathered waits for its batch to fill.

A batch has the number of its first message, and is the row of that number. Each thread links its batches.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import events, queues
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def _size(k: State, thread: int, receiver: int) -> int:
    """Return how many tuples a thread gathers for a queue."""
    topology = rows.topology(k, rows.worker(k, rows.thread(k, thread).worker).topology)
    return (
        topology.transfer_batch
        if rows.thread(k, receiver).kind == kinds.TRANSFER
        else topology.producer_batch
    )


@jit
def _find(k: State, thread: int, receiver: int) -> int:
    """Return the thread's batch for a queue; -1: it has none."""
    b = rows.thread(k, thread).batches
    while b >= 0 and rows.batch(k, b).receiver != receiver:
        b = rows.batch(k, b).next
    return b


@jit
def _replace(k: State, thread: int, old: int, new: int) -> None:
    """Replace a batch by another in its thread's list."""
    t = rows.thread(k, thread)
    if t.batches == old:
        t.batches = new
        return
    b = t.batches
    while rows.batch(k, b).next != old:
        b = rows.batch(k, b).next
    rows.batch(k, b).next = new


@jit
def _publish(k: State, thread: int, b: int) -> int:
    """Hand over a batch, in 2.x as far as there is room; returns how many tuples that were.

    Tuples for an executor that has ended are lost.
    """
    unbounded = rows.s(k, 0).version_2 == 0
    batch = rows.batch(k, b)
    receiver, tail, length, after = batch.receiver, batch.tail, batch.length, batch.next
    gone = rows.thread(k, receiver).state == kinds.DEAD
    m = b
    published = 0
    while published < length and (gone or unbounded or queues.has_room(k, receiver)):
        following = rows.message(k, m).next
        if gone:
            queues.lose(k, m)
        else:
            queues.enqueue(k, receiver, m)
        m = following
        published += 1
    if published == length:
        _replace(k, thread, b, after)
    elif published > 0:
        rest = rows.batch(k, m)
        rest.receiver, rest.tail, rest.length, rest.next = receiver, tail, length - published, after
        _replace(k, thread, b, m)
    return published


@jit
def takes_more(k: State, thread: int, receiver: int) -> bool:
    """Return whether a thread may gather one more tuple for a queue; 2.x hands a full batch over for that."""
    if rows.s(k, 0).version_2 == 0:
        return True
    size = _size(k, thread, receiver)
    if size == 1:
        return queues.has_room(k, receiver)
    b = _find(k, thread, receiver)
    return b < 0 or rows.batch(k, b).length < size or _publish(k, thread, b) > 0


@jit
def gather(k: State, thread: int, receiver: int, m: int) -> None:
    """Put a tuple into the thread's batch for a queue."""
    size = _size(k, thread, receiver)
    if size == 1:
        queues.enqueue(k, receiver, m)
        return
    rows.message(k, m).next = -1
    b = _find(k, thread, receiver)
    if b < 0:
        b = m
        t = rows.thread(k, thread)
        if t.batches < 0:
            _schedule_flush(k, thread)
        rows.batch(k, b).receiver, rows.batch(k, b).length = receiver, 0
        rows.batch(k, b).next = t.batches
        t.batches = b
    else:
        rows.message(k, rows.batch(k, b).tail).next = m
    batch = rows.batch(k, b)
    batch.tail = m
    batch.length += 1
    if batch.length == size and rows.s(k, 0).version_2 == 0:
        _publish(k, thread, b)


@inline
def _schedule_flush(k: State, thread: int) -> None:
    """1.x: schedule the worker's next tick, which hands over what a thread gathers from now on."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    every = rows.topology(k, w.topology).flush
    if rows.s(k, 0).version_2 == 0 and every > 0:
        # A main thread's period has another use, so its send thread's period serves both.
        owner = thread + 1 if t.kind == kinds.MAIN else thread
        now = rows.s(k, 0).now
        events.schedule(k, events.period_source(k, owner), now + every - (now - w.started) % every)


@jit
def flush_tick(k: State, thread: int) -> None:
    """1.x: hand over all that a thread has gathered."""
    while rows.thread(k, thread).batches >= 0:
        _publish(k, thread, rows.thread(k, thread).batches)


@jit
def flush(k: State, thread: int) -> bool:
    """2.x: hand over something of each batch of a thread; returns False if a full queue stopped it."""
    t = rows.thread(k, thread)
    b = t.batches
    while b >= 0:
        after = rows.batch(k, b).next
        receiver = rows.batch(k, b).receiver
        if _publish(k, thread, b) == 0:
            queues.wait_for_room(k, thread, receiver)
            return False
        b = after
    t.flushing = 0
    return True


@jit
def drop_batches(k: State, thread: int) -> int:
    """Drop what a dead thread had gathered; returns how many tuples that were."""
    t = rows.thread(k, thread)
    b = t.batches
    dropped = 0
    while b >= 0:
        after = rows.batch(k, b).next
        dropped += queues.release_all(k, b)
        b = after
    t.batches = -1
    return dropped
