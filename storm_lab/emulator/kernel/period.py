"""What happens at regular intervals: housekeeping, tick and flush tuples, rotations of pending maps."""

from __future__ import annotations

from storm_lab.emulator.kernel import bursts, cpu, events, forwarding, queues, routing
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import jit
from storm_lab.emulator.state.layout import State

# In 1/1024: at 98 percent HotSpot gives up (GC overhead limit).
MAX_FILLED = 1003
# Extra cost, in 1/65536, where collections take 98 percent of the time, HotSpot's other limit.
FULL_HEAP_EXCESS = 49 << 16


@jit
def _watch_heap(k: State, worker: int) -> None:
    """Set what garbage collection adds to a worker's costs; with a full heap the worker does little else.

    A collection marks or copies live data, which is mainly queued tuples, and comes sooner the less of the
    heap is free. So it costs in proportion to the full part over the free one, in steps of 1/1024 of the
    heap, up to MAX_FILLED.
    """
    s = rows.s(k, 0)
    w = rows.worker(k, worker)
    queued = rows.thread(k, w.receive_thread).length + rows.thread(k, w.network_thread).length
    filled = min(queued * s.queued_bytes * 1024 // s.heap_bytes, MAX_FILLED)
    w.heap_excess = filled * s.heap_cost // (1024 - filled)
    if filled >= s.full_heap:
        w.heap_excess = FULL_HEAP_EXCESS
        if w.full_since == 0:
            w.full_since = s.now
            s.full_heaps += 1
    elif w.full_since > 0:
        w.full_since = 0
        s.full_heaps -= 1


@jit
def _housekeep(k: State, thread: int, source: int) -> None:
    """Charge a worker's periodic work since the last housekeeping, and check its heap.

    The work is heartbeats, timers, and ends of waits. Its CPU is taken evenly until the next housekeeping.
    """
    s = rows.s(k, 0)
    c = rows.cost(k, 0)
    t = rows.thread(k, thread)
    w = rows.worker(k, t.worker)
    p = rows.node(k, t.node)
    work = c.housekeeping_work + w.waiting * c.waits_work
    if w.connections > 0 and s.now - w.started >= c.flush_from:
        work += w.connections * c.flush_work
    topology = rows.topology(k, w.topology)
    if topology.flush > 0:
        # The flush timer sleeps in between; in 1.x the thread that it tells to flush does too.
        work += c.housekeeping_period * c.wait_work * (1 + topology.overflows) // topology.flush
    work = (
        (work * (s.now - w.housekept_at) // c.housekeeping_period * p.system_factor) >> 16
    ) + w.wait_balance
    # Refunds for waits that ended early may exceed all the rest.
    w.wait_balance = min(work, 0)
    w.housekept_at = s.now
    spent = (max(work, 0) * p.slowdown * p.fault_slowdown) >> 20
    t.cpu += spent
    # Storm's timers start their next wait when their work is done, so two workers do not keep in step.
    time = c.housekeeping_period + spent
    cpu.spend_evenly(k, t.worker, spent, time)
    _watch_heap(k, t.worker)
    events.schedule(k, source, s.now + time)
    events.fit_horizon(k)


@jit
def period_fires(k: State, thread: int, source: int) -> None:
    """Play a periodic tick: housekeeping, a tick or flush tuple, or the rotation of a spout's pending map."""
    t = rows.thread(k, thread)
    s = rows.s(k, 0)
    if t.kind == kinds.HOUSEKEEPING:
        _housekeep(k, thread, source)
        w = rows.worker(k, t.worker)
        if w.warm_excess > 0:
            bursts.warm_up(k, t.worker)
        return
    if t.kind == kinds.SEND or t.kind == kinds.RECEIVE:
        _flush(k, thread, source)
        return
    e = rows.executor(k, t.executor)
    component = rows.component(k, e.component)
    if component.is_spout != 0:
        events.schedule(k, source, s.now + rows.topology(k, e.topology).timeout)
        queues.enqueue(k, thread, routing.make_message(k, kinds.TICK, -1, e.first_task, -1, -1, 0))
    else:
        events.schedule(k, source, s.now + component.tick_period)
        for task in range(e.first_task, e.first_task + e.tasks):
            queues.enqueue(
                k, thread, routing.make_message(k, kinds.TICK, -1, task, -1, component.tick_record, 0)
            )


@jit
def _flush(k: State, thread: int, source: int) -> None:
    """Play a tick of the flush timer: in 2.x a flush tuple for the executor, in 1.x the flush itself."""
    t = rows.thread(k, thread)
    if rows.s(k, 0).version_2 == 0:
        events.unschedule(k, source)
        forwarding.flush_tick(k, thread)
        if t.kind == kinds.SEND:
            forwarding.flush_tick(k, rows.executor(k, t.executor).main_thread)
        return
    e = rows.executor(k, t.executor)
    events.schedule(k, source, rows.s(k, 0).now + rows.topology(k, e.topology).flush)
    if queues.has_room(k, e.main_thread):
        queues.enqueue(k, e.main_thread, routing.make_message(k, kinds.FLUSH, -1, e.first_task, -1, -1, 0))
