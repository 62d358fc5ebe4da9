"""Waits of consumers for their queues: up to 0.10 such a wait times out every 10 ms and starts again.

Transfer and send threads and bolts' main threads wait so, and both threads of a worker's system executor. A
wait that a tuple ends sooner costs what waking costs, and no more; so a thread that a flood keeps busy has no
time-outs. A time-out is no event. When a worker's housekeeping period ends, it charges the threads that wait
then as if they had waited throughout. When a wait ends, the difference is charged or refunded.
"""

from __future__ import annotations

from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def _is_consumer(k: State, thread: int) -> bool:
    t = rows.thread(k, thread)
    return t.kind in (kinds.SEND, kinds.TRANSFER) or (t.kind == kinds.MAIN and t.role != kinds.SPOUT)


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
