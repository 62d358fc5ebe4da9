"""The processor of a node: how fast its threads run.

With n threads that want CPU, those of starting JVMs included, and c cores, a fair scheduler gives each of
them ``share = min(1, capacity(n) / n)``, and in the fluid limit of a small time slice all run at that speed.
Where threads run one after another (`run_queue`), only those on a core run, and faster. Workers' periodic
work (:func:`spend_evenly`) and other nodes on the same machine (`shared_cores`) leave less of the c cores.

A node's *virtual time* advances at the speed of the threads that run (``docs/emulator.md``), and a second
clock, ``fair``, at the share. The bursts that run on a node are in a heap, by the virtual time of their end:
its part of the array ``burst``.
"""

from __future__ import annotations

from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State


@inline
def runnable(k: State, node: int) -> int:
    """Return how many threads want a node's cores, waiting ones and those of starting JVMs included."""
    p = rows.node(k, node)
    return p.active + p.run_queue_length + p.starting


@inline
def contending(k: State, node: int) -> int:
    """Return how many threads want these cores, those of other nodes on the same machine included."""
    return runnable(k, node) + rows.node(k, node).competitors


@inline
def periodic_work(k: State, node: int) -> int:
    """Return what periodic work takes of a node's cores, in 1/1024 core: at most half of them."""
    p = rows.node(k, node)
    return min(p.periodic_load, p.cores * 512)


@inline
def _use(k: State, node: int) -> int:
    """Return what a node that is not held back uses of its quota per ns, in 1/1024 core."""
    p = rows.node(k, node)
    most = p.free + (p.threads - p.cores) * 1024
    return min(p.poll_load + runnable(k, node) * 1024, most) + periodic_work(k, node)


@jit
def use_quota(k: State, node: int, passed: int) -> None:
    """Count what a node used in ``passed`` ns, and hold it back (but no periodic work) or let it go on."""
    p = rows.node(k, node)
    p.quota_left -= passed * (periodic_work(k, node) if p.throttled != 0 else _use(k, node))
    periods = (rows.s(k, 0).now - p.quota_from) // p.quota_period
    if periods > 0:
        p.quota_from += periods * p.quota_period
        p.quota_left = min(p.quota, p.quota_left + periods * p.quota)
    throttled = 1 if p.quota_left <= 0 else 0
    if throttled != p.throttled:
        # A node that is held back does not poll.
        rows.s(k, 0).poll_rate += p.poll_rate * (p.throttled - throttled)
        p.throttled = throttled


@jit
def quota_event_time(k: State, node: int) -> int:
    """Return when a node's quota will be used up, or will be renewed."""
    p = rows.node(k, node)
    anew = p.quota_from + p.quota_period
    use = _use(k, node)
    if p.throttled != 0 or use == 0:
        return anew
    return min(anew, p.v_at + (p.quota_left + use - 1) // use)


@inline
def _capacity(k: State, node: int) -> int:
    """Return the capacity of a node for the threads that want CPU now, in 1/1024 core."""
    p = rows.node(k, node)
    return p.free + max(0, min(runnable(k, node), p.threads) - p.cores) * p.ht_gain


@inline
def has_spare_cores(k: State, node: int) -> bool:
    """Return whether all threads that want CPU on a node, polling ones included, get what they want."""
    p = rows.node(k, node)
    return p.poll_load + runnable(k, node) * 1024 <= p.free


@jit
def _taken_by_polls(k: State, node: int) -> int:
    """Return what polls get of a node's cores, in 1/1024 core.

    Each polling thread wants little, so a fair scheduler gives it all of that, until it is more than the
    share of a thread that has work.
    """
    p = rows.node(k, node)
    capacity = _capacity(k, node)
    n = runnable(k, node)
    if p.poll_load + n * 1024 <= capacity:
        return p.poll_load
    return min(p.poll_load, p.pollers * capacity // (n + p.pollers))


@inline
def poll_rate(k: State, node: int) -> int:
    """Return the rate of polls on each of a node's cores, in 1/1024 of that of a thread that parks.

    Nodes on the same machine poll on the same cores.
    """
    s = rows.s(k, 0)
    p = rows.node(k, node)
    return s.poll_rate // s.machine_cores if s.machine_capacity > 0 else p.poll_rate // p.cores


@jit
def poll_speed(k: State, node: int) -> int:
    """Return the speed of polls on a node, in 1/1024 of the rate at which its threads want to poll."""
    p = rows.node(k, node)
    if p.throttled != 0:
        return 0
    if has_spare_cores(k, node):
        return 1024
    return max(1, _taken_by_polls(k, node) * 1024 // p.poll_load) if p.poll_load > 0 else 1024


@inline
def fair_share(k: State, node: int) -> int:
    """Return what a fair scheduler gives each thread that wants CPU, in units of 2**-SHARE_BITS core."""
    p = rows.node(k, node)
    if p.throttled != 0:
        return 0
    if has_spare_cores(k, node):
        return 1 << kinds.SHARE_BITS
    free = _capacity(k, node)
    if p.poll_load > 0:
        free -= _taken_by_polls(k, node)
        if runnable(k, node) * 1024 <= free:
            return 1 << kinds.SHARE_BITS
    return (free << (kinds.SHARE_BITS - 10)) // runnable(k, node)


@inline
def running_speed(k: State, node: int) -> int:
    """Return the speed of a thread on a core, with the share of those that wait, in 2**-SHARE_BITS core."""
    p = rows.node(k, node)
    share = fair_share(k, node)
    if p.run_queue_length == 0 or p.active == 0:
        return share
    return min(1 << kinds.SHARE_BITS, share * (p.active + p.run_queue_length) // p.active)


@inline
def advance(k: State, node: int) -> None:
    """Bring a node's virtual time up to now."""
    p = rows.node(k, node)
    passed = rows.s(k, 0).now - p.v_at
    # Most calls within an event come at the same instant, and computing a share costs a division.
    if passed > 0:
        p.v_at += passed
        if p.pollers > 0:
            polled = passed * poll_speed(k, node)
            p.poll_clock += polled
            p.poll_cpu_clock += (polled * p.poll_cost_part) >> 10
        if runnable(k, node) > 0:
            got = passed * fair_share(k, node)
            p.fair += got
            p.v += got if p.run_queue_length == 0 else passed * running_speed(k, node)
            p.starting_cpu += (got >> kinds.SHARE_BITS) * p.starting
        if p.quota > 0:
            use_quota(k, node, passed)


@jit
def spend_evenly(k: State, worker: int, cpu: int, time: int) -> None:
    """Let periodic work take ``cpu`` ns in the next ``time`` ns, evenly, so that no thread waits for it."""
    w = rows.worker(k, worker)
    advance(k, w.node)
    p = rows.node(k, w.node)
    part = cpu * 1024 // time
    p.periodic_load += part - w.periodic_load
    w.periodic_load = part
    update_free(k, w.node)


@inline
def update_free(k: State, node: int) -> None:
    """Recompute what a node has to share; its virtual time must be up to date."""
    p = rows.node(k, node)
    p.free = min(p.cores * 1024 - periodic_work(k, node), p.max_free)


@inline
def _store(k: State, place: int, v_finish: int, seq: int, thread: int) -> None:
    burst = rows.burst(k, place)
    burst.v_finish, burst.seq, burst.thread = v_finish, seq, thread


@jit
def _sift_up(k: State, first: int, i: int, v_finish: int, seq: int, thread: int) -> None:
    while i > 0:
        parent = (i - 1) >> 1
        p = rows.burst(k, first + parent)
        if p.v_finish < v_finish or (p.v_finish == v_finish and p.seq < seq):
            break
        _store(k, first + i, p.v_finish, p.seq, p.thread)
        i = parent
    _store(k, first + i, v_finish, seq, thread)


@jit
def _sift_down(k: State, first: int, n: int, i: int, v_finish: int, seq: int, thread: int) -> None:
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        c = rows.burst(k, first + child)
        if child + 1 < n:
            d = rows.burst(k, first + child + 1)
            if d.v_finish < c.v_finish or (d.v_finish == c.v_finish and d.seq < c.seq):
                child += 1
                c = d
        if v_finish < c.v_finish or (v_finish == c.v_finish and seq < c.seq):
            break
        _store(k, first + i, c.v_finish, c.seq, c.thread)
        i = child
    _store(k, first + i, v_finish, seq, thread)


@jit
def add_burst(k: State, thread: int) -> None:
    """Run a thread for what is left of its burst."""
    s = rows.s(k, 0)
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    seq = s.seq
    s.seq = seq + 1
    n = p.active
    p.active = n + 1
    _sift_up(k, t.node * s.burst_width, n, p.v + t.left, seq, thread)


@jit
def burst_place(k: State, node: int, thread: int) -> int:
    """Return the place of a running thread's burst in its node's heap."""
    first = node * rows.s(k, 0).burst_width
    i = 0
    while rows.burst(k, first + i).thread != thread:
        i += 1
    return i


@jit
def remove_burst(k: State, node: int, i: int) -> None:
    """Remove the burst at place ``i`` from a node's heap: it is done, preempted or killed."""
    p = rows.node(k, node)
    n = p.active - 1
    p.active = n
    if contending(k, node) == p.cores - 1:
        p.core_free_since = rows.s(k, 0).now
    if i == n:
        return
    first = node * rows.s(k, 0).burst_width
    last = rows.burst(k, first + n)
    v_finish, seq, thread = last.v_finish, last.seq, last.thread
    if i > 0:
        parent = rows.burst(k, first + ((i - 1) >> 1))
        if v_finish < parent.v_finish or (v_finish == parent.v_finish and seq < parent.seq):
            _sift_up(k, first, i, v_finish, seq, thread)
            return
    _sift_down(k, first, n, i, v_finish, seq, thread)


@entry
def set_starting(k: State, node: int, starting: int) -> None:
    """Set how many threads of starting JVMs want CPU on a node from now on."""
    advance(k, node)
    rows.node(k, node).starting = starting


@entry
def cpu_time(k: State, node: int) -> int:
    """Return the CPU of a thread of a starting JVM, in ns, as if one had been starting all the time."""
    advance(k, node)
    return rows.node(k, node).fair >> kinds.SHARE_BITS
