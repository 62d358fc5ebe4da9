"""What a worker's threads do: take messages, burn CPU, hand over what they produced.

Storm 0.8 to 1.x: an executor has a main thread (user code) and a send thread (splits local from remote,
serialises); a worker has a transfer thread (sends) and a receive thread (hands arriving tuples to executors,
in order, so that one full executor holds up all others of its worker). From 0.9 to 1.x a network thread
(Netty) reads and decodes what arrives before the receive thread gets it, also while that one is held up.
Storm 2.x: no send thread; the main thread itself hands over and serialises. Every worker also has
housekeeping (heartbeats, timers, garbage collection): a small periodic burst.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.acking import acker_execute, send_to_acker
from storm_lab.emulator.arrays import (
    component_at,
    cost_at,
    execution_row_at,
    executor_at,
    message_at,
    node_at,
    record_at,
    s_at,
    server_at,
    server_place_at,
    task_at,
    thread_at,
    topology_at,
    worker_at,
)
from storm_lab.emulator.cpu import start_burst
from storm_lab.emulator.heap import schedule, timer_source
from storm_lab.emulator.jit import inline, jit
from storm_lab.emulator.layout import (
    ACK,
    BLOCKED,
    DATA,
    FAIL,
    HOUSEKEEPING,
    IDLE,
    IN_NODE,
    IN_PROCESS,
    MAIN,
    NETWORK,
    POLLING,
    RECEIVE,
    RESET,
    SEND,
    TICK,
    TRANSFER,
    TURN_ACKS,
    WAIT_FETCH,
    WAIT_SERVER,
    WAIT_SLEEP,
    WAIT_WIRE,
    WAITING,
    State,
)
from storm_lab.emulator.log_lock import release_log, write_log
from storm_lab.emulator.queues import (
    add_output,
    end_batch,
    enqueue,
    free_message,
    has_room,
    lose,
    park,
    spout_poll_time,
    take,
    take_from_batch,
    wait_for_room,
)
from storm_lab.emulator.routing import copies_of, emit_all, held_bytes, resolve, transmit
from storm_lab.emulator.spout import (
    after_emit,
    spout_acks_done,
    spout_emit,
    spout_emitted,
    spout_fetch,
    spout_turn,
)


@inline
def _is_spout(k: State, thread: int) -> bool:
    e = thread_at(k, thread).executor
    return component_at(k, executor_at(k, e).component).is_spout != 0


@jit
def _bolt_start(k: State, thread: int) -> None:
    """Take the next tuple and run execute on it."""
    t = thread_at(k, thread)
    m = take(k, thread) if s_at(k, 0).version_2 != 0 else take_from_batch(k, thread)
    t.current = m
    t.since = s_at(k, 0).now
    message = message_at(k, m)
    c = cost_at(k, 0)
    version_1 = s_at(k, 0).version_1 != 0
    if version_1 and message.record >= 0 and message.root >= 0 and record_at(k, message.record).resets != 0:
        # Its first call is collector.resetTimeout (from 1.0 on); the rest follows when that is sent.
        t.resetting = 1
        start_burst(k, thread, c.dispatch + c.emit)
        return
    _bolt_execute(k, thread, c.dispatch)


@jit
def _bolt_execute(k: State, thread: int, work: int) -> None:
    """Run execute on the tuple in hand, with ``work`` ns before it."""
    t = thread_at(k, thread)
    message = message_at(k, t.current)
    c = cost_at(k, 0)
    if message.locality != IN_PROCESS and s_at(k, 0).version_1 == 0:
        work += c.deserialise + message.bytes * c.deserialise_kb // 1024
    component = component_at(k, executor_at(k, t.executor).component)
    if component.is_acker != 0:
        work += c.acker
    elif message.record >= 0:
        work += record_at(k, message.record).cpu_ns + c.emit * copies_of(k, message.record)
        if message.root >= 0:
            work += c.emit
        if topology_at(k, executor_at(k, t.executor).topology).debug != 0 and message.kind != TICK:
            t.log_work = c.log_receive + record_at(k, message.record).emissions * c.log_emit
    start_burst(k, thread, work)


@jit
def _ask_server(k: State, record: int) -> int:
    """Send a request to an external server; returns when its answer arrives."""
    r = record_at(k, record)
    server = server_at(k, r.server)
    now = s_at(k, 0).now
    if server.places == 0:
        return now + server.latency + r.server_ns
    best = server.first
    for i in range(server.first + 1, server.first + server.places):
        if server_place_at(k, i).value < server_place_at(k, best).value:
            best = i
    start = max(now + server.latency // 2, server_place_at(k, best).value)
    server_place_at(k, best).value = start + r.server_ns
    return server_place_at(k, best).value + server.latency - server.latency // 2


@jit
def _bolt_computed(k: State, thread: int) -> None:
    """Execute's CPU part is done: wait for an external server where the tuple needs one, or finish."""
    t = thread_at(k, thread)
    record = message_at(k, t.current).record
    if record >= 0 and record_at(k, record).server >= 0:
        t.state = WAITING
        t.wait = WAIT_SERVER
        schedule(k, timer_source(k, thread), _ask_server(k, record))
    else:
        _bolt_finish(k, thread)


@jit
def _bolt_reset(k: State, thread: int) -> None:
    """Tell the acker that the tuple in hand takes longer, then go on with it."""
    t = thread_at(k, thread)
    t.resetting = 2
    message = message_at(k, t.current)
    topology = executor_at(k, t.executor).topology
    send_to_acker(k, thread, RESET, message.task, topology, message.root, np.uint64(0))
    hand_over_own(k, thread)


@jit
def _bolt_finish(k: State, thread: int) -> None:
    """Execute returns: produce its emissions, ack the input, log the execution."""
    t = thread_at(k, thread)
    s = s_at(k, 0)
    m = t.current
    t.current = -1
    message = message_at(k, m)
    e = executor_at(k, t.executor)
    task = task_at(k, message.task)
    if component_at(k, e.component).is_acker != 0:
        if message.root >= 0:
            acker_execute(k, thread, t.executor, m)
    elif message.record >= 0:
        root = message.root
        number = message.number
        xor = emit_all(k, thread, t.executor, message.task, message.record, root, number)
        if root >= 0 and message.kind == DATA:
            if record_at(k, message.record).emissions < 0:
                send_to_acker(k, thread, FAIL, message.task, e.topology, root, message.edge)
                task.failed += 1
            else:
                send_to_acker(k, thread, ACK, message.task, e.topology, root, message.edge ^ xor)
                task.acked += 1
    if message.kind != TICK:
        task.executed += 1
        task.execute += s.now - t.since
    if message.number >= 0:
        row = execution_row_at(k, s.execution_rows)
        s.execution_rows += 1
        row.number = message.number
        row.task = message.task
        row.source_task = message.source_task
        row.worker = t.worker
        row.locality = message.locality
        row.enqueued = message.time
        row.started = t.since
        row.ended = s.now
    free_message(k, m)
    hand_over_own(k, thread)


@jit
def _batch_start(k: State, thread: int, most: int) -> None:
    """Take what is there, up to ``most`` messages, and spend the CPU that handling them costs."""
    t = thread_at(k, thread)
    c = cost_at(k, 0)
    work = 0
    for _ in range(min(t.length, most)):
        m = take(k, thread)
        if t.kind == SEND:
            if resolve(k, t.worker, m) < 0:
                give_up(k, t.worker, m)
                continue
            work += c.send
            if message_at(k, m).locality != IN_PROCESS:
                work += c.serialise + message_at(k, m).bytes * c.serialise_kb // 1024
        elif t.kind == TRANSFER:
            work += c.transfer
        elif t.kind == NETWORK or s_at(k, 0).netty == 0:
            work += c.receive
            if s_at(k, 0).version_1 != 0:
                work += c.deserialise + message_at(k, m).bytes * c.deserialise_kb // 1024
                if t.kind == RECEIVE:
                    worker_at(k, t.worker).unread -= message_at(k, m).bytes + c.header_bytes
        else:
            work += c.deliver
        add_output(k, thread, m)
    start_burst(k, thread, work)


@inline
def give_up(k: State, worker: int, m: int) -> None:
    """The sender does not know where a message's executor runs: lost in 0.8, kept for later from 0.9 on."""
    if s_at(k, 0).version_09 != 0:
        message_at(k, m).time = s_at(k, 0).now
        park(k, worker, m)
    else:
        lose(k, m)


@jit
def go_on(k: State, thread: int) -> None:
    """A thread has handed over everything: take what comes next, or fall idle."""
    t = thread_at(k, thread)
    if t.kind == MAIN and _is_spout(k, thread):
        spout_turn(k, thread)
        return
    if t.resetting != 0:
        t.resetting = 0
        _bolt_execute(k, thread, 0)
        return
    if t.held > 0 and t.batch == 0:
        end_batch(k, thread)
    if t.length == 0:
        t.state = IDLE
    elif t.kind == MAIN:
        _bolt_start(k, thread)
    elif t.kind == RECEIVE:
        _batch_start(k, thread, cost_at(k, 0).receive_batch)
    else:
        _batch_start(k, thread, cost_at(k, 0).send_batch)


@jit
def _receiver_of(k: State, thread: int, m: int) -> int:
    """The thread whose queue a message goes to next; -1: it is lost; -2: it goes on the wire."""
    t = thread_at(k, thread)
    if t.kind == TRANSFER:
        return -2
    if t.kind == NETWORK:
        return worker_at(k, t.worker).receive_thread
    if t.kind == MAIN and s_at(k, 0).version_2 == 0:
        return executor_at(k, t.executor).send_thread
    message = message_at(k, m)
    if message.target < 0:
        return -1
    target = executor_at(k, message.target)
    if target.alive == 0 and (t.kind == RECEIVE or message.locality == IN_PROCESS):
        return -1
    if t.kind != RECEIVE and message.locality != IN_PROCESS:
        return worker_at(k, t.worker).transfer_thread
    return target.main_thread


@inline
def _full_queue(k: State, thread: int, m: int, receiver: int) -> int:
    """The thread whose full queue holds a message up; -1 when it may go."""
    t = thread_at(k, thread)
    if s_at(k, 0).version_2 != 0:
        if t.kind == RECEIVE:
            # 2.x: what does not fit goes to an unbounded overflow queue; the senders are told to hold back.
            return -1
        message = message_at(k, m)
        if t.kind == MAIN and message.target >= 0 and message.locality != IN_PROCESS:
            target = executor_at(k, message.target).main_thread
            if not has_room(k, target):
                return target
    return -1 if has_room(k, receiver) else receiver


@jit
def _may_not_send(k: State, thread: int, m: int) -> bool:
    """A transfer thread waits while its worker's table of connections is locked; in 2.x also above Netty's
    high watermark, until the card has sent down to the low one.
    """
    c = cost_at(k, 0)
    t = thread_at(k, thread)
    now = s_at(k, 0).now
    until = worker_at(k, t.worker).held_until
    if until <= now:
        if c.wire_high == 0 or message_at(k, m).locality == IN_NODE:
            return False
        p = node_at(k, t.node)
        if held_bytes(k, t.node, m) > c.wire_high:
            # The link is cut: look again at the pace at which connecting is tried.
            until = now + s_at(k, 0).reconnect_first
        elif p.nic_out_free - now > c.wire_high * p.nic_ps_per_byte // 1000:
            until = p.nic_out_free - c.wire_low * p.nic_ps_per_byte // 1000
        else:
            return False
    t.state = WAITING
    t.wait = WAIT_WIRE
    schedule(k, timer_source(k, thread), until)
    return True


@jit
def _reader_is_slow(k: State, thread: int, m: int) -> bool:
    """2.x: the receiver has not read what fills both ends' socket buffers and the sender's own up to its high
    watermark, so TCP lets no more through; the transfer thread waits for it to read.
    """
    c = cost_at(k, 0)
    if c.wire_high == 0:
        return False
    reader = worker_at(k, executor_at(k, message_at(k, m).target).worker)
    if reader.alive == 0 or reader.unread <= s_at(k, 0).unread_high:
        return False
    wait_for_room(k, thread, reader.receive_thread)
    return True


@jit
def flush_output(k: State, thread: int) -> bool:
    """Hand over what a thread has produced, in order; False when a full queue stopped it (it waits for room
    then).
    """
    t = thread_at(k, thread)
    while t.out_head >= 0:
        m = t.out_head
        receiver = _receiver_of(k, thread, m)
        if receiver >= 0:
            full = _full_queue(k, thread, m, receiver)
            if full >= 0:
                wait_for_room(k, thread, full)
                return False
        elif receiver == -2 and (_reader_is_slow(k, thread, m) or _may_not_send(k, thread, m)):
            return False
        t.out_head = message_at(k, m).next
        if receiver >= 0:
            enqueue(k, receiver, m)
        elif receiver == -1 and message_at(k, m).target < 0:
            give_up(k, t.worker, m)
        elif receiver == -1:
            lose(k, m)
        else:
            transmit(k, t.node, m)
    t.out_tail = -1
    return True


@jit
def hand_over(k: State, thread: int) -> None:
    """A burst is done and its products are listed: hand them over and go on, or stop at a full queue."""
    t = thread_at(k, thread)
    # Lets an enqueue to oneself (a bolt with a loop, an acker beside its spout) see a busy thread.
    t.state = BLOCKED
    if flush_output(k, thread):
        go_on(k, thread)


@jit
def _serialise_own(k: State, thread: int) -> int:
    """Storm 2.x: find where an executor's new products go; returns the CPU that serialising the remote ones
    costs.
    """
    t = thread_at(k, thread)
    c = cost_at(k, 0)
    work = 0
    m = t.out_head
    while m >= 0:
        message = message_at(k, m)
        if message.target < 0 and resolve(k, t.worker, m) >= 0 and message.locality != IN_PROCESS:
            work += c.serialise + message.bytes * c.serialise_kb // 1024
        m = message.next
    return work


@jit
def hand_over_own(k: State, thread: int) -> None:
    """A main thread hands its products over: to its send thread, or (2.x) itself, after serialising."""
    if s_at(k, 0).version_2 != 0:
        work = _serialise_own(k, thread)
        if work > 0:
            thread_at(k, thread).serialising = 1
            start_burst(k, thread, work)
            return
    hand_over(k, thread)


@jit
def resume(k: State, thread: int) -> None:
    """There is room in the queue that stopped a thread."""
    t = thread_at(k, thread)
    if t.kind == MAIN and _is_spout(k, thread):
        # A spout is never stopped: it keeps an overflow buffer and handles acks meanwhile.
        if flush_output(k, thread) and t.state == POLLING:
            schedule(k, timer_source(k, thread), spout_poll_time(k, thread, s_at(k, 0).now))
    elif t.state == BLOCKED and flush_output(k, thread):
        go_on(k, thread)


@jit
def burst_done(k: State, thread: int) -> None:
    """A thread's CPU burst has ended."""
    t = thread_at(k, thread)
    t.cpu += t.work
    if t.log_work > 0:
        if worker_at(k, t.worker).log_holder != thread:
            write_log(k, thread)
            return
        release_log(k, thread)
    if t.kind == MAIN:
        if t.serialising != 0:
            t.serialising = 0
            if _is_spout(k, thread):
                flush_spout(k, thread)
            else:
                hand_over(k, thread)
        elif t.resetting == 1:
            _bolt_reset(k, thread)
        elif not _is_spout(k, thread):
            _bolt_computed(k, thread)
        elif executor_at(k, t.executor).turn == TURN_ACKS:
            spout_acks_done(k, thread)
        else:
            spout_emitted(k, thread)
            work = _serialise_own(k, thread) if s_at(k, 0).version_2 != 0 else 0
            if work > 0:
                t.serialising = 1
                start_burst(k, thread, work)
            else:
                flush_spout(k, thread)
    elif t.kind == HOUSEKEEPING:
        t.state = IDLE
        w = worker_at(k, t.worker)
        if w.owed > 0:
            work = w.owed
            w.owed = 0
            start_burst(k, thread, work)
    else:
        hand_over(k, thread)


@jit
def flush_spout(k: State, thread: int) -> None:
    """Hand over a spout's products; what does not fit stays in its overflow buffer."""
    t = thread_at(k, thread)
    t.state = BLOCKED
    if t.waits == 0:
        flush_output(k, thread)
    after_emit(k, thread)


@jit
def timer_rings(k: State, thread: int) -> None:
    """A sleep, a wait for a server or an empty turn has ended."""
    t = thread_at(k, thread)
    if t.state == POLLING:
        spout_turn(k, thread)
    elif t.state == WAITING:
        if t.wait == WAIT_SERVER:
            _bolt_finish(k, thread)
        elif t.wait == WAIT_SLEEP:
            spout_fetch(k, thread)
        elif t.wait == WAIT_FETCH:
            spout_emit(k, thread)
        elif t.wait == WAIT_WIRE:
            hand_over(k, thread)


@inline
def _heap_excess(k: State, worker: int) -> int:
    """What garbage collection adds to a worker's costs while its incoming queue fills its heap, of 65536.

    A collection marks or copies what lives, and that is mainly queued tuples. In steps of 1/1024 of the heap.
    """
    w = worker_at(k, worker)
    queued = thread_at(k, w.receive_thread).length + thread_at(k, w.network_thread).length
    filled = min(queued * s_at(k, 0).queued_bytes * 1024 // s_at(k, 0).heap_bytes, 1024)
    return filled * s_at(k, 0).heap_cost >> 10


@jit
def period_rings(k: State, thread: int, source: int) -> None:
    """A periodic tick: housekeeping, a bolt's tick tuple, or the rotation of a spout's pending map."""
    t = thread_at(k, thread)
    s = s_at(k, 0)
    c = cost_at(k, 0)
    if t.kind == HOUSEKEEPING:
        w = worker_at(k, t.worker)
        w.warm_excess = (w.warm_excess * c.warm_keep) >> 16
        w.heap_excess = _heap_excess(k, t.worker)
        schedule(k, source, s.now + c.housekeeping_period)
        if t.state == IDLE and c.housekeeping_work > 0:
            start_burst(k, thread, c.housekeeping_work)
        return
    e = executor_at(k, t.executor)
    component = component_at(k, e.component)
    if component.is_spout != 0:
        schedule(k, source, s.now + topology_at(k, e.topology).timeout)
        _tick(k, thread, e.first_task, -1)
    else:
        schedule(k, source, s.now + component.tick_period)
        for task in range(e.first_task, e.first_task + e.tasks):
            _tick(k, thread, task, component.tick_record)


@jit
def _tick(k: State, thread: int, task: int, record: int) -> None:
    """Put a tick tuple into an executor's receive queue."""
    s = s_at(k, 0)
    m = s.free_message
    message = message_at(k, m)
    s.free_message = message.next
    s.free_messages -= 1
    message.kind = TICK
    message.locality = IN_PROCESS
    message.task = task
    message.target = -1
    message.source_task = -1
    message.root = -1
    message.record = record
    message.bytes = 0
    message.edge = np.uint64(0)
    message.number = -1
    enqueue(k, thread, m)


@jit
def arrive(k: State, m: int) -> None:
    """A message reaches its target's worker: to the thread that reads it, unless the worker is gone."""
    target = executor_at(k, message_at(k, m).target)
    worker = worker_at(k, target.worker)
    if worker.alive == 0:
        lose(k, m)
        return
    enqueue(k, worker.network_thread if s_at(k, 0).netty != 0 else worker.receive_thread, m)


@jit
def release_all(k: State, head: int) -> int:
    """Drop a chain of messages; returns how many there were."""
    count = 0
    m = head
    while m >= 0:
        after = message_at(k, m).next
        free_message(k, m)
        count += 1
        m = after
    return count
