"""What the main thread of a bolt or acker does with a tuple: the cost of execute, and its results."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.kernel import acking, bursts, queues, routing
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import jit
from storm_lab.emulator.state.layout import State


@jit
def bolt_start(k: State, thread: int) -> None:
    """Take the next tuple and run execute on it."""
    t = rows.thread(k, thread)
    m = queues.take(k, thread) if rows.s(k, 0).version_2 != 0 else queues.take_from_batch(k, thread)
    t.current = m
    t.since = rows.s(k, 0).now
    message = rows.message(k, m)
    c = rows.cost(k, 0)
    if message.kind == kinds.FLUSH:
        bursts.start_burst(k, thread, c.dispatch, 0)
        return
    version_1 = rows.s(k, 0).version_1 != 0
    if version_1 and message.record >= 0 and message.root >= 0 and rows.record(k, message.record).resets != 0:
        # execute first calls collector.resetTimeout (from 1.0 on) and goes on when that message is sent.
        t.resetting = 1
        bursts.start_burst(k, thread, c.dispatch + c.emit, 0)
        return
    bolt_execute(k, thread, c.dispatch)


@jit
def bolt_execute(k: State, thread: int, work: int) -> None:
    """Run execute on the tuple in hand, after ``work`` ns of other work."""
    t = rows.thread(k, thread)
    message = rows.message(k, t.current)
    c = rows.cost(k, 0)
    bursts.count_call(k, t.worker)
    user = 0
    if message.locality != kinds.IN_PROCESS and rows.s(k, 0).version_1 == 0:
        work += c.deserialise + message.bytes * c.deserialise_kb // 1024
    if t.role == kinds.ACKER_BOLT:
        work += c.acker
    elif message.record >= 0:
        user = bursts.draw_call_cost(k, message.task, rows.record(k, message.record).cpu_ns)
        work += c.emit * routing.count_copies(k, rows.executor(k, t.executor).topology, message.record)
        if message.root >= 0:
            work += c.emit
        if rows.topology(k, rows.executor(k, t.executor).topology).debug != 0 and message.kind != kinds.TICK:
            t.log_work = c.log_receive + max(0, rows.record(k, message.record).emissions) * c.log_emit
    bursts.start_burst(k, thread, work, user)


@jit
def ask_server(k: State, record: int) -> int:
    """Send a request to an external server; returns when its answer arrives."""
    r = rows.record(k, record)
    server = rows.server(k, r.server)
    now = rows.s(k, 0).now
    if server.places == 0:
        return now + server.latency + r.server_ns
    best = server.first
    for i in range(server.first + 1, server.first + server.places):
        if rows.server_place(k, i).value < rows.server_place(k, best).value:
            best = i
    start = max(now + server.latency // 2, rows.server_place(k, best).value)
    rows.server_place(k, best).value = start + r.server_ns
    return rows.server_place(k, best).value + server.latency - server.latency // 2


@jit
def bolt_results(k: State, thread: int) -> None:
    """Produce the emissions of an execute that returns, ack its input, and log it."""
    t = rows.thread(k, thread)
    s = rows.s(k, 0)
    m = t.current
    t.current = -1
    message = rows.message(k, m)
    if message.kind == kinds.FLUSH:
        t.flushing = 1
        queues.free_message(k, m)
        return
    e = rows.executor(k, t.executor)
    task = rows.task(k, message.task)
    if t.role == kinds.ACKER_BOLT:
        if message.root >= 0:
            acking.acker_execute(k, thread, t.executor, m)
    elif message.record >= 0:
        root = message.root
        number = message.number
        xor = routing.emit_all(k, thread, t.executor, message.task, message.record, root, number)
        if root >= 0 and message.kind == kinds.DATA:
            if rows.record(k, message.record).emissions < 0:
                acking.send_to_acker(k, thread, kinds.FAIL, message.task, e.topology, root, message.edge)
                task.failed += 1
            else:
                kind = kinds.ANSWER if xor == np.uint64(0) and acking.answers_first(k, root) else kinds.ACK
                acking.send_to_acker(k, thread, kind, message.task, e.topology, root, message.edge ^ xor)
                task.acked += 1
    if message.kind != kinds.TICK:
        task.executed += 1
        task.execute += s.now - t.since
    if message.number >= 0:
        row = rows.execution_row(k, s.execution_rows)
        s.execution_rows += 1
        row.number, row.task, row.source_task = message.number, message.task, message.source_task
        row.worker, row.locality = t.worker, message.locality
        row.enqueued, row.started, row.ended = message.time, t.since, s.now
    queues.free_message(k, m)
