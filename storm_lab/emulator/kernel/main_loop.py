"""The main loop: play events until a given time is reached, a log is full, or a pool is empty.

The caller says until when to play, and the kernel returns with a reason. All its state is in the arrays of
:class:`Kernel`. So the caller may write logs out, enlarge arrays, start and stop workers, and call it again;
when it does so changes no result. Housekeeping, ticks, flushes and rotations of pending maps come at regular
intervals (:func:`_period_fires`).
"""

from __future__ import annotations

from storm_lab.emulator.kernel import (
    bursts,
    cpu,
    events,
    forwarding,
    network,
    queues,
    routing,
    run_queue,
    shared_cores,
    spout,
    threads,
)
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State

# In 1/1024: at 98 percent HotSpot gives up (GC overhead limit).
MAX_FILLED = 1003
# Extra cost, in 1/65536, where collections take 98 percent of the time, HotSpot's other limit.
FULL_HEAP_EXCESS = 49 << 16


@jit
def _watch_heap(k: State, worker: int) -> None:
    """Set what garbage collection adds to a worker's costs; with a full heap the worker does little else.

    A collection marks or copies live data, which is mainly queued tuples, and comes sooner the less of the
    heap is free. So it costs in proportion to the full part over the free one, in steps of 1/1024 of the
    heap, up to MAX_FILLED.
    """
    s = rows.s(k, 0)
    w = rows.worker(k, worker)
    queued = rows.thread(k, w.receive_thread).length + rows.thread(k, w.network_thread).length
    filled = min(queued * s.queued_bytes * 1024 // s.heap_bytes, MAX_FILLED)
    w.heap_excess = filled * s.heap_cost // (1024 - filled)
    if filled >= s.full_heap:
        w.heap_excess = FULL_HEAP_EXCESS
        if w.full_since == 0:
            w.full_since = s.now
            s.full_heaps += 1
    elif w.full_since > 0:
        w.full_since = 0
        s.full_heaps -= 1


@jit
def _housekeep(k: State, thread: int, source: int) -> None:
    """Charge a worker's periodic work since the last housekeeping, evenly until the next; check its heap."""
    s = rows.s(k, 0)
    c = rows.cost(k, 0)
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    p = rows.node(k, t.node)
    work = c.housekeeping_work + w.waiting * c.waits_work
    if w.connections > 0 and s.now - w.started >= c.flush_from:
        work += w.connections * c.flush_work
    topology = rows.topology(k, w.topology)
    if topology.flush > 0:
        # The flush timer sleeps in between; in 1.x the thread that it tells to flush does too.
        work += c.housekeeping_period * c.wait_work * (1 + topology.overflows) // topology.flush
    work = (
        (work * (s.now - w.housekept_at) // c.housekeeping_period * p.system_factor) >> 16
    ) + w.wait_balance
    # Refunds for waits that ended early may exceed all the rest.
    w.wait_balance = min(work, 0)
    w.housekept_at = s.now
    spent = (max(work, 0) * p.slowdown * p.fault_slowdown) >> 20
    t.cpu += spent
    # Storm's timers start their next wait when their work is done, so two workers do not keep in step.
    time = c.housekeeping_period + spent
    cpu.spend_evenly(k, t.worker, spent, time)
    _watch_heap(k, t.worker)
    events.schedule(k, source, s.now + time)
    events.fit_horizon(k)


@jit
def _period_fires(k: State, thread: int, source: int) -> None:
    """Play a periodic tick: housekeeping, a tick or flush tuple, or the rotation of a spout's pending map."""
    t = rows.thread(k, thread)
    s = rows.s(k, 0)
    if t.kind == kinds.HOUSEKEEPING:
        _housekeep(k, thread, source)
        w = rows.worker(k, t.worker)
        if w.warm_excess > 0:
            bursts.warm_up(k, t.worker)
        return
    if t.kind == kinds.SEND or t.kind == kinds.RECEIVE:
        if s.version_2 == 0:
            # 1.x: the tick of the flush timer, which flushes.
            events.unschedule(k, source)
            forwarding.flush_tick(k, thread)
            if t.kind == kinds.SEND:
                forwarding.flush_tick(k, rows.executor(k, t.executor).main_thread)
            return
        # 2.x: it puts a flush tuple into the executor's queue.
        e = rows.executor(k, t.executor)
        events.schedule(k, source, s.now + rows.topology(k, e.topology).flush)
        if queues.has_room(k, e.main_thread):
            message = routing.make_message(k, kinds.FLUSH, -1, e.first_task, -1, -1, 0)
            queues.enqueue(k, e.main_thread, message)
        return
    e = rows.executor(k, t.executor)
    component = rows.component(k, e.component)
    if component.is_spout != 0:
        events.schedule(k, source, s.now + rows.topology(k, e.topology).timeout)
        queues.enqueue(k, thread, routing.make_message(k, kinds.TICK, -1, e.first_task, -1, -1, 0))
    else:
        events.schedule(k, source, s.now + component.tick_period)
        for task in range(e.first_task, e.first_task + e.tasks):
            queues.enqueue(
                k, thread, routing.make_message(k, kinds.TICK, -1, task, -1, component.tick_record, 0)
            )


@jit
def resume_blocked(k: State) -> None:
    """Let threads go on that have found room, in the order in which they began to wait."""
    s = rows.s(k, 0)
    while s.ready_n > 0:
        thread = rows.ready(k, s.ready_head).value
        s.ready_head = (s.ready_head + 1) % s.threads
        s.ready_n -= 1
        threads.resume(k, thread)
        # The thread may run on another node than the one of this event.
        bursts.reschedule(k, rows.thread(k, thread).node)


@jit
def _thread_due(k: State, node: int) -> None:
    """Let a woken thread of a node go on, or give a core there to the first of the run queue."""
    s = rows.s(k, 0)
    p = rows.node(k, node)
    if p.wake_head >= 0 and (not run_queue.takes_turns(k) or rows.thread(k, p.wake_head).awake <= s.now):
        thread = run_queue.pop_woken(k, node)
        if rows.thread(k, thread).state == kinds.WAKING:
            threads.take_next(k, thread)
        return
    cpu.advance(k, node)
    thread = p.run_queue_head
    cores = run_queue.available_cores(k, node)
    if thread < 0 or cores == 0:
        return
    if p.active >= cores:
        preempted = run_queue.preempt(k, node)
        if preempted >= 0 and rows.thread(k, preempted).log == kinds.LOG_TURN:
            bursts.release_log(k, preempted)
    p.head_preempts = 0
    if p.active >= cores:
        return
    run_queue.leave_run_queue(k, thread)
    t = rows.thread(k, thread)
    t.core_from = p.v >> kinds.SHARE_BITS
    if t.left >= 0:
        run_queue.get_core(k, thread)
    else:
        s.core_holder = thread
        threads.take_next(k, thread)


@jit
def _channel_due(k: State, index: int) -> None:
    """Play the arrival of a channel's first message; it may wake its reader, but none gets a core yet."""
    s = rows.s(k, 0)
    channel = rows.channel(k, index)
    m = channel.head
    message = rows.message(k, m)
    channel.head = message.next
    if channel.head >= 0:
        events.schedule(k, 2 * s.nodes + index, rows.message(k, channel.head).time)
    else:
        channel.tail = -1
        events.unschedule(k, 2 * s.nodes + index)
    if index >= s.first_uplink_channel:
        network.cross_racks(k, index - s.first_uplink_channel, m)
        return
    worker = rows.worker(k, rows.executor(k, message.target).worker)
    if channel.node < 0 and message.locality != kinds.IN_NODE:
        # The receiving card takes one message after another. A message that finds it free is not charged a
        # second transmission.
        p = rows.node(k, worker.node)
        tx = (message.bytes + rows.cost(k, 0).header_bytes) * p.nic_ps_per_byte // 1000
        done = max(s.now, p.nic_in_free + tx)
        p.nic_in_free = done
        if done > s.now:
            message.time = done
            network.put_on_channel(k, s.first_card_channel + worker.node, m)
            return
    if worker.alive == 0:
        queues.lose(k, m)
    else:
        queues.enqueue(k, worker.network_thread if s.netty != 0 else worker.receive_thread, m)


@inline
def next_time(k: State) -> int:
    """Return when the next event is due; NEVER when there is none."""
    s = rows.s(k, 0)
    if s.heap_n == 0:
        if s.far_n == 0:
            return kinds.NEVER
        events.move_horizon(k)
    return rows.event(k, 0).time


@entry
def run(k: State, until: int, budget: int, changed: int) -> int:
    """Play events up to and including time ``until`` (ns), at most ``budget`` of them.

    If the control plane has ``changed`` something, threads and nodes are first brought up to date. A separate
    entry point for that would reach, and so compile, nearly all of the kernel once more.

    Returns why it stopped.
    """
    s = rows.s(k, 0)
    first_line_event = 2 * s.nodes + s.channels
    timers = s.timers
    played = 0
    message_margin = 2 * s.bolt_margin + 2 * spout.MAX_TURN_ACKS
    s.core_holder = -1
    if changed:
        resume_blocked(k)
        for node in range(s.nodes):
            bursts.reschedule(k, node)
        if s.machine_capacity > 0:
            shared_cores.share_machine(k)
    while next_time(k) <= until:
        if s.free_messages < message_margin:
            return kinds.NEED_MESSAGES
        if s.free_roots < 2:
            return kinds.NEED_ROOTS
        if (
            s.max_root_rows - s.root_rows < 4 * spout.MAX_TURN_ACKS
            or s.max_execution_rows - s.execution_rows < 4
        ):
            return kinds.NEED_LOG
        if played >= budget:
            return kinds.NEED_BUDGET
        played += 1
        s.events += 1
        source = rows.event(k, 0).source
        s.now = rows.event(k, 0).time
        if source < s.nodes:
            node = source
            thread = rows.burst(k, node * s.burst_width).thread
            cpu.advance(k, node)
            # With a quota or on a shared machine, that or a turn may have ended, and no burst.
            p = rows.node(k, node)
            limited = p.quota + s.machine_capacity > 0
            if not limited or (p.active > 0 and rows.burst(k, node * s.burst_width).v_finish <= p.v):
                run_queue.lose_core(k, node, 0)
                s.core_holder = thread
                threads.burst_done(k, thread)
        elif source < 2 * s.nodes:
            node = source - s.nodes
            _thread_due(k, node)
        elif source < first_line_event:
            node = -1
            _channel_due(k, source - 2 * s.nodes)
        elif source < timers:
            thread = rows.executor(k, rows.source(k, source - first_line_event).finder).main_thread
            events.unschedule(k, source)
            # Acks that would have begun a turn at this instant are handled in this one.
            events.unschedule(k, events.timer_source(k, thread))
            node = rows.thread(k, thread).node
            spout.spout_turn(k, thread)
        else:
            thread = (source - timers) >> 1
            node = rows.thread(k, thread).node
            if (source - timers) & 1:
                _period_fires(k, thread, source)
            else:
                events.unschedule(k, source)
                threads.timer_fires(k, thread)
        s.core_holder = -1
        if s.ready_n > 0:
            resume_blocked(k)
        if node >= 0:
            bursts.reschedule(k, node)
        if s.machine_capacity > 0:
            shared_cores.share_machine(k)
    if s.now < until:
        s.now = until
    return kinds.REACHED


@entry
def add_backlog(k: State, worker: int, work: int) -> None:
    """Let a worker's housekeeping spend ``work`` ns of CPU as they are, now or after its present round."""
    w = rows.worker(k, worker)
    w.backlog += work
    if rows.thread(k, w.housekeeping_thread).state == kinds.IDLE:
        bursts.run_backlog(k, w.housekeeping_thread)
