"""A node's processor: fair sharing of cores between the threads that want CPU.

With n such threads, those of JVMs that start among them, and c cores every thread runs at speed
``share = min(1, capacity(n) / n)``; hardware threads beyond the cores add ``ht_gain`` of a core each. This
is the fluid limit of a fair operating-system scheduler with a small time slice. A node keeps one *virtual
time* that advances at ``share``; a thread that starts a burst of work w finishes when virtual time has
advanced by w, whatever comes and goes meanwhile. So a change of n moves one number, not n finish times. What
workers do for themselves leaves less of the c cores to share (:func:`spend_evenly`), and so do other nodes on
the same machine (`shared_cores`). Virtual time stands still while a node's quota is used up (`quota`).

Virtual time is an integer in units of 2**-SHARE_BITS ns: exact ties, same bytes everywhere.
"""

from __future__ import annotations

from storm_lab.emulator.events.schedule import schedule, scheduled_at, unschedule
from storm_lab.emulator.kernel.quota import own_work, quota_turn, runnable, use_quota, wanting
from storm_lab.emulator.state.arrays import cost_at, node_at, run_queue_at, s_at, thread_at, worker_at
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.kinds import NEVER, RUNNING, SHARE_BITS
from storm_lab.emulator.state.layout import State


@inline
def _capacity_of(k: State, node: int) -> int:
    """Of a node's cores for the threads that want CPU now, of 1024 a core."""
    p = node_at(k, node)
    return p.free + max(0, min(runnable(k, node), p.threads) - p.cores) * p.ht_gain


@inline
def _has_room(k: State, node: int) -> bool:
    """Whether all that want CPU on a node, idle threads that look included, get what they want."""
    p = node_at(k, node)
    return p.polling + runnable(k, node) * 1024 <= p.free


@inline
def _taken_by_looks(k: State, node: int) -> int:
    """What idle threads that look at their queues get of a node's cores, of 1024 a core.

    They want little each, so a fair scheduler gives them all of it, until that is more than the share of
    those that have work.
    """
    p = node_at(k, node)
    capacity = _capacity_of(k, node)
    n = runnable(k, node)
    if p.polling + n * 1024 <= capacity:
        return p.polling
    return min(p.polling, p.lookers * capacity // (n + p.lookers))


@jit
def _share_beside_looks(k: State, node: int) -> int:
    """As :func:`share_of` where idle threads look at their queues."""
    free = _capacity_of(k, node) - _taken_by_looks(k, node)
    n = runnable(k, node)
    if n * 1024 <= free:
        return 1 << SHARE_BITS
    return (free << (SHARE_BITS - 10)) // n


@jit
def look_speed(k: State, node: int) -> int:
    """How fast idle threads of a node look at their queues, of 1024: as often as they want to."""
    p = node_at(k, node)
    if p.held != 0:
        return 0
    if _has_room(k, node):
        return 1024
    return max(1, _taken_by_looks(k, node) * 1024 // p.polling) if p.polling > 0 else 1024


@inline
def share_of(k: State, node: int) -> int:
    """Speed of each active thread, of 2**SHARE_BITS."""
    p = node_at(k, node)
    if p.held != 0:
        return 0
    if _has_room(k, node):
        return 1 << SHARE_BITS
    if p.polling > 0:
        return _share_beside_looks(k, node)
    return (_capacity_of(k, node) << (SHARE_BITS - 10)) // runnable(k, node)


@inline
def advance(k: State, node: int) -> None:
    """Bring a node's virtual time up to now."""
    p = node_at(k, node)
    passed = s_at(k, 0).now - p.v_at
    # Most calls of an event come at one instant, and a share costs a division.
    if passed > 0:
        p.v_at += passed
        if p.lookers > 0:
            looked = passed * look_speed(k, node)
            p.looked += looked
            p.look_work += (looked * p.look_part) >> 10
        if runnable(k, node) > 0:
            got = passed * share_of(k, node)
            p.v += got
            p.starting_cpu += (got >> SHARE_BITS) * p.starting
        if p.quota > 0:
            use_quota(k, node, passed)


@jit
def spend_evenly(k: State, worker: int, cpu: int, time: int) -> None:
    """Let a worker's own small work take ``cpu`` ns of CPU in the next ``time`` ns, evenly.

    It takes so little at a time that threads beside it never wait for it: it leaves them less of the cores.
    """
    w = worker_at(k, worker)
    advance(k, w.node)
    p = node_at(k, w.node)
    part = cpu * 1024 // time
    p.own += part - w.own
    w.own = part
    leave_cores(k, w.node)


@inline
def leave_cores(k: State, node: int) -> None:
    """Work out anew what a node has to share; its virtual time is up to now."""
    p = node_at(k, node)
    p.free = min(p.cores * 1024 - own_work(k, node), p.most)


@inline
def _put(k: State, place: int, v_finish: int, seq: int, work: int, thread: int) -> None:
    burst = run_queue_at(k, place)
    burst.v_finish = v_finish
    burst.seq = seq
    burst.work = work
    burst.thread = thread


@jit
def _up(k: State, first: int, i: int, v_finish: int, seq: int, work: int, thread: int) -> None:
    while i > 0:
        parent = (i - 1) >> 1
        p = run_queue_at(k, first + parent)
        if p.v_finish < v_finish or (p.v_finish == v_finish and p.seq < seq):
            break
        _put(k, first + i, p.v_finish, p.seq, p.work, p.thread)
        i = parent
    _put(k, first + i, v_finish, seq, work, thread)


@jit
def _down(k: State, first: int, n: int, i: int, v_finish: int, seq: int, work: int, thread: int) -> None:
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        c = run_queue_at(k, first + child)
        if child + 1 < n:
            d = run_queue_at(k, first + child + 1)
            if d.v_finish < c.v_finish or (d.v_finish == c.v_finish and d.seq < c.seq):
                child += 1
                c = d
        if v_finish < c.v_finish or (v_finish == c.v_finish and seq < c.seq):
            break
        _put(k, first + i, c.v_finish, c.seq, c.work, c.thread)
        i = child
    _put(k, first + i, v_finish, seq, work, thread)


@inline
def long_sleep_work(k: State, slept: int) -> int:
    """What ending a wait costs more after the thread, and the core that takes it up, slept ``slept`` ns."""
    c = cost_at(k, 0)
    return c.asleep * slept // (slept + c.sleep_half) if c.asleep > 0 else 0


@inline
def rest_of(k: State, thread: int) -> int:
    """How long a thread that waited and the core that takes it up have both slept, in ns."""
    t = thread_at(k, thread)
    p = node_at(k, t.node)
    now = s_at(k, 0).now
    return 0 if wanting(k, t.node) >= p.cores else min(now - t.idle_from, now - p.rested_at)


@inline
def _ahead(k: State, node: int) -> int:
    """How many threads a thread that wakes on a full node must let go first."""
    return max(1, wanting(k, node) - node_at(k, node).threads + 1)


@inline
def turn_of(k: State, node: int) -> int:
    """How long a thread of a full node keeps its core: the longer the more wait, as more has gathered."""
    c = cost_at(k, 0)
    return c.slice + c.turn * _ahead(k, node)


@inline
def wait_of(k: State, node: int) -> int:
    """How long a thread that wakes on a full node waits: for a slice, or a turn of each that is ahead."""
    c = cost_at(k, 0)
    ahead = _ahead(k, node)
    return (c.slice + c.turn * ahead * ahead) // node_at(k, node).threads


@inline
def start_burst(k: State, thread: int, work: int) -> None:
    """Let a thread want CPU for ``work`` ns (at the reference clock) of the framework's code from now on."""
    start_call(k, thread, work, 0)


@jit
def start_call(k: State, thread: int, work: int, user: int) -> None:
    """As :func:`start_burst`, with ``user`` ns of user code, or of the operating system, besides.

    Cold code does not slow that down, and what processor and version make of Storm's own code does not
    concern it.
    """
    t = thread_at(k, thread)
    node = t.node
    advance(k, node)
    p = node_at(k, node)
    w = worker_at(k, t.worker)
    work = (work * p.storm) >> 16
    if w.warm_excess > 0:
        work += (work * w.warm_excess) >> 16
    work += user
    if t.woken != 0:
        t.woken = 0
        wait_work = cost_at(k, 0).wait_work + long_sleep_work(k, rest_of(k, thread))
        work += (wait_work * p.system) >> 16
    if w.heap_excess > 0:
        work += (work * w.heap_excess) >> 16
    if wanting(k, node) >= p.threads:
        # Context switch and cache refill, growing with the run queue up to four threads per core.
        work += cost_at(k, 0).switch * min(wanting(k, node) // p.threads, 4)
    work = (work * p.slow * p.extra) >> 20
    s = s_at(k, 0)
    t.state = RUNNING
    seq = s.seq
    s.seq = seq + 1
    n = p.active
    p.active = n + 1
    _up(k, node * s.queue_width, n, p.v + (work << SHARE_BITS), seq, work, thread)


@jit
def place_of(k: State, node: int, thread: int) -> int:
    """Where the burst of a running thread stands in its node's run queue."""
    first = node * s_at(k, 0).queue_width
    i = 0
    while run_queue_at(k, first + i).thread != thread:
        i += 1
    return i


@jit
def leave_cpu(k: State, node: int, i: int) -> None:
    """Take the burst at place ``i`` out of a node's run queue: it is done, or its thread was killed."""
    p = node_at(k, node)
    n = p.active - 1
    p.active = n
    if wanting(k, node) == p.cores - 1:
        p.rested_at = s_at(k, 0).now
    if i == n:
        return
    first = node * s_at(k, 0).queue_width
    last = run_queue_at(k, first + n)
    v_finish, seq, work, thread = last.v_finish, last.seq, last.work, last.thread
    if i > 0:
        parent = run_queue_at(k, first + ((i - 1) >> 1))
        if v_finish < parent.v_finish or (v_finish == parent.v_finish and seq < parent.seq):
            _up(k, first, i, v_finish, seq, work, thread)
            return
    _down(k, first, n, i, v_finish, seq, work, thread)


@jit
def work_off(k: State, thread: int) -> None:
    """Let an idle housekeeping thread do what its worker owes, a period's worth at a time.

    CPU is counted when a burst ends, and what is owed may be seconds of it.
    """
    w = worker_at(k, thread_at(k, thread).worker)
    part = min(w.owed, cost_at(k, 0).housekeeping_period)
    if part > 0:
        w.owed -= part
        start_call(k, thread, 0, part)


@jit
def compile_on(k: State, thread: int) -> None:
    """Let an idle compiler work on what its worker's calls have made hot, a method at a time."""
    t = thread_at(k, thread)
    w = worker_at(k, t.worker)
    part = min(w.to_compile, cost_at(k, 0).method)
    if part > 0:
        w.to_compile -= part
        start_call(k, thread, 0, (part * node_at(k, t.node).system) >> 16)


@jit
def _serve_next(k: State, node: int) -> None:
    """A core is free: the first of the threads that wait for one runs as soon as it is awake."""
    s = s_at(k, 0)
    t = thread_at(k, node_at(k, node).wake_head)
    at = max(s.now, t.awake)
    if t.since > at:
        t.since = at
        schedule(k, s.nodes + node, at)


@inline
def _burst_ends(k: State, node: int) -> int:
    """When the first burst of a node that is not held back ends, if nothing comes between."""
    p = node_at(k, node)
    missing = run_queue_at(k, node * s_at(k, 0).queue_width).v_finish - p.v
    if missing <= 0:
        return p.v_at
    if _has_room(k, node):
        # Full speed: a division less, and the same number.
        return p.v_at + ((missing + (1 << SHARE_BITS) - 1) >> SHARE_BITS)
    share = share_of(k, node)
    return p.v_at + (missing + share - 1) // share


@jit
def reschedule(k: State, node: int) -> None:
    """Tell the event heap when the node's next burst ends."""
    p = node_at(k, node)
    if p.wake_head >= 0 and wanting(k, node) < p.threads:
        _serve_next(k, node)
    if p.active == 0 and (p.quota == 0 or p.polling + p.starting == 0):
        unschedule(k, node)
        return
    advance(k, node)
    time = quota_turn(k, node) if p.quota > 0 else NEVER
    if p.active > 0 and p.held == 0:
        time = min(time, _burst_ends(k, node))
    if scheduled_at(k, node) != time:
        schedule(k, node, time)


@entry
def set_starting(k: State, node: int, starting: int) -> None:
    """So many threads of JVMs that start on a node want CPU from now on."""
    advance(k, node)
    node_at(k, node).starting = starting


@entry
def cpu_time(k: State, node: int) -> int:
    """CPU that a thread of a JVM that starts would have had by now if one always started, in ns."""
    advance(k, node)
    return node_at(k, node).v >> SHARE_BITS
