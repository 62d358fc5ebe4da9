"""The main loop: run the next event until a given time, a full log, or an empty pool.

The kernel is entered with "run until t" and left with a reason. All its state stands in the arrays of
:class:`Kernel`, so the caller may write logs out, enlarge arrays, start and stop workers, and enter again;
when it does so changes nothing.
"""

from __future__ import annotations

from storm_lab.emulator.events.schedule import move_horizon, schedule, unschedule
from storm_lab.emulator.kernel.cpu import advance, leave_cpu, reschedule, work_off
from storm_lab.emulator.kernel.network import put_on_channel
from storm_lab.emulator.kernel.period import period_rings
from storm_lab.emulator.kernel.quota import is_quota_turn
from storm_lab.emulator.kernel.shared_cores import share_machine
from storm_lab.emulator.kernel.source_queue import line_found
from storm_lab.emulator.kernel.spout import TURN_MOST, spout_turn
from storm_lab.emulator.kernel.threads import arrive, burst_done, go_on, resume, timer_rings
from storm_lab.emulator.state.arrays import (
    channel_at,
    cost_at,
    event_at,
    executor_at,
    message_at,
    node_at,
    ready_at,
    run_queue_at,
    s_at,
    thread_at,
    worker_at,
)
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.kinds import (
    IDLE,
    IN_NODE,
    NEED_BUDGET,
    NEED_LOG,
    NEED_MESSAGES,
    NEED_ROOTS,
    NEVER,
    REACHED,
    WAKING,
)
from storm_lab.emulator.state.layout import State


@jit
def settle(k: State) -> None:
    """Let threads go on that found room in the queue that they waited for.

    They go in the order in which they began to wait, and then those that this lets go on.
    """
    s = s_at(k, 0)
    while s.ready_n > 0:
        thread = ready_at(k, s.ready_head).value
        s.ready_head = (s.ready_head + 1) % s.threads
        s.ready_n -= 1
        resume(k, thread)
        # It may run on another node than the one whose event this is.
        reschedule(k, thread_at(k, thread).node)


@jit
def _wake_due(k: State, node: int) -> None:
    """The first thread of a node's wake-up line runs."""
    s = s_at(k, 0)
    p = node_at(k, node)
    thread = p.wake_head
    t = thread_at(k, thread)
    p.wake_head = t.next_wake if thread != p.wake_tail else -1
    if p.wake_head >= 0:
        schedule(k, s.nodes + node, thread_at(k, p.wake_head).since)
    else:
        unschedule(k, s.nodes + node)
    if t.state == WAKING:
        go_on(k, thread)


@jit
def _wire_due(k: State, index: int) -> None:
    """The first message of a channel arrives; who is to read it may be woken, but nobody gets a CPU yet."""
    s = s_at(k, 0)
    channel = channel_at(k, index)
    m = channel.head
    message = message_at(k, m)
    channel.head = message.next
    if channel.head >= 0:
        schedule(k, 2 * s.nodes + index, message_at(k, channel.head).time)
    else:
        channel.tail = -1
        unschedule(k, 2 * s.nodes + index)
    node = worker_at(k, executor_at(k, message.target).worker).node
    if channel.node < 0 and message.locality != IN_NODE:
        # The receiving card takes one message after another; a message alone costs no second transmission.
        p = node_at(k, node)
        tx = (message.bytes + cost_at(k, 0).header_bytes) * p.nic_ps_per_byte // 1000
        done = max(s.now, p.nic_in_free + tx)
        p.nic_in_free = done
        if done > s.now:
            message.time = done
            put_on_channel(k, s.channels - s.nodes + node, m)
            return
    arrive(k, m)


@inline
def next_time(k: State) -> int:
    """When the next event is due; NEVER when there is none."""
    s = s_at(k, 0)
    if s.heap_n == 0:
        if s.far_n == 0:
            return NEVER
        move_horizon(k)
    return event_at(k, 0).time


@entry
def run(k: State, until: int, budget: int, changed: int) -> int:
    """Play events up to and including time ``until`` (ns), at most ``budget`` of them.

    Where the control plane has ``changed`` something, threads and nodes are brought up to date before. That
    is no entry of its own: it reaches nearly all of the kernel, which would be compiled once more.

    Returns why it stopped.
    """
    s = s_at(k, 0)
    wires = 2 * s.nodes + s.channels
    timers = s.timers
    events = 0
    message_margin = 2 * s.bolt_margin + 2 * TURN_MOST
    if changed:
        settle(k)
        for node in range(s.nodes):
            reschedule(k, node)
        if s.shared > 0:
            share_machine(k)
    while next_time(k) <= until:
        if s.free_messages < message_margin:
            return NEED_MESSAGES
        if s.free_roots < 2:
            return NEED_ROOTS
        if s.root_rows_most - s.root_rows < 4 * TURN_MOST or s.execution_rows_most - s.execution_rows < 4:
            return NEED_LOG
        if 2 * s.moved > s.moved_most:
            return NEED_LOG
        if events >= budget:
            return NEED_BUDGET
        events += 1
        s.events += 1
        source = event_at(k, 0).source
        s.now = event_at(k, 0).time
        if source < s.nodes:
            node = source
            burst = run_queue_at(k, node * s_at(k, 0).queue_width)
            thread, work = burst.thread, burst.work
            advance(k, node)
            if not is_quota_turn(k, node):
                leave_cpu(k, node, 0)
                burst_done(k, thread, work)
        elif source < 2 * s.nodes:
            node = source - s.nodes
            _wake_due(k, node)
        elif source < wires:
            node = -1
            _wire_due(k, source - 2 * s.nodes)
        elif source < timers:
            thread = line_found(k, source - wires)
            node = thread_at(k, thread).node
            spout_turn(k, thread)
        else:
            thread = (source - timers) >> 1
            node = thread_at(k, thread).node
            if (source - timers) & 1:
                period_rings(k, thread, source)
            else:
                unschedule(k, source)
                timer_rings(k, thread)
        if s.ready_n > 0:
            settle(k)
        if node >= 0:
            reschedule(k, node)
        if s.shared > 0:
            share_machine(k)
    if s.now < until:
        s.now = until
    return REACHED


@entry
def owe(k: State, worker: int, work: int) -> None:
    """Let a worker's housekeeping spend ``work`` ns of CPU, now or when its present round is done.

    That cold code does not make it more is part of what its caller says.
    """
    w = worker_at(k, worker)
    w.owed += work
    if thread_at(k, w.housekeeping_thread).state == IDLE:
        work_off(k, w.housekeeping_thread)
