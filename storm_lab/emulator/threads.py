"""What a worker's threads do: take messages, burn CPU, hand over what they produced.

Storm 0.8 to 1.x: an executor has a main thread (user code) and a send thread (splits local from remote,
serialises); a worker has a transfer thread (sends) and a receive thread (hands arriving tuples to
executors, in order, so that one full executor holds up all others of its worker). Storm 2.x: no send
thread; the main thread itself hands over and serialises. Every worker also has housekeeping (heartbeats,
timers, garbage collection): a small periodic burst.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.acking import acker_execute, send_to_acker
from storm_lab.emulator.cpu import start_burst
from storm_lab.emulator.heap import schedule, timer_source
from storm_lab.emulator.jit import inline, jit
from storm_lab.emulator.layout import (
    ACK,
    BLOCKED,
    DATA,
    HOUSEKEEPING,
    IDLE,
    IN_PROCESS,
    MAIN,
    POLLING,
    RECEIVE,
    SEND,
    TICK,
    TRANSFER,
    TURN_ACKS,
    WAIT_FETCH,
    WAIT_SERVER,
    WAIT_SLEEP,
    WAITING,
    Kernel,
)
from storm_lab.emulator.queues import (
    add_output,
    enqueue,
    free_message,
    has_room,
    lose,
    spout_poll_time,
    take,
    wait_for_room,
)
from storm_lab.emulator.routing import copies_of, emit_all, resolve, transmit
from storm_lab.emulator.spout import (
    after_emit,
    spout_acks_done,
    spout_emit,
    spout_emitted,
    spout_fetch,
    spout_turn,
)


@inline
def _is_spout(k: Kernel, thread: int) -> bool:
    e = k.thread[thread].executor
    return k.component[k.executor[e].component].is_spout != 0


@jit
def _bolt_start(k: Kernel, thread: int) -> None:
    """Take the next tuple and run execute on it."""
    t = k.thread[thread]
    m = take(k, thread)
    t.current = m
    t.started = k.s[0].now
    message = k.message[m]
    c = k.cost[0]
    work = c.dispatch
    if message.locality != IN_PROCESS:
        work += c.deserialise + message.bytes * c.deserialise_kb // 1024
    component = k.component[k.executor[t.executor].component]
    if component.is_acker != 0:
        work += c.acker
    elif message.record >= 0:
        work += k.record[message.record].cpu_ns + c.emit * copies_of(k, message.record)
        if message.root >= 0:
            work += c.emit
    start_burst(k, thread, work)


@jit
def _ask_server(k: Kernel, record: int) -> int:
    """Send a request to an external server; returns when its answer arrives."""
    r = k.record[record]
    server = k.server[r.server]
    now = k.s[0].now
    if server.places == 0:
        return now + server.latency + r.server_ns
    best = server.first
    for i in range(server.first + 1, server.first + server.places):
        if k.server_place[i] < k.server_place[best]:
            best = i
    start = max(now + server.latency // 2, k.server_place[best])
    k.server_place[best] = start + r.server_ns
    return k.server_place[best] + server.latency - server.latency // 2


@jit
def _bolt_computed(k: Kernel, thread: int) -> None:
    """Execute's CPU part is done: wait for an external server where the tuple needs one, or finish."""
    t = k.thread[thread]
    record = k.message[t.current].record
    if record >= 0 and k.record[record].server >= 0:
        t.state = WAITING
        t.wait = WAIT_SERVER
        schedule(k, timer_source(k, thread), _ask_server(k, record))
    else:
        _bolt_finish(k, thread)


@jit
def _bolt_finish(k: Kernel, thread: int) -> None:
    """Execute returns: produce its emissions, ack the input, log the execution."""
    t = k.thread[thread]
    s = k.s[0]
    m = t.current
    t.current = -1
    message = k.message[m]
    e = k.executor[t.executor]
    task = k.task[message.task]
    if k.component[e.component].is_acker != 0:
        if message.root >= 0:
            acker_execute(k, thread, t.executor, m)
    elif message.record >= 0:
        root = message.root
        number = message.number
        xor = emit_all(k, thread, t.executor, message.task, message.record, root, number)
        if root >= 0 and message.kind == DATA:
            send_to_acker(k, thread, ACK, message.task, e.topology, root, message.edge ^ xor)
            task.acked += 1
    if message.kind != TICK:
        task.executed += 1
        task.execute += s.now - t.started
    if message.number >= 0:
        row = k.execution_row[s.execution_rows]
        s.execution_rows += 1
        row.number = message.number
        row.task = message.task
        row.source_task = message.source_task
        row.worker = t.worker
        row.locality = message.locality
        row.enqueued = message.time
        row.started = t.started
        row.ended = s.now
    free_message(k, m)
    hand_over_own(k, thread)


@jit
def _batch_start(k: Kernel, thread: int, most: int) -> None:
    """Take what is there, up to ``most`` messages, and spend the CPU that handling them costs."""
    t = k.thread[thread]
    c = k.cost[0]
    work = 0
    for _ in range(min(t.length, most)):
        m = take(k, thread)
        if t.kind == SEND:
            if resolve(k, t.worker, m) < 0:
                lose(k, m)
                continue
            work += c.send
            if k.message[m].locality != IN_PROCESS:
                work += c.serialise + k.message[m].bytes * c.serialise_kb // 1024
        elif t.kind == TRANSFER:
            work += c.transfer
        else:
            work += c.receive
        add_output(k, thread, m)
    start_burst(k, thread, work)


@jit
def go_on(k: Kernel, thread: int) -> None:
    """A thread has handed over everything: take what comes next, or fall idle."""
    t = k.thread[thread]
    if t.kind == MAIN and _is_spout(k, thread):
        spout_turn(k, thread)
    elif t.length == 0:
        t.state = IDLE
    elif t.kind == MAIN:
        _bolt_start(k, thread)
    elif t.kind == RECEIVE:
        _batch_start(k, thread, k.cost[0].receive_batch)
    else:
        _batch_start(k, thread, k.cost[0].send_batch)


@jit
def _receiver_of(k: Kernel, thread: int, m: int) -> int:
    """The thread whose queue a message goes to next; -1: it is lost; -2: it goes on the wire."""
    t = k.thread[thread]
    if t.kind == TRANSFER:
        return -2
    if t.kind == MAIN and k.s[0].version_2 == 0:
        return k.executor[t.executor].send_thread
    message = k.message[m]
    if message.target < 0:
        return -1
    target = k.executor[message.target]
    if target.alive == 0 and (t.kind == RECEIVE or message.locality == IN_PROCESS):
        return -1
    if t.kind != RECEIVE and message.locality != IN_PROCESS:
        return k.worker[t.worker].transfer_thread
    return target.main_thread


@jit
def flush_output(k: Kernel, thread: int) -> bool:
    """Hand over what a thread has produced, in order; False when a full queue stopped it (it waits for room
    then).
    """
    t = k.thread[thread]
    while t.out_head >= 0:
        m = t.out_head
        receiver = _receiver_of(k, thread, m)
        if receiver >= 0 and not has_room(k, receiver):
            wait_for_room(k, thread, receiver)
            return False
        t.out_head = k.message[m].next
        if receiver >= 0:
            enqueue(k, receiver, m)
        elif receiver == -1:
            lose(k, m)
        else:
            transmit(k, t.node, m)
    t.out_tail = -1
    return True


@jit
def hand_over(k: Kernel, thread: int) -> None:
    """A burst is done and its products are listed: hand them over and go on, or stop at a full queue."""
    t = k.thread[thread]
    # Lets an enqueue to oneself (a bolt with a loop, an acker beside its spout) see a busy thread.
    t.state = BLOCKED
    if flush_output(k, thread):
        go_on(k, thread)


@jit
def _serialise_own(k: Kernel, thread: int) -> int:
    """Storm 2.x: find where an executor's new products go; returns the CPU that serialising the remote ones
    costs.
    """
    t = k.thread[thread]
    c = k.cost[0]
    work = 0
    m = t.out_head
    while m >= 0:
        message = k.message[m]
        if message.target < 0 and resolve(k, t.worker, m) >= 0 and message.locality != IN_PROCESS:
            work += c.serialise + message.bytes * c.serialise_kb // 1024
        m = message.next
    return work


@jit
def hand_over_own(k: Kernel, thread: int) -> None:
    """A main thread hands its products over: to its send thread, or (2.x) itself, after serialising."""
    if k.s[0].version_2 != 0:
        work = _serialise_own(k, thread)
        if work > 0:
            k.thread[thread].serialising = 1
            start_burst(k, thread, work)
            return
    hand_over(k, thread)


@jit
def resume(k: Kernel, thread: int) -> None:
    """There is room in the queue that stopped a thread."""
    t = k.thread[thread]
    if t.kind == MAIN and _is_spout(k, thread):
        # A spout is never stopped: it keeps an overflow buffer and handles acks meanwhile.
        if flush_output(k, thread) and t.state == POLLING:
            schedule(k, timer_source(k, thread), spout_poll_time(k, thread, k.s[0].now))
    elif t.state == BLOCKED and flush_output(k, thread):
        go_on(k, thread)


@jit
def burst_done(k: Kernel, thread: int) -> None:
    """A thread's CPU burst has ended."""
    t = k.thread[thread]
    t.cpu += t.work
    if t.kind == MAIN:
        if t.serialising != 0:
            t.serialising = 0
            if _is_spout(k, thread):
                flush_spout(k, thread)
            else:
                hand_over(k, thread)
        elif not _is_spout(k, thread):
            _bolt_computed(k, thread)
        elif k.executor[t.executor].turn == TURN_ACKS:
            spout_acks_done(k, thread)
        else:
            spout_emitted(k, thread)
            work = _serialise_own(k, thread) if k.s[0].version_2 != 0 else 0
            if work > 0:
                t.serialising = 1
                start_burst(k, thread, work)
            else:
                flush_spout(k, thread)
    elif t.kind == HOUSEKEEPING:
        t.state = IDLE
    else:
        hand_over(k, thread)


@jit
def flush_spout(k: Kernel, thread: int) -> None:
    """Hand over a spout's products; what does not fit stays in its overflow buffer."""
    t = k.thread[thread]
    t.state = BLOCKED
    if t.waiting_for < 0:
        flush_output(k, thread)
    after_emit(k, thread)


@jit
def timer_rings(k: Kernel, thread: int) -> None:
    """A sleep, a wait for a server or an empty turn has ended."""
    t = k.thread[thread]
    if t.state == POLLING:
        spout_turn(k, thread)
    elif t.state == WAITING:
        if t.wait == WAIT_SERVER:
            _bolt_finish(k, thread)
        elif t.wait == WAIT_SLEEP:
            spout_fetch(k, thread)
        elif t.wait == WAIT_FETCH:
            spout_emit(k, thread)


@jit
def period_rings(k: Kernel, thread: int, source: int) -> None:
    """A periodic tick: housekeeping, a bolt's tick tuple, or the rotation of a spout's pending map."""
    t = k.thread[thread]
    s = k.s[0]
    c = k.cost[0]
    if t.kind == HOUSEKEEPING:
        w = k.worker[t.worker]
        w.warm_excess = (w.warm_excess * c.warm_keep) >> 16
        schedule(k, source, s.now + c.housekeeping_period)
        if t.state == IDLE and c.housekeeping_work > 0:
            start_burst(k, thread, c.housekeeping_work)
        return
    e = k.executor[t.executor]
    component = k.component[e.component]
    if component.is_spout != 0:
        schedule(k, source, s.now + k.topology[e.topology].timeout)
        _tick(k, thread, e.first_task, -1)
    else:
        schedule(k, source, s.now + component.tick_period)
        for task in range(e.first_task, e.first_task + e.tasks):
            _tick(k, thread, task, component.tick_record)


@jit
def _tick(k: Kernel, thread: int, task: int, record: int) -> None:
    """Put a tick tuple into an executor's receive queue."""
    s = k.s[0]
    m = s.free_message
    message = k.message[m]
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
def arrive(k: Kernel, m: int) -> None:
    """A message reaches its target's worker: into the receive thread's queue, unless worker or executor is
    gone.
    """
    target = k.executor[k.message[m].target]
    worker = k.worker[target.worker]
    if worker.alive == 0:
        lose(k, m)
        return
    enqueue(k, worker.receive_thread, m)


@jit
def release_all(k: Kernel, head: int) -> int:
    """Drop a chain of messages; returns how many there were."""
    count = 0
    m = head
    while m >= 0:
        after = k.message[m].next
        free_message(k, m)
        count += 1
        m = after
    return count
