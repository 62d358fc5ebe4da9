"""The threads of a worker: they take messages, spend CPU, and hand over what they have produced.

``docs/emulator.md`` says which threads each Storm version has, what their steps cost, and how batches grow.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel import (
    acking,
    bolt,
    bursts,
    cpu,
    events,
    forwarding,
    polling,
    queues,
    routing,
    run_queue,
    spout,
    waiters,
)
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

READ_BYTES = 65536
"""From 1.0 on: most that a receive thread reads at once and hands over, the size of Netty's read buffer
(``AdaptiveReceiveBufferSizePredictor`` of Netty 3, ``AdaptiveRecvByteBufAllocator`` of Netty 4).
"""


@inline
def _sender_of(k: State, worker: int, m: int) -> int:
    """Return the worker that a message came from, as its reader ``worker`` sees the topology; -1: unknown."""
    task = rows.message(k, m).source_task
    if task < 0:
        return -1
    executor = rows.route(k, rows.worker(k, worker).route + task).value
    return -1 if executor < 0 else rows.executor(k, executor).worker


@inline
def _is_first(k: State, other: int, batch: int) -> bool:
    """Return whether a message is the first of its batch from or to worker ``other``, and so needs a call."""
    if other < 0:
        return True
    w = rows.worker(k, other)
    if w.last_batch == batch:
        return False
    w.last_batch = batch
    return True


@inline
def _add_read(k: State, thread: int, m: int, sender: int, first: bool) -> None:
    """Put a message behind those that its batch has read from worker ``sender``, or begin a list with it."""
    rows.message(k, m).place = 1 if first else 0
    t = rows.thread(k, thread)
    last = t.out_tail if first else rows.worker(k, sender).last_read
    if last == t.out_tail:
        queues.add_output(k, thread, m)
    else:
        rows.message(k, m).next = rows.message(k, last).next
        rows.message(k, last).next = m
    if sender >= 0:
        rows.worker(k, sender).last_read = m


@jit
def _bolt_finish(k: State, thread: int) -> None:
    """Hand over what execute has produced, as it returns."""
    bolt.bolt_results(k, thread)
    hand_over_own(k, thread)


@jit
def _batch_start(k: State, thread: int, most: int) -> None:
    """Take up to ``most`` waiting messages as a batch, and spend the CPU that handling them costs."""
    t = rows.thread(k, thread)
    c = rows.cost(k, 0)
    work = calls = read = 0
    slept = bursts.time_asleep(k, thread)
    # `seq` grows with every burst that starts, so every batch has its own number.
    batch = rows.s(k, 0).seq + 1
    t.hand_over = batch
    remote = first = False
    sender = -1
    # From 0.9.2 on each connection's read is a list, and a receive thread takes one list at a time.
    connections = t.kind == kinds.NETWORK and rows.s(k, 0).lists == 2
    reads = t.kind == kinds.RECEIVE and rows.s(k, 0).lists == 2
    for _ in range(min(t.length, most)):
        m = queues.take(k, thread)
        if t.kind == kinds.SEND:
            # Prefetch for the receiver, which most messages reach soon.
            rows.fetch_record(k, rows.message(k, m).record)
            if routing.resolve(k, t.worker, m) < 0:
                forwarding.handle_unreached(k, t.worker, m)
                continue
            work += c.send
            if rows.message(k, m).locality != kinds.IN_PROCESS:
                work += c.serialise + rows.message(k, m).bytes * c.serialise_kb // 1024
                remote = True
        elif t.kind == kinds.TRANSFER:
            work += c.transfer
            if c.write != 0 and _is_first(k, rows.executor(k, rows.message(k, m).target).worker, batch):
                calls += c.write + bursts.long_sleep_work(k, slept)
        elif t.kind == kinds.NETWORK or rows.s(k, 0).netty == 0:
            work += c.receive
            if t.kind == kinds.NETWORK:
                read += rows.message(k, m).bytes + c.header_bytes
            sender = _sender_of(k, t.worker, m)
            first = _is_first(k, sender, batch)
            if first:
                calls += c.read
            if rows.s(k, 0).version_1 != 0:
                work += c.deserialise + rows.message(k, m).bytes * c.deserialise_kb // 1024
                if t.kind == kinds.RECEIVE:
                    size = rows.message(k, m).bytes + c.header_bytes
                    rows.worker(k, t.worker).unread -= size
                    read += size
        else:
            work += c.deliver
        if connections:
            _add_read(k, thread, m, sender, first)
        else:
            queues.add_output(k, thread, m)
        if read >= READ_BYTES:
            break
        if reads and t.head >= 0 and rows.message(k, t.head).place != 0:
            break
    if t.kind == kinds.SEND and c.empty_batch != 0 and not remote:
        _wake_for_nothing(k, t.worker)
    bursts.start_burst(k, thread, work, (calls * rows.node(k, t.node).system_factor) >> 16)
    # A thread that goes on without a pause has not slept.
    t.idle_from = rows.s(k, 0).now


@jit
def _wake_for_nothing(k: State, worker: int) -> None:
    """Wake an idle transfer thread for nothing, as a send thread does with each batch up to 0.10.

    The send thread publishes what goes to other workers even if that is nothing. The transfer thread is then
    awake until it has had its turn. What waking it costs is played with the worker's next housekeeping.
    """
    w = rows.worker(k, worker)
    now = rows.s(k, 0).now
    if rows.thread(k, w.transfer_thread).state != kinds.IDLE or now < w.awake_until:
        return
    c = rows.cost(k, 0)
    p = rows.node(k, w.node)
    work = (c.empty_batch * p.system_factor) >> 16
    w.wait_balance += work
    polling.interrupt_wait(k, w.transfer_thread)
    threads = cpu.contending(k, w.node)
    w.awake_until = (
        now + c.wake + ((work * p.slowdown * p.fault_slowdown) >> 20) * max(1, threads // p.threads)
    )
    if threads >= p.threads:
        w.awake_until += run_queue.time_slice_wait(k, w.node)


@jit
def take_next(k: State, thread: int) -> None:
    """Let a thread that has handed over everything take what comes next, or become idle."""
    t = rows.thread(k, thread)
    if t.role == kinds.SPOUT:
        spout.spout_turn(k, thread)
        return
    if t.resetting != 0:
        t.resetting = 0
        bolt.bolt_execute(k, thread, 0)
        return
    if t.held > 0 and t.batch == 0:
        queues.end_batch(k, thread)
    if queues.waiting(k, thread) == 0:
        polling.become_idle(k, thread)
    elif run_queue.has_to_wait(k, thread):
        return
    elif t.kind == kinds.MAIN:
        bolt.bolt_start(k, thread)
    elif t.kind == kinds.RECEIVE:
        _batch_start(k, thread, rows.topology(k, rows.worker(k, t.worker).topology).receive_batch)
    else:
        # Take all messages: the size of the queue limits the batch, if anything does.
        _batch_start(k, thread, t.length)


@jit
def hand_over(k: State, thread: int) -> None:
    """Hand over the products of a burst and go on, or stop at a full queue."""
    t = rows.thread(k, thread)
    # A message to the thread itself (a bolt with a loop, an acker beside its spout) must find it busy.
    t.state = kinds.BLOCKED
    if t.role == kinds.SPOUT:
        # What does not fit stays in its overflow buffer.
        if t.waits == 0:
            forwarding.flush_output(k, thread)
        spout.after_emit(k, thread)
    elif forwarding.flush_output(k, thread):
        take_next(k, thread)


@jit
def hand_over_own(k: State, thread: int) -> None:
    """Hand a main thread's products to its send thread, or in 2.x to their receivers, after serialising."""
    if rows.s(k, 0).version_2 != 0:
        work = forwarding.serialise_own(k, thread)
        if work > 0:
            rows.thread(k, thread).serialising = 1
            bursts.start_burst(k, thread, work, 0)
            return
    hand_over(k, thread)


@jit
def resume(k: State, thread: int) -> None:
    """Let a thread go on that a full queue had stopped."""
    t = rows.thread(k, thread)
    if t.role == kinds.SPOUT:
        # A spout is never stopped: it keeps an overflow buffer and handles acks meanwhile.
        if forwarding.flush_output(k, thread) and t.state == kinds.POLLING:
            events.schedule(
                k, events.timer_source(k, thread), queues.spout_poll_time(k, thread, rows.s(k, 0).now)
            )
    elif t.state == kinds.BLOCKED and forwarding.flush_output(k, thread):
        take_next(k, thread)


@jit
def burst_done(k: State, thread: int) -> None:
    """End a thread's CPU burst."""
    t = rows.thread(k, thread)
    t.cpu += t.work
    if t.log_work > 0:
        if t.log != kinds.LOG_WRITES:
            bursts.write_log(k, thread, t.work)
            return
        bursts.log_written(k, thread)
    _after_burst(k, thread)
    if t.log == kinds.LOG_TURN and t.state != kinds.RUNNING:
        bursts.release_log(k, thread)


@jit
def _after_burst(k: State, thread: int) -> None:
    """Do what follows a burst, after its log lines have been written."""
    t = rows.thread(k, thread)
    if t.kind == kinds.MAIN:
        if t.serialising != 0:
            t.serialising = 0
            hand_over(k, thread)
        elif t.resetting == 1:
            # Reset the time-out of the tuple in hand by a message to its acker, then go on with the tuple.
            t.resetting = 2
            message = rows.message(k, t.current)
            topology = rows.executor(k, t.executor).topology
            acking.send_to_acker(k, thread, kinds.RESET, message.task, topology, message.root, np.uint64(0))
            hand_over_own(k, thread)
        elif t.role != kinds.SPOUT:
            record = rows.message(k, t.current).record
            if record >= 0 and rows.record(k, record).server >= 0:
                t.state, t.wait = kinds.WAITING, kinds.WAIT_SERVER
                events.schedule(k, events.timer_source(k, thread), bolt.ask_server(k, record))
            else:
                _bolt_finish(k, thread)
        elif rows.executor(k, t.executor).turn == kinds.TURN_ACKS:
            spout.spout_acks_done(k, thread)
        else:
            spout.spout_emitted(k, thread)
            hand_over_own(k, thread)
    elif t.kind == kinds.HOUSEKEEPING:
        t.state = kinds.IDLE
        bursts.run_backlog(k, thread)
    elif t.kind == kinds.COMPILER:
        t.state = kinds.IDLE
        bursts.compile_next(k, thread)
    else:
        hand_over(k, thread)


@jit
def timer_fires(k: State, thread: int) -> None:
    """End a thread's sleep, wait for a server, or empty turn; in 2.x look whether an overflow is gone."""
    t = rows.thread(k, thread)
    if t.kind == kinds.SEND and rows.s(k, 0).version_2 != 0:
        waiters.check_overflow(k, thread - 1)
    elif t.state == kinds.POLLING:
        spout.spout_turn(k, thread)
    elif t.state == kinds.WAKING:
        polling.stop_polling(k, thread)
        t.wait_ended_by = kinds.POLL_FOUND
        take_next(k, thread)
    elif t.state == kinds.IDLE or t.state == kinds.BLOCKED:
        polling.poll_progressively(k, thread)
    elif t.state == kinds.WAITING:
        if t.wait == kinds.WAIT_SERVER:
            _bolt_finish(k, thread)
        elif t.wait == kinds.WAIT_SLEEP:
            spout.spout_fetch(k, thread)
        elif t.wait == kinds.WAIT_FETCH:
            spout.spout_emit(k, thread)
        elif t.wait == kinds.WAIT_CHANNEL:
            hand_over(k, thread)
        elif t.wait == kinds.WAIT_PREPARE:
            take_next(k, thread)
