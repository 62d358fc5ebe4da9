"""Handing messages over: which thread gets a message next, what stops that, and batches.

A thread hands over what it has produced in order. The first message that finds no room stops it, except in
1.x, where queues overflow. In 2.x it also stops for an overflow in another worker, for Netty's watermarks,
and for a receiver that does not read.

From 1.0 on a thread gathers a batch for each queue that it puts tuples into, as ``ThreadLocalBatcher`` of
1.2.4's ``DisruptorQueue`` and ``BatchInserter`` of 2.8.3's ``JCQueue`` do (``docs/emulator.md``). A batch has
the number of its first message, and is the row of that number; each thread links its batches.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import events, network, queues, routing, waiters
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def _size(k: State, thread: int, receiver: int) -> int:
    """Return how many tuples a thread gathers for a queue."""
    topology = rows.topology(k, rows.worker(k, rows.thread(k, thread).worker).topology)
    to_transfer = rows.thread(k, receiver).kind == kinds.TRANSFER
    return topology.transfer_batch if to_transfer else topology.producer_batch


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
    """Hand over a batch, in 2.x as far as there is room; returns how many tuples left it."""
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
def _takes_more(k: State, thread: int, receiver: int) -> bool:
    """Return whether a thread may gather one more tuple for a queue; 2.x hands a full batch over for that."""
    if rows.s(k, 0).version_2 == 0:
        return True
    size = _size(k, thread, receiver)
    if size == 1:
        return queues.has_room(k, receiver)
    b = _find(k, thread, receiver)
    return b < 0 or rows.batch(k, b).length < size or _publish(k, thread, b) > 0


@jit
def _gather(k: State, thread: int, receiver: int, m: int) -> None:
    """Put a message into the thread's batch for a queue.

    In 2.x a message that was read from another worker bypasses the batch and goes to the queue's overflow, if
    there is an overflow or the queue is full.
    """
    t, r = rows.thread(k, thread), rows.thread(k, receiver)
    version_2 = rows.s(k, 0).version_2 != 0
    size = _size(k, thread, receiver)
    if t.kind == kinds.RECEIVE and version_2:
        if size == 1 or r.overflow > 0 or not _takes_more(k, thread, receiver):
            queues.enqueue_from_afar(k, receiver, m)
            return
    elif size == 1:
        queues.enqueue(k, receiver, m)
        return
    rows.message(k, m).next = -1
    b = _find(k, thread, receiver)
    if b < 0:
        b = m
        w = rows.worker(k, t.worker)
        every = rows.topology(k, w.topology).flush
        if t.batches < 0 and not version_2 and every > 0:
            # The worker's next tick hands over what the thread gathers from now on. A main thread's period
            # has another use, so its send thread's period serves both.
            owner = thread + 1 if t.kind == kinds.MAIN else thread
            now = rows.s(k, 0).now
            events.schedule(k, events.period_source(k, owner), now + every - (now - w.started) % every)
        rows.batch(k, b).receiver, rows.batch(k, b).length = receiver, 0
        rows.batch(k, b).next = t.batches
        t.batches = b
    else:
        rows.message(k, rows.batch(k, b).tail).next = m
    batch = rows.batch(k, b)
    batch.tail = m
    batch.length += 1
    if batch.length == size and not version_2:
        _publish(k, thread, b)


@jit
def flush_tick(k: State, thread: int) -> None:
    """1.x: hand over all that a thread has gathered."""
    while rows.thread(k, thread).batches >= 0:
        _publish(k, thread, rows.thread(k, thread).batches)


@jit
def _flush(k: State, thread: int) -> bool:
    """2.x: hand over something of each batch of a thread; returns False if a full queue stopped it."""
    t = rows.thread(k, thread)
    b = t.batches
    while b >= 0:
        after = rows.batch(k, b).next
        receiver = rows.batch(k, b).receiver
        if _publish(k, thread, b) == 0:
            waiters.wait_for_room(k, thread, receiver)
            return False
        b = after
    t.flushing = 0
    return True


@jit
def drop_batches(k: State, thread: int) -> int:
    """Drop what a dead thread had gathered; returns how many tuples that were."""
    t = rows.thread(k, thread)
    dropped = 0
    while t.batches >= 0:
        after = rows.batch(k, t.batches).next
        dropped += queues.release_all(k, t.batches)
        t.batches = after
    return dropped


@inline
def handle_unreached(k: State, worker: int, m: int) -> None:
    """Drop a message whose executor is out of reach, or keep it, or keep it and stop all sending."""
    w = rows.worker(k, worker)
    policy = rows.s(k, 0).unreached
    if policy == kinds.UNREACHED_DROPS or (policy == kinds.UNREACHED_BLOCKS and w.connecting == 0):
        w.dropped += 1
        queues.lose(k, m)
        return
    rows.message(k, m).time = rows.s(k, 0).now
    queues.park(k, worker, m)
    if policy == kinds.UNREACHED_BLOCKS:
        w.held_until = kinds.HELD


@jit
def _receiver_of(k: State, thread: int, m: int) -> int:
    """Return the thread whose queue gets a message next; -1: it is lost; -2: it goes to another worker."""
    t = rows.thread(k, thread)
    if t.kind == kinds.TRANSFER:
        return -2
    if t.kind == kinds.NETWORK:
        return rows.worker(k, t.worker).receive_thread
    if t.kind == kinds.MAIN and rows.s(k, 0).version_2 == 0:
        # Its send thread has the next index: see lifecycle.open_executor.
        return thread + 1
    message = rows.message(k, m)
    if message.target < 0:
        return -1
    target = rows.executor(k, message.target)
    if target.alive == 0 and (t.kind == kinds.RECEIVE or message.locality == kinds.IN_PROCESS):
        return -1
    if t.kind != kinds.RECEIVE and message.locality != kinds.IN_PROCESS:
        return rows.worker(k, t.worker).transfer_thread
    return target.main_thread


@inline
def _full_queue(k: State, thread: int, m: int, receiver: int) -> int:
    """Return the thread whose full queue stops a message; -1 when none does."""
    t = rows.thread(k, thread)
    if rows.s(k, 0).version_2 != 0:
        if t.kind == kinds.RECEIVE:
            # 2.x: what does not fit goes to an unbounded overflow queue; the senders are told to stop.
            return -1
        message = rows.message(k, m)
        if t.kind == kinds.MAIN and message.target >= 0 and message.locality != kinds.IN_PROCESS:
            target = rows.executor(k, message.target).main_thread
            if rows.thread(k, target).stops_senders != 0:
                return target
    if t.gathers != 0:
        return -1 if _takes_more(k, thread, receiver) else receiver
    return -1 if queues.has_room(k, receiver) or queues.shares_place(k, thread, receiver) else receiver


@jit
def _may_not_send(k: State, thread: int, m: int) -> bool:
    """Let a transfer thread wait if its worker may not send now; returns whether it waits.

    It waits until a connection is there and its worker's table of connections is not locked. In 2.x it also
    waits when its card, or a cut link, holds more than Netty's high watermark: until the card is down to the
    low one, or the link is back.
    """
    c = rows.cost(k, 0)
    t = rows.thread(k, thread)
    now = rows.s(k, 0).now
    until = rows.worker(k, t.worker).held_until
    if until == kinds.HELD:
        t.state, t.wait = kinds.WAITING, kinds.WAIT_CHANNEL
        return True
    if until <= now:
        if c.high_watermark == 0 or rows.message(k, m).locality == kinds.IN_NODE:
            return False
        p = rows.node(k, t.node)
        to = rows.worker(k, rows.executor(k, rows.message(k, m).target).worker).node
        if rows.channel(k, network.channel_between(k, t.node, to)).held_bytes > c.high_watermark:
            # The link is cut.
            until = now + rows.s(k, 0).link_check
        elif p.nic_out_free - now > c.high_watermark * p.nic_ps_per_byte // 1000:
            until = p.nic_out_free - c.low_watermark * p.nic_ps_per_byte // 1000
        else:
            return False
    t.state, t.wait = kinds.WAITING, kinds.WAIT_CHANNEL
    events.schedule(k, events.timer_source(k, thread), until)
    return True


@jit
def _reader_is_slow(k: State, thread: int, m: int) -> bool:
    """2.x: let a transfer thread wait if the receiver has left too much unread; returns whether it does.

    TCP lets no more through once the unread bytes fill both ends' socket buffers, and the sender's own buffer
    up to its high watermark.
    """
    c = rows.cost(k, 0)
    if c.high_watermark == 0:
        return False
    reader = rows.worker(k, rows.executor(k, rows.message(k, m).target).worker)
    if reader.alive == 0 or reader.unread <= rows.s(k, 0).unread_high:
        return False
    waiters.wait_for_room(k, thread, reader.receive_thread)
    return True


@jit
def flush_output(k: State, thread: int) -> bool:
    """Hand over what a thread has produced, in order; returns False if it has to wait for room."""
    t = rows.thread(k, thread)
    if t.flushing != 0 and not _flush(k, thread):
        return False
    while t.out_head >= 0:
        m = t.out_head
        receiver = _receiver_of(k, thread, m)
        if receiver >= 0:
            full = _full_queue(k, thread, m, receiver)
            if full >= 0:
                waiters.wait_for_room(k, thread, full)
                return False
        elif receiver == -2 and (_reader_is_slow(k, thread, m) or _may_not_send(k, thread, m)):
            return False
        t.out_head = rows.message(k, m).next
        if receiver >= 0 and t.gathers != 0:
            _gather(k, thread, receiver, m)
        elif receiver >= 0 and t.kind == kinds.RECEIVE and rows.s(k, 0).version_2 != 0:
            queues.enqueue_from_afar(k, receiver, m)
        elif receiver >= 0:
            queues.enqueue_batch(k, thread, receiver, m)
        elif receiver == -1 and rows.message(k, m).target < 0:
            handle_unreached(k, t.worker, m)
        elif receiver == -1:
            queues.lose(k, m)
        else:
            network.transmit(k, t.node, m)
    t.out_tail = -1
    return True


@jit
def serialise_own(k: State, thread: int) -> int:
    """2.x: find the targets of an executor's products; returns the CPU of serialising those that leave."""
    t = rows.thread(k, thread)
    c = rows.cost(k, 0)
    work = 0
    m = t.out_head
    while m >= 0:
        message = rows.message(k, m)
        if (
            message.target < 0
            and routing.resolve(k, t.worker, m) >= 0
            and message.locality != kinds.IN_PROCESS
        ):
            work += c.serialise + message.bytes * c.serialise_kb // 1024
        m = message.next
    return work
