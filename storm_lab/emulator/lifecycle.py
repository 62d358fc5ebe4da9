"""Birth and death of workers, executors and their threads inside the kernel's arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from storm_lab.emulator.acking import close_root
from storm_lab.emulator.arrays import (
    component_at,
    executor_at,
    handle,
    message_at,
    s_at,
    source_at,
    thread_at,
    worker_at,
)
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.cpu import advance, leave_cpu, reschedule, start_burst
from storm_lab.emulator.heap import period_source, schedule, timer_source, unschedule
from storm_lab.emulator.jit import entry, jit
from storm_lab.emulator.layout import (
    DEAD,
    HOUSEKEEPING,
    IDLE,
    IN_PROCESS,
    LOST,
    MAIN,
    NETWORK,
    POLLING,
    RECEIVE,
    RUNNING,
    S_CLOSED,
    SEND,
    TRANSFER,
    TURN_EMIT,
    WAIT_FETCH,
    WAIT_SLEEP,
    WAITING,
    Kernel,
    State,
)
from storm_lab.emulator.lines import leave_idle, return_line, watch
from storm_lab.emulator.log_lock import release_log
from storm_lab.emulator.queues import (
    enqueue,
    free_message,
    lose,
    lower_flag,
    park,
    release_waiter,
    spout_poll_time,
)
from storm_lab.emulator.routing import channel_between, end_cut, resolve
from storm_lab.emulator.threads import release_all

THREADS_PER_WORKER = 4
THREADS_PER_EXECUTOR = 2
# Most roots that one call of lose_pending gives up: bounds the log rows it writes.
LOSE_MOST = 4096
_UNBOUNDED = (1 << 31) - 1


def _open_thread(
    k: Kernel, index: int, kind: int, node: int, worker: int, executor: int, capacity: int
) -> None:
    t = k.thread[index]
    t.kind, t.state, t.node, t.worker, t.executor, t.capacity = kind, IDLE, node, worker, executor, capacity
    for field in ("head", "tail", "out_head", "out_tail", "current", "waiters", "last_waiter", "next_waiter"):
        setattr(t, field, -1)
    t.next_wake = t.heap_pos = t.next_log = -1
    t.waits = 0


@entry
def _start_period(k: State, thread: int, time: int) -> None:
    schedule(k, period_source(k, thread), time)


def open_worker(
    k: Kernel, worker: int, node: int, topology: int, first_thread: int, transfer: int, cost: CostModel
) -> None:
    """Fill a worker's row and start its shared threads, from index ``first_thread`` on."""
    w = k.worker[worker]
    w.node, w.topology, w.route, w.alive = node, topology, 0, 1
    w.parked_head = w.parked_tail = -1
    w.log_holder = w.log_head = w.log_tail = -1
    w.warm_excess = round(65536 * (cost.warm_up_factor - 1.0))
    w.receive_thread, w.transfer_thread = first_thread, first_thread + 1
    w.housekeeping_thread, w.network_thread = first_thread + 2, first_thread + 3
    _open_thread(k, first_thread, RECEIVE, node, worker, -1, _UNBOUNDED)
    _open_thread(k, first_thread + 1, TRANSFER, node, worker, -1, transfer)
    _open_thread(k, first_thread + 2, HOUSEKEEPING, node, worker, -1, 0)
    _open_thread(k, first_thread + 3, NETWORK, node, worker, -1, _UNBOUNDED)
    _start_period(handle(k), first_thread + 2, int(k.s[0].now) + int(k.cost[0].housekeeping_period))


def open_executor(
    k: Kernel,
    index: int,
    worker: int,
    component: int,
    first_task: int,
    tasks: int,
    source: int,
    first_thread: int,
    main_queue: int,
    send_queue: int,
) -> None:
    """Fill an executor's row and start its threads; a spout begins inactive, between two turns."""
    now = int(k.s[0].now)
    w = k.worker[worker]
    e = k.executor[index]
    e.worker, e.topology, e.component = worker, w.topology, component
    e.first_task, e.tasks, e.source = first_task, tasks, source
    e.main_thread, e.send_thread = first_thread, first_thread + 1
    e.alive, e.active, e.started, e.poll_phase = 1, 0, now, now
    for field in (
        "new_head",
        "new_tail",
        "old_head",
        "old_tail",
        "expired_head",
        "expired_tail",
        "turn_head",
    ):
        setattr(e, field, -1)
    _open_thread(k, first_thread, MAIN, w.node, worker, index, main_queue)
    _open_thread(k, first_thread + 1, SEND, w.node, worker, index, send_queue)
    c = k.component[component]
    if c.is_spout:
        k.thread[first_thread].state = POLLING
        _start_period(handle(k), first_thread, now + int(k.topology[w.topology].timeout))
    elif c.tick_period > 0 and c.tick_record >= 0:
        _start_period(handle(k), first_thread, now + int(c.tick_period))


@entry
def set_active(k: State, executor: int, active: int) -> None:
    """Let a spout executor call nextTuple or not; it notices at the end of its present sleep."""
    e = executor_at(k, executor)
    if component_at(k, e.component).is_spout == 0 or e.active == active:
        return
    s = s_at(k, 0)
    thread = e.main_thread
    polling = thread_at(k, thread).state == POLLING
    if e.awaits != 0:
        leave_idle(k, executor)
        watch(k, e.source)
    if polling:
        # It sleeps on the grid of its old state until then.
        e.poll_phase = spout_poll_time(k, thread, s.now)
    e.active = active
    if polling and active != 0:
        schedule(k, timer_source(k, thread), e.poll_phase)


@entry
def set_rate(k: State, source: int, rate_milli: int) -> None:
    """Change a source's rate; lines that have arrived and were not taken stay, as lines that wait."""
    s = s_at(k, 0)
    row = source_at(k, source)
    waiting = 0
    if row.rate_milli > 0:
        arrived = (s.now - row.origin) * row.rate_milli // 1_000_000_000_000 + 1
        waiting = max(0, arrived - row.taken)
    row.rate_milli = rate_milli
    # The clock is set back so that exactly the waiting lines count as arrived.
    row.taken = 0
    if rate_milli > 0:
        gap = 1_000_000_000_000 // rate_milli
        row.origin = s.now + gap - waiting * gap
    watch(k, source)


@entry
def wake_readers(k: State, source: int) -> None:
    """Lines have come back, or come at another rate: let the source's sleeping spouts look for them."""
    watch(k, source)


@entry
def first_calls(k: State, source: int, calls: int) -> None:
    """Queue a closed loop's first calls."""
    for _ in range(calls):
        return_line(k, source, -1, 0, s_at(k, 0).now)


@entry
def lose_pending(k: State, executor: int) -> int:
    """Give up roots that wait in a dying spout's pending map, some at a time; returns how many are left."""
    e = executor_at(k, executor)
    for _ in range(LOSE_MOST):
        if e.new_head >= 0:
            close_root(k, e.new_head, LOST)
        elif e.old_head >= 0:
            close_root(k, e.old_head, LOST)
        elif e.expired_head >= 0:
            close_root(k, e.expired_head, LOST)
        else:
            break
    return e.pending


@entry
def return_in_hand(k: State, executor: int) -> None:
    """A dying spout had taken a line and not emitted it yet: a source that holds its lines has it back."""
    e = executor_at(k, executor)
    if component_at(k, e.component).is_spout == 0:
        return
    t = thread_at(k, e.main_thread)
    computing = t.state == RUNNING and e.turn == TURN_EMIT and t.serialising == 0
    fetching = t.state == WAITING and t.wait in (WAIT_SLEEP, WAIT_FETCH)
    if not (computing or fetching):
        return
    source = source_at(k, e.source)
    if source.anchored != 0 and source.replay != 0:
        return_line(k, e.source, e.line, e.attempt, s_at(k, 0).now)
    elif source.kind == S_CLOSED:
        return_line(k, e.source, -1, 0, s_at(k, 0).now + source.answer)


@entry
def _give_back(k: State, source: int, line: int, attempt: int) -> None:
    return_line(k, source, line, attempt, s_at(k, 0).now)


@entry
def _empty(k: State, source: int) -> None:
    row = source_at(k, source)
    release_all(k, row.head)
    row.head = row.tail = -1


def rewind(k: Kernel, source: int, acked: Mapping[int, int]) -> None:
    """Let a log's reader begin again: the lines of ``acked`` wait to be emitted once more, with those that
    wait already, in order of lines.

    Args:
        acked: lines to be emitted though they have been acked, with the attempt at which they were.
    """
    waiting = {line: attempt + 1 for line, attempt in acked.items()}
    m = int(k.source[source].head)
    while m >= 0:
        waiting[int(k.message[m].number)] = int(k.message[m].record)
        m = int(k.message[m].next)
    _empty(handle(k), source)
    for line in sorted(waiting):
        _give_back(handle(k), source, line, waiting[line])


@jit
def _stop_thread(k: State, thread: int) -> int:
    """End a thread whatever it does; returns how many messages its queue held. Its waiters go on."""
    t = thread_at(k, thread)
    if t.state == RUNNING:
        advance(k, t.node)
        leave_cpu(k, thread)
        reschedule(k, t.node)
    unschedule(k, timer_source(k, thread))
    unschedule(k, period_source(k, thread))
    t.state = DEAD
    queued = release_all(k, t.head)
    if t.flagged != 0:
        lower_flag(k, thread)
    t.head = t.tail = -1
    t.length = t.batch = t.held = 0
    if t.kind == MAIN:
        release_log(k, thread)
    while t.waiters >= 0:
        release_waiter(k, thread)
    return queued


@jit
def _drop_output(k: State, thread: int) -> int:
    """Drop what a dead thread had produced or had in hand."""
    t = thread_at(k, thread)
    dropped = release_all(k, t.out_head)
    t.out_head = t.out_tail = -1
    if t.current >= 0:
        free_message(k, t.current)
        t.current = -1
        dropped += 1
    return dropped


@entry
def close_executor(k: State, executor: int) -> tuple[int, int, int, int]:
    """Kill an executor's threads; returns tuples lost in receive queue, in execution, and in send queue (and
    0).
    """
    e = executor_at(k, executor)
    e.alive = 0
    e.active = 0
    if e.awaits != 0:
        leave_idle(k, executor)
        watch(k, e.source)
    queued = _stop_thread(k, e.main_thread)
    sending = _stop_thread(k, e.send_thread)
    if e.turn_head >= 0:
        release_all(k, e.turn_head)
        e.turn_head = -1
    executing = _drop_output(k, e.main_thread)
    sending += _drop_output(k, e.send_thread)
    return queued, executing, sending, 0


@entry
def close_worker(k: State, worker: int) -> tuple[int, int, int, int]:
    """Kill a worker's shared threads; returns tuples lost as :func:`close_executor` does, the last one in
    transfer.
    """
    w = worker_at(k, worker)
    w.alive = 0
    receiving = _stop_thread(k, w.receive_thread) + _stop_thread(k, w.network_thread)
    transferring = _stop_thread(k, w.transfer_thread)
    _stop_thread(k, w.housekeeping_thread)
    transferring += release_all(k, w.parked_head)
    w.parked_head = w.parked_tail = -1
    receiving += _drop_output(k, w.receive_thread) + _drop_output(k, w.network_thread)
    transferring += _drop_output(k, w.transfer_thread)
    return receiving, 0, 0, transferring


def add_route(k: Kernel, end: int, topology: int, executors: Sequence[int]) -> tuple[Kernel, int, int]:
    """Append a routing table: which executor serves each task of a topology, in the eyes of the workers that
    use it.

    Args:
        end: the end of the tables so far.

    Returns:
        The kernel, where task 0 would stand in the table, and the new end.
    """
    own = np.flatnonzero(k.component["topology"][k.task["component"]] == topology)
    first, tasks = int(own[0]), len(own)
    if end + tasks > len(k.route):
        grown = np.full(max(2 * len(k.route), end + tasks), -1, np.int32)
        grown[: len(k.route)] = k.route
        k = k._replace(route=grown)
    for index in executors:
        e = k.executor[index]
        at = end - first + int(e.first_task)
        k.route[at : at + int(e.tasks)] = index
    return k, end - first, end + tasks


@entry
def report_loads(k: State, executors: int) -> None:
    """Every executor's receive queue, as other workers will see it until the next report."""
    for index in range(executors):
        e = executor_at(k, index)
        t = thread_at(k, e.main_thread)
        e.reported_load = min(1000, 1000 * t.length // t.capacity)


@entry
def deliver_parked(k: State, worker: int) -> int:
    """A worker's view has changed: hand over what waited for executors that it now knows, in order; returns
    how many that were.
    """
    delivered = 0
    keep = s_at(k, 0).keep
    w = worker_at(k, worker)
    m = w.parked_head
    w.parked_head = w.parked_tail = -1
    while m >= 0:
        message = message_at(k, m)
        after = message.next
        message.next = -1
        if keep > 0 and s_at(k, 0).now - message.time > keep:
            # Its sender has given up connecting.
            lose(k, m)
        elif resolve(k, worker, m) < 0:
            park(k, worker, m)
        else:
            target = executor_at(k, message.target)
            receiver = target.main_thread if message.locality == IN_PROCESS else w.transfer_thread
            if target.alive == 0:
                lose(k, m)
            else:
                # They wait in the connection, beyond the transfer queue, whose size does not bind them.
                enqueue(k, receiver, m)
                delivered += 1
        m = after
    return delivered


@entry
def charge(k: State, worker: int, work: int) -> None:
    """Let a worker's housekeeping spend ``work`` ns of CPU, now or as soon as its present round is done."""
    w = worker_at(k, worker)
    w.owed += work
    thread = w.housekeeping_thread
    if thread_at(k, thread).state == IDLE:
        start_burst(k, thread, w.owed)
        w.owed = 0


@entry
def channel_index(k: State, start: int, to: int) -> int:
    """Index of the channel that messages from one node to another take."""
    return channel_between(k, start, to)


def set_link(k: Kernel, a: int, b: int, cut: int, extra_delay_ns: int) -> None:
    """Give the link from node ``a`` to node ``b`` a channel of its own, cut or with extra delay.

    Raises:
        RuntimeError: all spare channels are in use.
    """
    index = int(channel_index(handle(k), a, b))
    spare = range(int(k.s[0].first_spare), int(k.s[0].channels - k.s[0].nodes))
    if index not in spare:
        free = [i for i in spare if k.channel[i].start < 0]
        if not free:
            raise RuntimeError("all spare channels are in use: fewer links can be cut or delayed at once")
        own = k.channel[free[0]]
        # The undisturbed latency is needed when the fault ends.
        own.latency = own.undisturbed = k.channel[index].latency
        own.start, own.finish = a, b
        k.node[a].links += 1
        index = free[0]
    channel = k.channel[index]
    channel.latency = channel.undisturbed + extra_delay_ns
    if cut and not channel.cut:
        channel.cut, channel.cut_at = 1, k.s[0].now
    elif channel.cut and not cut:
        end_cut(handle(k), a, index)
