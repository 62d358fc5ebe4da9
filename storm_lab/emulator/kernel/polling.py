"""Idle spouts, and idle threads of Storm 2.x: they are not woken but look for work, and looking takes CPU.

An idle spout of any version sleeps for 1 ms between the empty turns of its loop.

A bolt or acker that finds its queue empty (``WaitStrategyProgressive``) parks for a nanosecond, which takes
some 55 us, up to 1,000 times, and then sleeps for 1 ms at a time; a transfer thread and an idle spout sleep
1 ms. So what arrives waits for the next look, and who gets a tuple every 60 ms never leaves the fine looks:
a worker of 2.x takes most CPU at light load. No look is an event: the one that finds something is computed
when there is something, those before are counted then or when counters are read, and what they take of the
node's cores is a rate.
"""

from __future__ import annotations

from storm_lab.emulator.events.heap import timer_source
from storm_lab.emulator.events.schedule import schedule
from storm_lab.emulator.kernel.cpu import advance
from storm_lab.emulator.state.arrays import cost_at, node_at, s_at, thread_at
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.kinds import IDLE, MAIN, SPOUT, TRANSFER, WAKING
from storm_lab.emulator.state.layout import State


@jit
def set_polling(k: State, thread: int, every: int) -> None:
    """A thread looks at its queue each ``every`` ns from now on; 0 = it does not look."""
    t = thread_at(k, thread)
    p = node_at(k, t.node)
    advance(k, t.node)
    share = _look(k, thread) * 1024 // every if every > 0 else 0
    p.polling += share - t.polls
    t.polls = share
    t.look_every = every


@inline
def _look(k: State, thread: int) -> int:
    """CPU of one look, or of a spout's empty turn, on the thread's node."""
    t = thread_at(k, thread)
    p = node_at(k, t.node)
    work = cost_at(k, 0).empty_turn if t.role == SPOUT else cost_at(k, 0).look
    return (((work * p.system) >> 16) * p.slow * p.extra) >> 20


@jit
def fall_idle(k: State, thread: int) -> None:
    """A thread has nothing to do."""
    t = thread_at(k, thread)
    t.state = IDLE
    c = cost_at(k, 0)
    if c.look == 0 or (t.kind != MAIN and t.kind != TRANSFER):
        return
    t.idle_since = s_at(k, 0).now
    t.looks = 0
    if t.kind == MAIN:
        set_polling(k, thread, c.fine_look)
        schedule(k, timer_source(k, thread), t.idle_since + c.fine_time)
    else:
        set_polling(k, thread, c.coarse_look)


@entry
def start_idling(k: State, thread: int) -> None:
    """As :func:`fall_idle`, for a thread that has just been started."""
    fall_idle(k, thread)


@jit
def sleep_between_turns(k: State, thread: int, every: int) -> None:
    """An idle spout begins to sleep between empty turns, which come every so many ns."""
    if cost_at(k, 0).empty_turn != 0:
        t = thread_at(k, thread)
        t.idle_since = s_at(k, 0).now
        t.looks = 0
        set_polling(k, thread, every)


@inline
def looks_for_itself(k: State, thread: int) -> bool:
    """Whether an idle thread is not woken, but finds what arrives."""
    return thread_at(k, thread).polls > 0


@jit
def look_later(k: State, thread: int) -> None:
    """There is something in an idle thread's queue: its next look finds it."""
    t = thread_at(k, thread)
    c = cost_at(k, 0)
    t.state = WAKING
    passed = s_at(k, 0).now - t.idle_since
    fine = c.fine_time if t.kind == MAIN else 0
    if passed <= fine:
        after = max(1, (passed + c.fine_look - 1) // c.fine_look) * c.fine_look
    else:
        after = fine + max(1, (passed - fine + c.coarse_look - 1) // c.coarse_look) * c.coarse_look
    schedule(k, timer_source(k, thread), t.idle_since + after)


@jit
def count_looks(k: State, thread: int) -> None:
    """Charge the looks that an idle thread has had so far."""
    t = thread_at(k, thread)
    passed = s_at(k, 0).now - t.idle_since
    if t.role == SPOUT:
        looks = passed // t.look_every
    else:
        c = cost_at(k, 0)
        fine = c.fine_time if t.kind == MAIN else 0
        looks = max(0, passed - fine) // c.coarse_look
        if fine > 0:
            looks += min(passed, fine) // c.fine_look
    t.cpu += (looks - t.looks) * _look(k, thread)
    t.looks = looks


@jit
def found_something(k: State, thread: int) -> None:
    """An idle thread's look, or an idle spout's turn, finds something: it looks no more."""
    if thread_at(k, thread).polls > 0:
        count_looks(k, thread)
        set_polling(k, thread, 0)


@jit
def slow_down(k: State, thread: int) -> None:
    """An idle thread has looked in vain for so long that it sleeps between looks from now on."""
    set_polling(k, thread, cost_at(k, 0).coarse_look)


@entry
def count_all_looks(k: State, threads: int) -> None:
    """Before counters are read: charge all looks so far."""
    for thread in range(threads):
        if thread_at(k, thread).polls > 0:
            count_looks(k, thread)
