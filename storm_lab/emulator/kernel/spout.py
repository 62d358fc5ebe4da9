"""The spout thread's loop, and its reading of the source.

``docs/emulator.md`` describes a turn. Acks wait for the spout's sleeps, and a sleep inside nextTuple makes
complete latency come in steps of that sleep (T-Storm section III). An idle spout's empty turns are not played
one by one: see ``spout_poll_time``.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import (
    acking,
    bursts,
    events,
    forwarding,
    polling,
    queues,
    routing,
    run_queue,
    source_queue,
)
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import jit
from storm_lab.emulator.state.layout import State

# Most acks handled in one turn; limits what one event can log.
MAX_TURN_ACKS = 1024


@jit
def spout_turn(k: State, thread: int) -> None:
    """Begin a turn of the loop."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    polling.stop_polling(k, thread)
    was_idle = e.in_idle_table != 0
    if was_idle:
        source_queue.remove_idle_spout(k, t.executor)
    waits = run_queue.has_to_wait(k, thread)
    if was_idle and (waits or queues.waiting(k, thread) > 0):
        # Another idle spout may find the line before this one calls nextTuple.
        source_queue.schedule_line_turn(k, e.source)
    if waits:
        return
    if queues.waiting(k, thread) > 0:
        c = rows.cost(k, 0)
        work = 0
        tail = -1
        for _ in range(min(queues.waiting(k, thread), MAX_TURN_ACKS)):
            m = queues.take(k, thread)
            work += c.dispatch
            if rows.message(k, m).kind != kinds.FLUSH:
                work += c.spout_ack
            if rows.message(k, m).locality != kinds.IN_PROCESS and rows.s(k, 0).version_1 == 0:
                work += c.deserialise
            e.turn_head = queues.append(k, e.turn_head, tail, m)
            tail = m
        e.turn = kinds.TURN_ACKS
        bursts.start_burst(k, thread, work, 0)
        return
    _call_tasks(k, thread)


@jit
def spout_acks_done(k: State, thread: int) -> None:
    """Finish the turn's acks, fails and ticks, whose CPU has been spent."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    m = e.turn_head
    e.turn_head = -1
    while m >= 0:
        message = rows.message(k, m)
        after = message.next
        root = message.root
        if message.kind == kinds.TICK:
            # The pending map is rotated.
            e.bucket += 1
        elif message.kind == kinds.FLUSH:
            t.flushing = 1
        elif rows.root(k, root).executor == t.executor:
            if message.kind == kinds.EXTENDED:
                acking.extend_root(k, root)
            else:
                complete = message.kind == kinds.COMPLETE
                acking.close_root(k, root, kinds.ACKED if complete else kinds.TIMED_OUT)
        queues.free_message(k, m)
        m = after
    if t.flushing != 0 and t.waits == 0:
        forwarding.flush_output(k, thread)
    _call_tasks(k, thread)


@jit
def _call_tasks(k: State, thread: int) -> None:
    """Call nextTuple once on each of the executor's tasks, if nothing holds the spout back (checked once)."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    acking.fail_expired(k, t.executor, MAX_TURN_ACKS)
    e.turn_task = 0
    topology = rows.topology(k, e.topology)
    limit = topology.max_pending * e.tasks
    # 1.x: what does not fit overflows, so the spout itself checks whether its send queue is full.
    stopped = topology.raised > 0 or (topology.overflows != 0 and not queues.has_room(k, thread + 1))
    held_back = t.out_head >= 0 or t.flushing != 0 or stopped
    if e.active != 0 and not held_back and (limit == 0 or e.pending < limit):
        if source_queue.fetching_until(k, t.executor) > rows.s(k, 0).now:
            spout_sleep(k, thread)
            queues.wake_spout_at(k, thread, e.fetch_end)
        elif source_queue.next_line_time(k, e.source) <= rows.s(k, 0).now:
            _next_tuple(k, thread)
        else:
            spout_sleep(k, thread)
            source_queue.add_idle_spout(k, t.executor)
        return
    spout_sleep(k, thread)
    source_queue.schedule_line_turn(k, e.source)
    if stopped:
        # Nothing tells a spout that this has ended, so it checks at every turn.
        events.schedule(k, events.timer_source(k, thread), e.poll_phase)


@jit
def _next_tuple(k: State, thread: int) -> None:
    """Call nextTuple on the turn's present task, for which there is a line."""
    t = rows.thread(k, thread)
    source_queue.take_line(k, t.executor)
    sleep = rows.source(k, rows.executor(k, t.executor).source).sleep
    if sleep > 0:
        t.state, t.wait = kinds.WAITING, kinds.WAIT_SLEEP
        events.schedule(k, events.timer_source(k, thread), rows.s(k, 0).now + sleep + rows.cost(k, 0).late)
    else:
        spout_fetch(k, thread)


@jit
def spout_sleep(k: State, thread: int) -> None:
    """Let a spout sleep that has emitted nothing, until a sleep ends at which it has something to do."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    s = rows.s(k, 0)
    t.state = kinds.POLLING
    if e.active != 0 and rows.cost(k, 0).empty_turn != 0:
        if t.waits != 0 and rows.cost(k, 0).look > 0:
            polling.poll_progressively(k, thread)
        else:
            polling.set_polling(k, thread, queues.turn_period(k, e.source))
    e.poll_phase = s.now
    e.poll_phase = queues.spout_poll_time(k, thread, s.now + 1)
    if queues.waiting(k, thread) > 0 or acking.has_expired(k, t.executor):
        events.schedule(k, events.timer_source(k, thread), e.poll_phase)


@jit
def spout_fetch(k: State, thread: int) -> None:
    """Fetch lines from the queue's server when the last ones are used up; the thread waits without CPU."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    source = rows.source(k, e.source)
    if source.fetch == 0:
        spout_emit(k, thread)
    elif e.fetched > 0:
        e.fetched -= 1
        spout_emit(k, thread)
    else:
        e.fetched = source.fetch_lines - 1
        t.state, t.wait = kinds.WAITING, kinds.WAIT_FETCH
        events.schedule(k, events.timer_source(k, thread), rows.s(k, 0).now + source.fetch)


@jit
def spout_emit(k: State, thread: int) -> None:
    """Run nextTuple's user code for the line that has been taken."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    record = source_queue.line_record(k, t.executor)
    e.turn = kinds.TURN_EMIT
    c = rows.cost(k, 0)
    bursts.count_call(k, t.worker)
    user = bursts.draw_call_cost(k, e.first_task + e.turn_task, rows.record(k, record).cpu_ns)
    work = c.poll + c.emit * (routing.count_copies(k, e.topology, record) + rows.source(k, e.source).anchored)
    if rows.topology(k, e.topology).debug != 0:
        t.log_work = rows.record(k, record).emissions * c.log_emit
    bursts.start_burst(k, thread, work, user)


@jit
def spout_emitted(k: State, thread: int) -> None:
    """Produce the root tuple's copies and tell the acker, as nextTuple's user code is done."""
    t = rows.thread(k, thread)
    e = rows.executor(k, t.executor)
    s = rows.s(k, 0)
    record = source_queue.line_record(k, t.executor)
    task = e.first_task + e.turn_task
    number = s.roots_emitted
    s.roots_emitted += 1
    logged = number if number % s.sample_every == 0 else -1
    if rows.source(k, e.source).anchored != 0 and rows.topology(k, e.topology).ackers > 0:
        root = acking.open_root(k, t.executor, task, number)
        xor = routing.emit_all(k, thread, t.executor, task, record, root, logged)
        acking.send_to_acker(k, thread, kinds.INIT, task, e.topology, root, xor)
    else:
        routing.emit_all(k, thread, t.executor, task, record, -1, logged)
        if rows.source(k, e.source).anchored != 0:
            # It has a message id but no acker to track it: Storm calls the spout's ack at once.
            acking.ack_untracked(k, t.executor, task, number)


@jit
def after_emit(k: State, thread: int) -> None:
    """Go on with the executor's next task if there is a line for it, else with the next turn."""
    executor = rows.thread(k, thread).executor
    e = rows.executor(k, executor)
    e.turn_task += 1
    now = rows.s(k, 0).now
    if (
        e.turn_task < e.tasks
        and max(source_queue.fetching_until(k, executor), source_queue.next_line_time(k, e.source)) <= now
    ):
        _next_tuple(k, thread)
    else:
        spout_turn(k, thread)
