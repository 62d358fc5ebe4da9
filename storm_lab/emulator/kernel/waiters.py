"""Threads that wait because a queue of another thread, or an overflow in another worker, is full."""

from __future__ import annotations

from storm_lab.emulator.kernel import events, polling
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@jit
def wait_for_room(k: State, thread: int, full: int) -> None:
    """Put a thread on the list of those that wait for room in the queue of thread ``full``.

    In 2.x an executor of another worker waits for the end of its overflow.
    """
    t = rows.thread(k, thread)
    t.waits, t.next_waiter = 1, -1
    # A consumer that is stopped looks at its queue first when it goes on.
    t.overflow_due = 0
    if rows.cost(k, 0).room_poll > 0 and t.role != kinds.SPOUT:
        # Up to 0.10 it parks for a nanosecond and polls again (Disruptor 2's MultiThreadedClaimStrategy); a
        # spout sleeps as between empty turns.
        polling.set_polling(k, thread, rows.cost(k, 0).fine_poll)
    elif rows.cost(k, 0).look > 0 and t.kind == kinds.MAIN:
        # In 2.x it polls as an idle one does; a spout begins with that when it ends its turn.
        polling.note_wait(k, thread)
        if t.role != kinds.SPOUT:
            polling.poll_progressively(k, thread)
    f = rows.thread(k, full)
    if t.kind == kinds.MAIN and f.worker != t.worker:
        if f.senders < 0:
            f.senders = thread
        else:
            rows.thread(k, f.last_sender).next_waiter = thread
        f.last_sender = thread
        return
    if f.waiters < 0:
        f.waiters = thread
    else:
        rows.thread(k, f.last_waiter).next_waiter = thread
    f.last_waiter = thread


@inline
def _let_go_on(k: State, thread: int) -> None:
    t = rows.thread(k, thread)
    if t.role != kinds.SPOUT and t.poll_every > 0:
        polling.stop_polling(k, thread)
        events.unschedule(k, events.timer_source(k, thread))
    t.waits = 0
    if t.state != kinds.DEAD:
        s = rows.s(k, 0)
        rows.ready(k, (s.ready_head + s.ready_n) % s.threads).value = thread
        s.ready_n += 1


@jit
def release_senders(k: State, thread: int) -> None:
    """Let all executors of other workers go on that have waited for the end of a thread's overflow."""
    t = rows.thread(k, thread)
    while t.senders >= 0:
        w = t.senders
        t.senders = rows.thread(k, w).next_waiter
        _let_go_on(k, w)


@jit
def check_overflow(k: State, thread: int) -> None:
    """2.x: let executors of other workers send to a thread again if its overflow is still gone."""
    if rows.thread(k, thread).overflow == 0:
        rows.thread(k, thread).stops_senders = 0
        release_senders(k, thread)


@jit
def release_waiter(k: State, thread: int) -> None:
    """Let the first thread that waits for room in this queue go on, after those that already may."""
    t = rows.thread(k, thread)
    while t.waiters >= 0:
        w = t.waiters
        waiter = rows.thread(k, w)
        t.waiters = waiter.next_waiter
        _let_go_on(k, w)
        if waiter.state != kinds.DEAD:
            return
