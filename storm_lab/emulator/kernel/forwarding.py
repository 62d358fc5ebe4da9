"""Handing messages over: which thread gets a message next, and what stops that.

A thread hands over what it has produced in order. The first message that finds no room stops it, except in
1.x, where queues overflow. From 1.0 on it may gather batches first (`batches`). In 2.x it also stops for a
full queue of another worker, for Netty's watermarks, and for a receiver that does not read.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import batches, events, network, queues, routing
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def handle_unreached(k: State, worker: int, m: int) -> None:
    """Deal with a message whose executor cannot be reached.

    It is lost, or waits, or waits and stops all sending.
    """
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
            if not queues.has_room(k, target):
                return target
    if t.gathers != 0:
        return -1 if batches.takes_more(k, thread, receiver) else receiver
    return -1 if queues.has_room(k, receiver) or queues.shares_place(k, thread, receiver) else receiver


@jit
def _may_not_send(k: State, thread: int, m: int) -> bool:
    """Let a transfer thread wait if its worker may not send now; returns whether it waits.

    It waits until a connection is there and its worker's table of connections is not locked. In 2.x it also
    waits when its card, or a cut link, holds more than Netty's high watermark: until the card is down to the
    low one, or the next try to connect.
    """
    c = rows.cost(k, 0)
    t = rows.thread(k, thread)
    now = rows.s(k, 0).now
    until = rows.worker(k, t.worker).held_until
    if until == kinds.HELD:
        t.state = kinds.WAITING
        t.wait = kinds.WAIT_CHANNEL
        return True
    if until <= now:
        if c.high_watermark == 0 or rows.message(k, m).locality == kinds.IN_NODE:
            return False
        p = rows.node(k, t.node)
        if network.held_bytes(k, t.node, m) > c.high_watermark:
            # The link is cut: check again at the interval of the tries to connect.
            until = now + rows.s(k, 0).first_reconnect
        elif p.nic_out_free - now > c.high_watermark * p.nic_ps_per_byte // 1000:
            until = p.nic_out_free - c.low_watermark * p.nic_ps_per_byte // 1000
        else:
            return False
    t.state = kinds.WAITING
    t.wait = kinds.WAIT_CHANNEL
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
    queues.wait_for_room(k, thread, reader.receive_thread)
    return True


@jit
def _gather(k: State, thread: int, receiver: int, m: int) -> None:
    """Put a message into the thread's batch for a queue.

    In 2.x a message that was read from another worker bypasses the batch and goes to the queue's overflow, if
    there is an overflow or the queue is full.
    """
    r = rows.thread(k, receiver)
    overflows = (
        rows.thread(k, thread).kind == kinds.RECEIVE
        and rows.s(k, 0).version_2 != 0
        and (r.places > r.capacity or not batches.takes_more(k, thread, receiver))
    )
    if overflows:
        queues.enqueue(k, receiver, m)
    else:
        batches.gather(k, thread, receiver, m)


@jit
def flush_output(k: State, thread: int) -> bool:
    """Hand over what a thread has produced, in order.

    Returns False when a full queue stopped it; the thread then waits for room.
    """
    t = rows.thread(k, thread)
    if t.flushing != 0 and not batches.flush(k, thread):
        return False
    while t.out_head >= 0:
        m = t.out_head
        receiver = _receiver_of(k, thread, m)
        if receiver >= 0:
            full = _full_queue(k, thread, m, receiver)
            if full >= 0:
                queues.wait_for_room(k, thread, full)
                return False
        elif receiver == -2 and (_reader_is_slow(k, thread, m) or _may_not_send(k, thread, m)):
            return False
        t.out_head = rows.message(k, m).next
        if receiver >= 0 and t.gathers != 0:
            _gather(k, thread, receiver, m)
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
    """Storm 2.x: find the targets of an executor's new products.

    Returns the CPU that serialising those for other workers costs.
    """
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
