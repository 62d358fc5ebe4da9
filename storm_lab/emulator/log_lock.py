"""Debug logging: the log lines of a tuple, and the lock that a worker's threads write them under.

With ``topology.debug`` every tuple that a bolt receives and every emit call writes a line into the worker's
log. The appender's lock is one per process: while one thread writes, others that want to write wait, in the
order in which they came. So the executors of a worker share its log, whatever share of the CPU each would
get.
"""

from __future__ import annotations

from storm_lab.emulator.arrays import thread_at, worker_at
from storm_lab.emulator.cpu import start_burst
from storm_lab.emulator.jit import jit
from storm_lab.emulator.kinds import DEAD, WAIT_LOG, WAITING
from storm_lab.emulator.layout import State


@jit
def write_log(k: State, thread: int) -> None:
    """Spend the CPU of a thread's log lines, at once or when the lock is free."""
    t = thread_at(k, thread)
    w = worker_at(k, t.worker)
    if w.log_holder < 0:
        w.log_holder = thread
        start_burst(k, thread, t.log_work)
        return
    t.state = WAITING
    t.wait = WAIT_LOG
    t.next_log = -1
    if w.log_head < 0:
        w.log_head = thread
    else:
        thread_at(k, w.log_tail).next_log = thread
    w.log_tail = thread


@jit
def release_log(k: State, thread: int) -> None:
    """A thread has written its log lines, or died: the next one that lives and waits writes its own."""
    t = thread_at(k, thread)
    t.log_work = 0
    w = worker_at(k, t.worker)
    if w.log_holder != thread:
        return
    w.log_holder = -1
    while w.log_head >= 0:
        other = w.log_head
        w.log_head = thread_at(k, other).next_log
        if thread_at(k, other).state != DEAD:
            w.log_holder = other
            start_burst(k, other, thread_at(k, other).log_work)
            return
