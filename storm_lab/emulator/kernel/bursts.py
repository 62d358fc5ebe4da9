"""Bursts of CPU: what they cost, when a node's next one ends, and bursts of a worker's own threads.

``docs/emulator.md`` says what makes a burst longer, how code warms up, and how threads share a worker's log.
The cost of a call of user code is drawn by the number of the task's call (`setup.costs`), so it depends on
nothing that other tasks do.
"""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel import cpu, events, random_bits, run_queue
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State

COMPILERS = 2
"""Compiler threads of a worker."""

_UNIT = 1 << 20
# Number of quantiles in the table; a power of two.
QUANTILES = 4096
_ENOUGH_CALLS = 1 << 30
# Of code's CPU while others poll, what is its own at least, in 1/1024.
_LEAST_OWN = 256


@inline
def draw_call_cost(k: State, task: int, work: int) -> int:
    """Return the cost of the task's next call, whose mean is ``work``."""
    if rows.cost(k, 0).spread == 0:
        return work
    t = rows.task(k, task)
    quantile = np.int64(random_bits.drawn(k, task, t.calls) >> np.uint64(52))
    t.calls += 1
    return (work * rows.spread(k, quantile).value) >> 16  # type: ignore[arg-type]


@inline
def count_call(k: State, worker: int) -> None:
    """Count a call of user code by an executor of a worker."""
    w = rows.worker(k, worker)
    if w.calls < _ENOUGH_CALLS:
        w.calls += rows.cost(k, 0).call


@inline
def _halve(amount: int, half: int) -> int:
    """Return what is left of _UNIT if it halves with each ``half`` of ``amount``, linearly in between."""
    left = _UNIT >> min(amount // half, 40)
    return left - (left * (amount % half)) // (2 * half)


@jit
def warm_up(k: State, worker: int) -> None:
    """Compile what a worker's calls have made hot, and update the extra cost of its cold code."""
    c = rows.cost(k, 0)
    w = rows.worker(k, worker)
    due = _UNIT - _halve(w.calls, c.compile_calls)
    done = due
    if c.compile > 0:
        hot = (c.compile * due) // _UNIT
        w.to_compile += hot - w.compile_due
        w.compile_due = hot
        done = _UNIT * (hot - w.to_compile) // c.compile
    # Subtract what all halvings leave, so that nothing is left when all is compiled.
    cold = _UNIT >> c.halvings
    left = _halve(done * c.halvings, _UNIT) - cold
    w.warm_excess = c.warm_excess * max(0, left) // (_UNIT - cold)
    for compiler in range(w.compiler_thread, w.compiler_thread + COMPILERS):
        if rows.thread(k, compiler).state == kinds.IDLE:
            compile_next(k, compiler)


@inline
def time_asleep(k: State, thread: int) -> int:
    """Return how long a waiting thread and the core that takes it up have both slept, in ns."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    now = rows.s(k, 0).now
    return 0 if cpu.contending(k, t.node) >= p.cores else min(now - t.idle_from, now - p.core_free_since)


@inline
def long_sleep_work(k: State, slept: int) -> int:
    """Return the CPU that ending a wait costs more after thread and core have slept for ``slept`` ns."""
    c = rows.cost(k, 0)
    return c.asleep * slept // (slept + c.sleep_half) if c.asleep > 0 else 0


@inline
def _interrupted(k: State, thread: int, work: int, user: int) -> int:
    """Return the CPU of a burst on cores that threads poll on: interrupts of their sleeps count as its CPU.

    ``work`` includes ``user``.
    """
    t = rows.thread(k, thread)
    c = rows.cost(k, 0)
    rate = cpu.poll_rate(k, t.node)
    # Up to one thread that parks, in proportion to its parks; more with each further one. A quadratic fit to
    # what a busy thread loses beside 1 to 16 of them (see `interrupt_part`).
    growth = 1064 + (75 * rate >> 10) + (6 * rate * rate >> 20)
    part = c.interrupts * min(rate, 1024) * growth >> 20
    clocked = user if t.kind == kinds.MAIN and 0 < c.clocked <= user else 0
    return clocked + ((work - clocked) << 10) // max(1024 - part, _LEAST_OWN)


@jit
def start_burst(k: State, thread: int, work: int, user: int) -> None:
    """Start a burst of ``work`` ns of Storm's own code, and ``user`` of user code or the operating system.

    Both hold at the reference clock. Cold code does not slow the second part down, and the factor for Storm's
    own code on this processor and version does not apply to it.
    """
    t = rows.thread(k, thread)
    node = t.node
    cpu.advance(k, node)
    p = rows.node(k, node)
    w = rows.worker(k, t.worker)
    work = (work * p.storm_factor) >> 16
    if w.warm_excess > 0:
        work += (work * w.warm_excess) >> 16
    work += user
    if rows.cost(k, 0).interrupts > 0:
        work = _interrupted(k, thread, work, user)
    if t.wait_ended_by != kinds.NOT_IDLE:
        # Its code and data have left the caches meanwhile.
        c = rows.cost(k, 0)
        waited = rows.s(k, 0).now - t.idle_from
        wait_work = c.cold_cache * waited // (waited + c.cold_cache_half) if c.cold_cache > 0 else 0
        if t.wait_ended_by == kinds.WOKEN:
            wait_work += c.wait_work + long_sleep_work(k, time_asleep(k, thread))
        t.wait_ended_by = kinds.NOT_IDLE
        work += (wait_work * p.system_factor) >> 16
    if w.heap_excess > 0:
        work += (work * w.heap_excess) >> 16
    contending = cpu.contending(k, node)
    if contending >= p.threads:
        # Context switch and cache refill; grows with the threads that want CPU, up to four per hardware
        # thread.
        work += rows.cost(k, 0).switch * min(contending // p.threads, 4)
    work = (work * p.slowdown * p.fault_slowdown) >> 20
    t.state, t.work, t.left = kinds.RUNNING, work, work << kinds.SHARE_BITS
    run_queue.want_core(k, thread)


@jit
def run_backlog(k: State, thread: int) -> None:
    """Let an idle housekeeping thread do its worker's backlog, a period's worth in each burst."""
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


@jit
def reschedule(k: State, node: int) -> None:
    """Schedule when the node's next burst ends, and when a thread next gets one of its cores."""
    p = rows.node(k, node)
    run_queue.schedule_dispatch(k, node)
    if (
        p.active == 0
        and (p.quota == 0 or p.poll_load + p.starting + p.run_queue_length == 0)
        and p.turn_ends == kinds.NEVER
    ):
        events.unschedule(k, node)
        return
    cpu.advance(k, node)
    time = cpu.quota_event_time(k, node) if p.quota > 0 else kinds.NEVER
    if p.active > 0 and p.throttled == 0:
        missing = rows.burst(k, node * rows.s(k, 0).burst_width).v_finish - p.v
        if missing <= 0:
            time = min(time, p.v_at)
        elif cpu.has_spare_cores(k, node):
            # At full speed a shift replaces the division.
            time = min(time, p.v_at + ((missing + (1 << kinds.SHARE_BITS) - 1) >> kinds.SHARE_BITS))
        else:
            speed = cpu.running_speed(k, node)
            if speed > 0:
                time = min(time, p.v_at + (missing + speed - 1) // speed)
    events.reschedule_event(k, node, min(time, p.turn_ends))


@inline
def _write(k: State, thread: int, before: int) -> None:
    """Start the burst of a thread's log lines, after ``before`` ns spent on the tuple."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    if w.log_holder != thread:
        w.log_holder, w.log_turn = thread, 0
    w.log_turn += before
    t.log = kinds.LOG_WRITES
    start_burst(k, thread, t.log_work, 0)


@jit
def write_log(k: State, thread: int, before: int) -> None:
    """Spend the CPU of a thread's log lines once the lock is free; ``before`` ns went into the tuple."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    if w.log_holder < 0 or w.log_holder == thread:
        _write(k, thread, before)
        return
    t.state, t.wait, t.next_log = kinds.WAITING, kinds.WAIT_LOG, -1
    if w.log_head < 0:
        w.log_head = thread
    else:
        rows.thread(k, w.log_tail).next_log = thread
    w.log_tail = thread


@jit
def log_written(k: State, thread: int) -> None:
    """Let a thread go on that has written a tuple's log lines, or let the next one write."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    w.log_turn += t.work
    if rows.node(k, t.node).threads == 1 and (run_queue.takes_turns(k) or w.log_turn < rows.cost(k, 0).slice):
        t.log_work, t.log = 0, kinds.LOG_TURN
    else:
        release_log(k, thread)


@jit
def release_log(k: State, thread: int) -> None:
    """Take the log from a thread whose turn is over, or which has died; the next live waiter writes."""
    t = rows.thread(k, thread)
    t.log_work, t.log = 0, kinds.LOG_NONE
    w = rows.worker(k, t.worker)
    if w.log_holder != thread:
        return
    w.log_holder = -1
    while w.log_head >= 0:
        other = w.log_head
        w.log_head = rows.thread(k, other).next_log
        if rows.thread(k, other).state != kinds.DEAD:
            _write(k, other, 0)
            return
