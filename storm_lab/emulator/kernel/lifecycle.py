"""Start and end of workers, executors and their threads in the kernel's arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storm_lab.emulator.kernel import (
    bursts,
    cpu,
    events,
    forwarding,
    load_aware,
    polling,
    queues,
    routing,
    run_queue,
    source_queue,
    waiters,
)
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.jit import entry, jit
from storm_lab.emulator.state.layout import State

THREADS_PER_WORKER = 4 + bursts.COMPILERS
THREADS_PER_EXECUTOR = 2
_UNBOUNDED = (1 << 31) - 1


@jit
def _open_thread(
    k: State, index: int, kind: int, node: int, worker: int, executor: int, capacity: int, role: int
) -> None:
    t = rows.thread(k, index)
    t.kind, t.state, t.capacity, t.waits = kind, kinds.IDLE, capacity, 0
    t.node, t.worker, t.executor = node, worker, executor
    t.head = t.tail = t.out_head = t.out_tail = t.current = -1
    t.waiters = t.last_waiter = t.next_waiter = t.next_wake = t.next_log = t.batches = -1
    t.overflow_head = t.overflow_tail = t.senders = t.last_sender = -1
    t.role = role
    polling.begin_wait(k, index)


@entry
def open_worker(k: State, worker: int, node: int, topology: int, first_thread: int) -> None:
    """Fill a worker's row and start its shared threads, from index ``first_thread`` on."""
    w = rows.worker(k, worker)
    t = rows.topology(k, topology)
    w.node, w.topology, w.route, w.alive = node, topology, 0, 1
    w.rack = rows.node(k, node).rack
    w.parked_head = w.parked_tail = -1
    w.log_holder = w.log_head = w.log_tail = -1
    w.warm_excess = rows.cost(k, 0).warm_excess
    w.started = rows.s(k, 0).now
    w.refresh_due = load_aware.next_refresh(k, worker)
    # The report with which it starts finds nobody connected.
    w.report_due = w.started + load_aware.REPORT_NS
    # The two threads of its system executor, which nothing wakes.
    w.waiting = 2
    w.housekept_at = w.started
    w.receive_thread, w.transfer_thread = first_thread, first_thread + 1
    w.housekeeping_thread, w.network_thread = first_thread + 2, first_thread + 3
    w.compiler_thread = first_thread + 4
    _open_thread(k, first_thread, kinds.RECEIVE, node, worker, -1, _UNBOUNDED, kinds.NONE)
    _open_thread(k, first_thread + 1, kinds.TRANSFER, node, worker, -1, t.transfer_places, kinds.NONE)
    _open_thread(k, first_thread + 2, kinds.HOUSEKEEPING, node, worker, -1, 0, kinds.NONE)
    _open_thread(k, first_thread + 3, kinds.NETWORK, node, worker, -1, _UNBOUNDED, kinds.NONE)
    for compiler in range(bursts.COMPILERS):
        _open_thread(k, w.compiler_thread + compiler, kinds.COMPILER, node, worker, -1, 0, kinds.NONE)
    rows.thread(k, first_thread).gathers = int(t.overflows != 0 or t.producer_batch > 1)
    events.schedule(
        k, events.period_source(k, first_thread + 2), rows.s(k, 0).now + rows.cost(k, 0).housekeeping_period
    )


@entry
def open_executor(
    k: State,
    index: int,
    worker: int,
    component: int,
    first_task: int,
    tasks: int,
    source: int,
    first_thread: int,
    prepared: int,
) -> None:
    """Fill an executor's row and start its threads; a spout begins inactive, between two turns.

    A bolt or acker that is not ``prepared`` leaves its tuples in its queue until `prepare_executor`.
    """
    now = rows.s(k, 0).now
    w = rows.worker(k, worker)
    e = rows.executor(k, index)
    e.worker, e.topology, e.component = worker, w.topology, component
    e.first_task, e.tasks, e.source = first_task, tasks, source
    e.main_thread, e.send_thread = first_thread, first_thread + 1
    e.alive, e.active, e.started, e.poll_phase = 1, 0, now, now
    e.first_pending = e.last_pending = e.turn_head = -1
    e.reported_load = load_aware.FULL
    c = rows.component(k, component)
    topology = rows.topology(k, w.topology)
    role = kinds.SPOUT if c.is_spout else kinds.ACKER_BOLT if c.is_acker else kinds.BOLT
    _open_thread(k, first_thread, kinds.MAIN, w.node, worker, index, topology.main_places, role)
    _open_thread(k, first_thread + 1, kinds.SEND, w.node, worker, index, topology.send_places, kinds.NONE)
    if c.is_spout:
        rows.thread(k, first_thread).state = kinds.POLLING
        events.schedule(k, events.period_source(k, first_thread), now + topology.timeout)
    elif prepared == 0:
        polling.end_wait(k, first_thread)
        thread = rows.thread(k, first_thread)
        thread.state, thread.wait = kinds.WAITING, kinds.WAIT_PREPARE
    elif rows.cost(k, 0).look > 0:
        polling.become_idle(k, first_thread)
    if not c.is_spout and c.tick_period > 0 and c.tick_record >= 0:
        events.schedule(k, events.period_source(k, first_thread), now + c.tick_period)
    if topology.overflows != 0 or topology.producer_batch > 1 or topology.transfer_batch > 1:
        rows.thread(k, first_thread).gathers = rows.thread(k, first_thread + 1).gathers = 1
        if topology.overflows == 0 and topology.flush > 0:
            # The period of the send thread, which 2.x does not have.
            events.schedule(k, events.period_source(k, first_thread + 1), now + topology.flush)


@entry
def prepare_executor(k: State, executor: int) -> None:
    """Let a bolt or acker begin with its tuples."""
    thread = rows.executor(k, executor).main_thread
    t = rows.thread(k, thread)
    if t.state == kinds.WAITING and t.wait == kinds.WAIT_PREPARE:
        events.schedule(k, events.timer_source(k, thread), rows.s(k, 0).now)


@jit
def _stop_thread(k: State, thread: int) -> int:
    """End a thread, whatever its state, and let its waiters go on; returns how many messages it had."""
    t = rows.thread(k, thread)
    if t.state == kinds.RUNNING or t.in_run_queue != 0:
        cpu.advance(k, t.node)
        if t.in_run_queue != 0:
            run_queue.leave_run_queue(k, thread)
        else:
            run_queue.lose_core(k, t.node, cpu.burst_place(k, t.node, thread))
        bursts.reschedule(k, t.node)
    if t.poll_every > 0:
        polling.set_polling(k, thread, 0)
        bursts.reschedule(k, t.node)
    if t.state == kinds.IDLE:
        polling.end_wait(k, thread)
    events.unschedule(k, events.timer_source(k, thread))
    events.unschedule(k, events.period_source(k, thread))
    t.state = kinds.DEAD
    queued = queues.release_all(k, t.head) + queues.release_all(k, t.overflow_head)
    t.head = t.tail = t.overflow_head = t.overflow_tail = -1
    t.length = t.batch = t.held = t.places = t.held_places = t.overflow = t.overflow_due = 0
    queues.lower_flag(k, thread)
    if t.kind == kinds.MAIN:
        bursts.release_log(k, thread)
    while t.waiters >= 0:
        waiters.release_waiter(k, thread)
    t.stops_senders = 0
    waiters.release_senders(k, thread)
    return queued


@jit
def _drop_output(k: State, thread: int) -> int:
    """Drop what a dead thread had produced or had in hand; returns how many messages that were."""
    t = rows.thread(k, thread)
    dropped = queues.release_all(k, t.out_head) + forwarding.drop_batches(k, thread)
    t.out_head = t.out_tail = -1
    if t.current >= 0:
        queues.free_message(k, t.current)
        t.current = -1
        dropped += 1
    return dropped


@entry
def close_executor(k: State, executor: int) -> tuple[int, int, int, int]:
    """Kill an executor's threads; returns tuples lost in receive queue, execution, send queue, and 0."""
    e = rows.executor(k, executor)
    e.alive = 0
    e.active = 0
    if e.in_idle_table != 0:
        source_queue.remove_idle_spout(k, executor)
        source_queue.schedule_line_turn(k, e.source)
    queued = _stop_thread(k, e.main_thread)
    sending = _stop_thread(k, e.send_thread)
    if e.turn_head >= 0:
        queues.release_all(k, e.turn_head)
        e.turn_head = -1
    executing = _drop_output(k, e.main_thread)
    sending += _drop_output(k, e.send_thread)
    return queued, executing, sending, 0


@entry
def close_worker(k: State, worker: int) -> tuple[int, int, int, int]:
    """Kill a worker's shared threads; returns what was lost as above, in transfer last."""
    w = rows.worker(k, worker)
    w.alive = 0
    if w.full_since > 0:
        w.full_since = 0
        rows.s(k, 0).full_heaps -= 1
    receiving = _stop_thread(k, w.receive_thread) + _stop_thread(k, w.network_thread)
    transferring = _stop_thread(k, w.transfer_thread)
    _stop_thread(k, w.housekeeping_thread)
    cpu.spend_evenly(k, worker, 0, 1)
    for compiler in range(bursts.COMPILERS):
        _stop_thread(k, w.compiler_thread + compiler)
    transferring += queues.release_all(k, w.parked_head)
    w.parked_head = w.parked_tail = -1
    receiving += _drop_output(k, w.receive_thread) + _drop_output(k, w.network_thread)
    transferring += _drop_output(k, w.transfer_thread)
    return receiving, 0, 0, transferring


def add_route(k: Kernel, end: int, executors: Sequence[int]) -> tuple[int, int]:
    """Append a topology's routing table: the executors that serve its tasks, as workers believe.

    ``executors`` are their numbers, and ``end`` is the end of the tables so far. Returns the place
    where task 0 would be in the table, and the new end.
    """
    serving = np.asarray(executors)
    topology = k.executor["topology"][serving[0]]
    own = np.flatnonzero(k.component["topology"][k.task["component"]] == topology)
    first, tasks = int(own[0]), len(own)
    if end + tasks > len(k.route):
        grown = np.full(max(2 * len(k.route), end + tasks), -1, np.int32)
        grown[: len(k.route)] = k.route
        k.replace(route=grown)
    counts = k.executor["tasks"][serving]
    starts = end - first + k.executor["first_task"][serving] - (np.cumsum(counts) - counts)
    k.route[np.repeat(starts, counts) + np.arange(counts.sum())] = np.repeat(serving, counts)
    return end - first, end + tasks


@entry
def deliver_parked(k: State, worker: int) -> int:
    """Send on, in order, what waited for executors that a worker now knows; returns how many messages."""
    delivered = 0
    w = rows.worker(k, worker)
    m = w.parked_head
    w.parked_head = w.parked_tail = -1
    while m >= 0:
        message = rows.message(k, m)
        after = message.next
        message.next = -1
        if routing.resolve(k, worker, m) < 0:
            queues.park(k, worker, m)
        else:
            target = rows.executor(k, message.target)
            receiver = target.main_thread if message.locality == kinds.IN_PROCESS else w.transfer_thread
            if target.alive == 0:
                queues.lose(k, m)
            else:
                # They wait in the connection, behind the transfer queue, whose size does not limit them.
                queues.enqueue(k, receiver, m)
                delivered += 1
        m = after
    if w.parked_head < 0 and w.held_until == kinds.HELD:
        w.held_until = rows.s(k, 0).now
        t = rows.thread(k, w.transfer_thread)
        if t.state == kinds.WAITING and t.wait == kinds.WAIT_CHANNEL:
            events.schedule(k, events.timer_source(k, w.transfer_thread), rows.s(k, 0).now)
    return delivered
