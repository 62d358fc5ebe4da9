"""Consumers that wait for their queues: up to 0.10 such a wait ends every 10 ms, and begins again.

Transfer and send threads and bolts' main threads wait so, and both of a worker's system executor. A wait that
a tuple ends sooner costs what waking costs, and no more; so a thread that a flood keeps busy has none of the
other kind. No end by time is an event: a worker's housekeeping pays for those that wait when its period
ends as if they had waited throughout, and what that was too much or too little is settled when a wait ends.
"""

from __future__ import annotations

from storm_lab.emulator.state.arrays import cost_at, node_at, s_at, thread_at, worker_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.kinds import MAIN, SEND, SPOUT, TRANSFER
from storm_lab.emulator.state.layout import State


@inline
def _consumes(k: State, thread: int) -> bool:
    t = thread_at(k, thread)
    return t.kind == SEND or t.kind == TRANSFER or (t.kind == MAIN and t.role != SPOUT)


@inline
def begin_wait(k: State, thread: int) -> None:
    """A thread falls idle."""
    t = thread_at(k, thread)
    w = worker_at(k, t.worker)
    t.idle_from = s_at(k, 0).now
    t.paid_from = w.rang
    if cost_at(k, 0).wait_most > 0 and _consumes(k, thread):
        w.waiting += 1


@inline
def end_wait(k: State, thread: int) -> None:
    """An idle thread is woken, or dies."""
    if cost_at(k, 0).wait_most > 0 and _consumes(k, thread):
        worker_at(k, thread_at(k, thread).worker).waiting -= 1
        _settle_wait(k, thread)


@jit
def _settle_wait(k: State, thread: int) -> None:
    """Let housekeeping pay for the ends by time that an idle thread's wait had, not for periods' worth."""
    t = thread_at(k, thread)
    w = worker_at(k, t.worker)
    c = cost_at(k, 0)
    waited = s_at(k, 0).now - t.idle_from
    owed = 0
    if waited >= c.wait_most:
        owed = waited // c.wait_most * c.wait_work
    if w.rang > t.paid_from:
        owed -= (w.rang - t.paid_from) * c.waits_work // c.housekeeping_period
    if owed != 0:
        w.due += (owed * node_at(k, t.node).system) >> 16


@inline
def interrupt_wait(k: State, thread: int) -> None:
    """An idle thread is woken for nothing: its wait begins anew."""
    t = thread_at(k, thread)
    if cost_at(k, 0).wait_most > 0:
        _settle_wait(k, thread)
    t.idle_from = s_at(k, 0).now
    t.paid_from = worker_at(k, t.worker).rang
