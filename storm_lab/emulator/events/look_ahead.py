"""Reading ahead in a large cluster: what the next events will touch is fetched before their turn.

Thousands of executors do not fit into a core's cache, and an event follows indices from record to record, so
it would wait for memory at each. But the buckets of far events (``calendar_queue.py``) tell well ahead whose
turn is coming. So whenever the horizon moves, the buckets a few places beyond it are looked through: the
furthest for the records that the events themselves name, each nearer one for what the records fetched before
point to. Fetching is a hint and changes nothing; where an event comes up too late for it, or something else
happens first, only time is lost.
"""

from __future__ import annotations

from storm_lab.emulator.state.arrays import (
    bucket_at,
    channel_at,
    executor_at,
    fetch_channel,
    fetch_executor,
    fetch_message,
    fetch_node,
    fetch_root,
    fetch_route,
    fetch_run_queue,
    fetch_source,
    fetch_task,
    fetch_thread,
    fetch_worker,
    message_at,
    node_at,
    route_at,
    run_queue_at,
    s_at,
    slot_at,
    source_at,
    thread_at,
    worker_at,
)
from storm_lab.emulator.state.jit import jit
from storm_lab.emulator.state.kinds import FAR_BUCKETS, IN_PROCESS, MAIN, SEND, TRANSFER
from storm_lab.emulator.state.layout import State

# How many buckets beyond the horizon each step looks: what one fetches is there when the next reads it.
_STEPS = (6, 4, 3, 2, 1)


@jit
def look_ahead(k: State) -> None:
    """Fetch what the events of the next buckets will touch."""
    s = s_at(k, 0)
    for step in range(len(_STEPS)):
        bucket = (s.horizon >> s.bucket_bits) + _STEPS[step]
        source = bucket_at(k, bucket & (FAR_BUCKETS - 1)).value
        while source >= 0:
            _fetch(k, source, step)
            source = slot_at(k, source).next


@jit
def _fetch(k: State, source: int, step: int) -> None:
    """One step of fetching for the next event of an event source."""
    s = s_at(k, 0)
    if source < s.nodes:
        burst = source * s.queue_width
        if step == 0:
            fetch_node(k, source)
            fetch_run_queue(k, burst)
        else:
            _fetch_of_thread(k, run_queue_at(k, burst).thread, 0, step)
    elif source < 2 * s.nodes:
        if step == 0:
            fetch_node(k, source - s.nodes)
        else:
            _fetch_of_thread(k, node_at(k, source - s.nodes).wake_head, 1, step)
    elif source < 2 * s.nodes + s.channels:
        _fetch_of_wire(k, source - 2 * s.nodes, step)
    elif source >= s.timers:
        if step == 0:
            fetch_thread(k, (source - s.timers) >> 1)
    elif step == 0:
        fetch_source(k, source - 2 * s.nodes - s.channels)
    elif step == 1:
        fetch_executor(k, source_at(k, source - 2 * s.nodes - s.channels).finder)


@jit
def _fetch_of_thread(k: State, thread: int, wakes: int, step: int) -> None:
    """For a thread whose burst ends, or that wakes up (``wakes`` 1) and takes its first message."""
    if step == 1:
        fetch_thread(k, thread)
        return
    t = thread_at(k, thread)
    m = t.current if t.kind == MAIN else t.out_head
    if wakes != 0:
        m = t.head
    if step == 2:
        fetch_worker(k, t.worker)
        fetch_message(k, m)
        fetch_message(k, t.head)
        if t.kind == MAIN:
            fetch_executor(k, t.executor)
        return
    if m < 0:
        return
    message = message_at(k, m)
    if t.kind == MAIN:
        if step == 3:
            fetch_task(k, message.task)
            fetch_root(k, message.root)
            # Its send thread stands behind it: see lifecycle.open_executor.
            fetch_thread(k, thread + 1)
    elif message.target < 0:
        route = worker_at(k, t.worker).route + message.task
        if step == 3:
            fetch_route(k, route)
            fetch_task(k, message.task)
            fetch_task(k, message.source_task)
        else:
            fetch_executor(k, route_at(k, route).value)
    elif step == 3:
        fetch_executor(k, message.target)
    elif t.kind == TRANSFER:
        fetch_worker(k, executor_at(k, message.target).worker)
    elif t.kind == SEND and message.locality != IN_PROCESS:
        fetch_thread(k, worker_at(k, t.worker).transfer_thread)
    else:
        fetch_thread(k, executor_at(k, message.target).main_thread)


@jit
def _fetch_of_wire(k: State, channel: int, step: int) -> None:
    """For a channel whose first message arrives."""
    if step == 0:
        fetch_channel(k, channel)
        return
    m = channel_at(k, channel).head
    if step == 1:
        fetch_message(k, m)
        return
    target = message_at(k, m).target
    if step == 2:
        fetch_executor(k, target)
        return
    worker = executor_at(k, target).worker
    if step == 3:
        fetch_worker(k, worker)
    else:
        w = worker_at(k, worker)
        fetch_thread(k, w.network_thread if s_at(k, 0).netty != 0 else w.receive_thread)
