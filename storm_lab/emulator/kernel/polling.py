"""Idle threads: how their waits for queues end, and those that poll, which nothing wakes.

Up to 0.10 a consumer's wait for its queue times out and starts again, every 10 ms and from 0.9.6 on every
second: that of send and transfer threads, bolts' main threads, and both threads of a worker's system
executor. A time-out is no event. When a worker's housekeeping period ends, it charges the threads that wait
then as if they had waited throughout; when a wait ends, the difference is charged or refunded. A thread that
a flood keeps busy has no time-outs.

Which threads poll, and how often, is in a table of ``docs/emulator.md``; the intervals of 2.x are those of
``WaitStrategyProgressive``. No poll is an event: the one that finds something is computed when there is
something. Those before are counted then, or when counters are read, and what they take of the node's cores is
a rate. A poll costs less on a core that other polls keep awake; nodes that share a machine poll on the same
cores.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import bursts, cpu, events
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State


@inline
def _is_consumer(k: State, thread: int) -> bool:
    t = rows.thread(k, thread)
    if t.kind == kinds.MAIN:
        return t.role != kinds.SPOUT
    return t.kind == kinds.SEND or t.kind == kinds.TRANSFER


@inline
def begin_wait(k: State, thread: int) -> None:
    """Note that a thread becomes idle."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    t.idle_from = rows.s(k, 0).now
    t.waits_charged_to = w.housekept_at
    if rows.cost(k, 0).wait_timeout > 0 and _is_consumer(k, thread):
        w.waiting += 1


@inline
def end_wait(k: State, thread: int) -> None:
    """Note that an idle thread is woken, or dies."""
    if rows.cost(k, 0).wait_timeout > 0 and _is_consumer(k, thread):
        rows.worker(k, rows.thread(k, thread).worker).waiting -= 1
        _charge_wait(k, thread)


@jit
def _charge_wait(k: State, thread: int) -> None:
    """Charge housekeeping for the time-outs that a wait really had, less what was charged in advance."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    c = rows.cost(k, 0)
    waited = rows.s(k, 0).now - t.idle_from
    uncharged = 0
    if waited >= c.wait_timeout:
        uncharged = waited // c.wait_timeout * c.wait_work
    if w.housekept_at > t.waits_charged_to:
        uncharged -= (w.housekept_at - t.waits_charged_to) * c.waits_work // c.housekeeping_period
    if uncharged != 0:
        w.wait_balance += (uncharged * rows.node(k, t.node).system_factor) >> 16


@inline
def interrupt_wait(k: State, thread: int) -> None:
    """Start an idle thread's wait again, as the thread is woken for nothing (up to 0.10)."""
    t = rows.thread(k, thread)
    _charge_wait(k, thread)
    t.idle_from = rows.s(k, 0).now
    t.waits_charged_to = rows.worker(k, t.worker).housekept_at


@inline
def _add_rate(k: State, node: int, rate: int) -> None:
    p = rows.node(k, node)
    p.poll_rate += rate
    if p.throttled == 0:
        rows.s(k, 0).poll_rate += rate


@jit
def set_polling(k: State, thread: int, every: int) -> None:
    """Let a thread poll its queue every ``every`` ns from now on; 0 = it does not poll.

    A thread that parks for a nanosecond (``every`` = ``fine_poll``) parks again when it has polled.
    """
    s = rows.s(k, 0)
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    cpu.advance(k, t.node)
    c = rows.cost(k, 0)
    if t.poll_every > 0:
        _charge_polls(k, thread)
        p.pollers -= 1
        _add_rate(k, t.node, -t.poll_rate)
    share = t.poll_rate = 0
    if every > 0:
        t.poll_rate = c.fine_poll * 1024 // every if c.fine_poll > 0 else 0
        if every == c.fine_poll:
            # That its core falls asleep is part of what a poll costs.
            t.poll_slept = 0
        else:
            # The polls of other threads keep the core awake.
            rate = cpu.poll_rate(k, t.node)
            t.poll_slept = every if rate == 0 else min(every, c.fine_poll * 1024 // rate)
        p.pollers += 1
        _add_rate(k, t.node, t.poll_rate)
        work = _poll_cost(k, thread)
        if parks(k, thread):
            every += work
        share = work * 1024 // every
    p.poll_load_alone += share - t.poll_load
    t.poll_load, t.poll_every = share, every
    t.poll_from, t.polls_charged_to = p.poll_clock, p.poll_cpu_clock
    if s.machine_capacity == 0:
        p.poll_cost_part = _cost_part(k, t.node)
    p.poll_load = (p.poll_load_alone * p.poll_cost_part) >> 10


@inline
def _cost_part(k: State, node: int) -> int:
    """Return what a poll costs beside others, in 1/1024 of one alone: they keep the core awake."""
    look_beside = rows.cost(k, 0).look_beside
    return look_beside + (1024 - look_beside) * 1024 // max(1024, cpu.poll_rate(k, node))


@jit
def share_interrupts(k: State) -> None:
    """Let polls of all nodes of one machine cost what they do beside each other, after any event."""
    s = rows.s(k, 0)
    part = _cost_part(k, 0)
    for node in range(s.nodes):
        p = rows.node(k, node)
        if p.poll_cost_part != part:
            cpu.advance(k, node)
            p.poll_cost_part = part
            p.poll_load = (p.poll_load_alone * part) >> 10
            bursts.reschedule(k, node)


@inline
def _poll_cost(k: State, thread: int) -> int:
    """Return the CPU of one poll of a thread, or of a spout's empty turn, on its node."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    if t.role != kinds.SPOUT and t.waits != 0 and rows.cost(k, 0).room_poll > 0:
        # The thread that it waits for keeps the core awake.
        work = rows.cost(k, 0).room_poll
    else:
        work = rows.cost(k, 0).empty_turn if t.role == kinds.SPOUT else rows.cost(k, 0).look
        work += bursts.long_sleep_work(k, t.poll_slept)
    return (((work * p.system_factor) >> 16) * p.slowdown * p.fault_slowdown) >> 20


@inline
def _charge_polls(k: State, thread: int) -> None:
    """Charge the polls that a thread has made so far; its node's clocks must be up to date."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    t.cpu += ((p.poll_cpu_clock - t.polls_charged_to) >> 10) * _poll_cost(k, thread) // t.poll_every
    t.polls_charged_to = p.poll_cpu_clock


@inline
def _poll_clock_time(k: State, thread: int, left: int) -> int:
    """Return when its node's ``poll_clock`` will be ``left`` (ns / 1024) further, at its present speed."""
    node = rows.thread(k, thread).node
    p = rows.node(k, node)
    if p.throttled != 0:
        return p.quota_from + p.quota_period + (left >> 10)
    speed = cpu.poll_speed(k, node)
    return rows.s(k, 0).now + (left + speed - 1) // speed


@jit
def become_idle(k: State, thread: int) -> None:
    """Mark a thread as idle; in 2.x it begins to poll."""
    t = rows.thread(k, thread)
    t.state = kinds.IDLE
    begin_wait(k, thread)
    c = rows.cost(k, 0)
    if c.look == 0:
        return
    if t.kind == kinds.MAIN:
        note_wait(k, thread)
        poll_progressively(k, thread)
    elif t.kind == kinds.TRANSFER:
        set_polling(k, thread, c.idle_sleep)


@inline
def note_wait(k: State, thread: int) -> None:
    """2.x: note that an executor begins to wait for tuples, or for room."""
    t = rows.thread(k, thread)
    cpu.advance(k, t.node)
    t.wait_from = rows.node(k, t.node).poll_clock


@jit
def poll_progressively(k: State, thread: int) -> None:
    """2.x: let an executor park between polls, and sleep between them when it has parked often enough."""
    t = rows.thread(k, thread)
    c = rows.cost(k, 0)
    cpu.advance(k, t.node)
    if t.poll_every == 0:
        set_polling(k, thread, c.fine_poll)
    fine_time = (c.parks if t.waits == 0 else c.room_parks) * t.poll_every
    left = (fine_time << 10) - (rows.node(k, t.node).poll_clock - t.wait_from)
    if left > 0:
        events.schedule(k, events.timer_source(k, thread), _poll_clock_time(k, thread, left))
    else:
        set_polling(k, thread, c.coarse_poll if t.waits == 0 else c.room_sleep)


@inline
def parks(k: State, thread: int) -> bool:
    """Return whether a thread parks for a nanosecond between polls."""
    return rows.thread(k, thread).poll_rate == 1024


@jit
def schedule_poll(k: State, thread: int) -> None:
    """Schedule an idle thread's next poll, which finds what is now in its queue."""
    t = rows.thread(k, thread)
    t.state = kinds.WAKING
    cpu.advance(k, t.node)
    passed = rows.node(k, t.node).poll_clock - t.poll_from
    every = t.poll_every << 10
    next_poll = max(1, (passed + every - 1) // every) * every
    events.schedule(k, events.timer_source(k, thread), _poll_clock_time(k, thread, next_poll - passed))


@jit
def stop_polling(k: State, thread: int) -> None:
    """Stop the polling of a thread that has found something, or room."""
    if rows.thread(k, thread).poll_every > 0:
        set_polling(k, thread, 0)


@entry
def set_slowdown(k: State, node: int, slowdown: int, fault_slowdown: int, threads: int) -> None:
    """Set by how much a node is slow: polls so far cost what they did before, later ones what they do now."""
    cpu.advance(k, node)
    for thread in range(threads):
        t = rows.thread(k, thread)
        if t.node == node and t.poll_every > 0:
            _charge_polls(k, thread)
    p = rows.node(k, node)
    p.slowdown, p.fault_slowdown = slowdown, fault_slowdown
    for thread in range(threads):
        t = rows.thread(k, thread)
        if t.node == node and t.poll_every > 0:
            set_polling(k, thread, rows.cost(k, 0).fine_poll if parks(k, thread) else t.poll_every)


@entry
def charge_all_polls(k: State, threads: int) -> None:
    """Charge all polls so far, before counters are read."""
    for thread in range(threads):
        if rows.thread(k, thread).poll_every > 0:
            cpu.advance(k, rows.thread(k, thread).node)
            _charge_polls(k, thread)
