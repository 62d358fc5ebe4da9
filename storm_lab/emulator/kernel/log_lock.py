"""Debug logging: the log lines of a tuple, and the lock under which a worker's threads write them.

With ``topology.debug`` every tuple that a bolt receives and every emit call writes a line into the worker's
log. The appender has one lock per process: while one thread writes, others that want to write wait. So the
executors of a worker share its log, whatever share of the CPU each would get.

Java's locks are not fair: a thread that releases the lock and comes back at once gets it again, before the
threads that it has woken are there. On a single core it does so as long as it has the processor. It keeps the
log until it loses its core (for a time slice, where threads do not take turns) or has nothing to do; then the
thread that has waited longest gets it. With several hardware threads the lock changes hands after every
tuple.
"""

from __future__ import annotations

from storm_lab.emulator.kernel.bursts import start_burst
from storm_lab.emulator.kernel.run_queue import takes_turns
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def _write(k: State, thread: int, before: int) -> None:
    """Start the burst of a thread's log lines, after ``before`` ns spent on the tuple."""
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    if w.log_holder != thread:
        w.log_holder = thread
        w.log_turn = 0
    w.log_turn += before
    t.log = kinds.LOG_WRITES
    start_burst(k, thread, t.log_work, 0)


@jit
def write_log(k: State, thread: int, before: int) -> None:
    """Spend the CPU of a thread's log lines, at once or when the lock is free.

    ``before``: what the thread has spent on the tuple, ns.
    """
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    if w.log_holder < 0 or w.log_holder == thread:
        _write(k, thread, before)
        return
    t.state = kinds.WAITING
    t.wait = kinds.WAIT_LOG
    t.next_log = -1
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
    if rows.node(k, t.node).threads == 1 and (takes_turns(k) or w.log_turn < rows.cost(k, 0).slice):
        t.log_work = 0
        t.log = kinds.LOG_TURN
    else:
        release_log(k, thread)


@jit
def release_log(k: State, thread: int) -> None:
    """Take the log from a thread whose turn is over, or which has died; the next live waiter writes."""
    t = rows.thread(k, thread)
    t.log_work = 0
    t.log = kinds.LOG_NONE
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
