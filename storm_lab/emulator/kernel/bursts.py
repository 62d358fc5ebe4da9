"""Bursts of CPU: what they cost, when a node's next one ends, and the bursts of a worker's own threads."""

from __future__ import annotations

from storm_lab.emulator.events.schedule import schedule, scheduled_at, unschedule
from storm_lab.emulator.kernel.cpu import advance, fair_share, has_spare_cores, running_speed
from storm_lab.emulator.kernel.quota import contending, quota_event_time
from storm_lab.emulator.kernel.run_queue import schedule_dispatch, want_core
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def time_asleep(k: State, thread: int) -> int:
    """Return how long a waiting thread and the core that takes it up have both slept, in ns."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    now = rows.s(k, 0).now
    return 0 if contending(k, t.node) >= p.cores else min(now - t.idle_from, now - p.core_free_since)


@inline
def long_sleep_work(k: State, slept: int) -> int:
    """Return the CPU that ending a wait costs more after thread and core have slept for ``slept`` ns."""
    c = rows.cost(k, 0)
    return c.asleep * slept // (slept + c.sleep_half) if c.asleep > 0 else 0


@inline
def _cold_cache_work(k: State, thread: int) -> int:
    """Return the CPU that a thread's run costs more, as its code and data have left the caches meanwhile."""
    c = rows.cost(k, 0)
    waited = rows.s(k, 0).now - rows.thread(k, thread).idle_from
    return c.cold_cache * waited // (waited + c.cold_cache_half) if c.cold_cache > 0 else 0


@jit
def start_burst(k: State, thread: int, work: int, user: int) -> None:
    """Start a burst of ``work`` ns of Storm's own code, and ``user`` of user code or the operating system.

    Both hold at the reference clock. Cold code does not slow the second part down, and the factor for Storm's
    own code on this processor and version does not apply to it.
    """
    t = rows.thread(k, thread)
    node = t.node
    advance(k, node)
    p = rows.node(k, node)
    w = rows.worker(k, t.worker)
    work = (work * p.storm_factor) >> 16
    if w.warm_excess > 0:
        work += (work * w.warm_excess) >> 16
    work += user
    if t.wait_ended_by != kinds.NOT_IDLE:
        wait_work = _cold_cache_work(k, thread)
        if t.wait_ended_by == kinds.WOKEN:
            wait_work += rows.cost(k, 0).wait_work + long_sleep_work(k, time_asleep(k, thread))
        t.wait_ended_by = kinds.NOT_IDLE
        work += (wait_work * p.system_factor) >> 16
    if w.heap_excess > 0:
        work += (work * w.heap_excess) >> 16
    if contending(k, node) >= p.threads:
        # Context switch and cache refill; grows with the threads that want CPU, up to four per hardware
        # thread.
        work += rows.cost(k, 0).switch * min(contending(k, node) // p.threads, 4)
    work = (work * p.slowdown * p.fault_slowdown) >> 20
    t.state = kinds.RUNNING
    t.work = work
    t.left = work << kinds.SHARE_BITS
    want_core(k, thread)


@jit
def run_backlog(k: State, thread: int) -> None:
    """Let an idle housekeeping thread do its worker's backlog, one period's worth at a time.

    CPU is counted when a burst ends, and a backlog may be of seconds.
    """
    w = rows.worker(k, rows.thread(k, thread).worker)
    part = min(w.backlog, rows.cost(k, 0).housekeeping_period)
    if part > 0:
        w.backlog -= part
        start_burst(k, thread, 0, part)


@jit
def compile_next(k: State, thread: int) -> None:
    """Let an idle compiler thread compile what its worker's calls have made hot, one method at a time."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    part = min(w.to_compile, rows.cost(k, 0).method)
    if part > 0:
        w.to_compile -= part
        start_burst(k, thread, 0, (part * rows.node(k, t.node).system_factor) >> 16)


@inline
def _burst_ends(k: State, node: int) -> int:
    """Return when the first burst of a node that is not held back ends, if nothing happens before."""
    p = rows.node(k, node)
    missing = rows.burst(k, node * rows.s(k, 0).burst_width).v_finish - p.v
    if missing <= 0:
        return p.v_at
    if has_spare_cores(k, node):
        # At full speed a shift replaces the division.
        return p.v_at + ((missing + (1 << kinds.SHARE_BITS) - 1) >> kinds.SHARE_BITS)
    speed = fair_share(k, node) if p.run_queue_length == 0 else running_speed(k, node)
    return kinds.NEVER if speed == 0 else p.v_at + (missing + speed - 1) // speed


@jit
def reschedule(k: State, node: int) -> None:
    """Schedule when the node's next burst ends, and when a thread next gets one of its cores."""
    p = rows.node(k, node)
    schedule_dispatch(k, node)
    if (
        p.active == 0
        and (p.quota == 0 or p.poll_load + p.starting + p.run_queue_length == 0)
        and p.turn_ends == kinds.NEVER
    ):
        unschedule(k, node)
        return
    advance(k, node)
    time = quota_event_time(k, node) if p.quota > 0 else kinds.NEVER
    if p.active > 0 and p.throttled == 0:
        time = min(time, _burst_ends(k, node))
    time = min(time, p.turn_ends)
    if time == kinds.NEVER:
        unschedule(k, node)
    elif scheduled_at(k, node) != time:
        schedule(k, node, time)
