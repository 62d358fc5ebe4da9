"""Which threads of a node have a core, and which wait for one in its run queue.

There are two disciplines (``docs/emulator.md``, "How threads share a node"); the cost model chooses:

- ``turn`` 0: all threads run at once, at their share.
- ``turn`` > 0: as many threads run as there are cores, as under Linux since 6.6 (EEVDF). The others wait in
  the run queue, a list in order of ``vruntime``, the CPU that a thread has had. A thread is *eligible* while
  its vruntime is no more than the mean of those that run or wait.
"""

from __future__ import annotations

from storm_lab.emulator.kernel import cpu, events
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.layout import State


@inline
def takes_turns(k: State) -> bool:
    """Return whether threads of full nodes run one after another."""
    return rows.cost(k, 0).turn > 0


@inline
def _turn(k: State, node: int) -> int:
    """Return how much CPU a thread has before it gives way to the first of the run queue.

    Up to 0.10 a thread that waits for room polls: it takes the core of one that has work, and the first of
    the run queue gets it next. So turns are as long as the time from one poll on a core to the next, if that
    is shorter.
    """
    c = rows.cost(k, 0)
    p = rows.node(k, node)
    if p.poll_rate == 0 or c.room_poll == 0:
        return c.turn
    return min(c.turn, (c.fine_poll + c.poll_wait) * 1024 * p.cores // p.poll_rate)


@inline
def available_cores(k: State, node: int) -> int:
    """Return how many threads of a node may have a core now."""
    p = rows.node(k, node)
    if p.throttled != 0:
        return 0
    return p.granted if rows.s(k, 0).machine_capacity > 0 else p.threads


@inline
def time_slice_wait(k: State, node: int) -> int:
    """Return how long a thread that wakes on a full node waits for a time slice, where all run at once."""
    return rows.cost(k, 0).slice // rows.node(k, node).threads


@jit
def wake_up(k: State, thread: int) -> None:
    """Wake a sleeping thread: it wants a core after the node's wake-up latency."""
    t = rows.thread(k, thread)
    s = rows.s(k, 0)
    t.state, t.wait_ended_by = kinds.WAKING, kinds.WOKEN
    node = t.node
    p = rows.node(k, node)
    t.since = t.awake = s.now + rows.cost(k, 0).wake
    if not takes_turns(k):
        if cpu.contending(k, node) >= p.threads:
            t.since += time_slice_wait(k, node)
        if p.wake_head >= 0:
            t.since = max(t.since, rows.thread(k, p.wake_tail).since)
    if p.wake_head < 0:
        p.wake_head = thread
        before = events.scheduled_at(k, s.nodes + node)
        if before < 0 or before > t.since:
            events.schedule(k, s.nodes + node, t.since)
    else:
        rows.thread(k, p.wake_tail).next_wake = thread
    p.wake_tail = thread


@jit
def pop_woken(k: State, node: int) -> int:
    """Remove and return the first of a node's woken threads, which is awake now."""
    s = rows.s(k, 0)
    p = rows.node(k, node)
    thread = p.wake_head
    t = rows.thread(k, thread)
    p.wake_head = t.next_wake if thread != p.wake_tail else -1
    if p.wake_head >= 0:
        events.schedule(k, s.nodes + node, rows.thread(k, p.wake_head).since)
    else:
        events.unschedule(k, s.nodes + node)
    return thread


@inline
def _core_time(k: State, node: int) -> int:
    """Return the CPU that a thread would have had that is always on a core of the node, in ns."""
    return rows.node(k, node).v >> kinds.SHARE_BITS


@inline
def _mean(k: State, node: int) -> int:
    """Return the mean vruntime of a node's threads that run or wait: those not beyond it are eligible."""
    p = rows.node(k, node)
    n = p.active + p.run_queue_length
    return (p.vruntimes + p.active * _core_time(k, node)) // n if n > 0 else p.last_mean


@jit
def _restore_vruntime(k: State, thread: int) -> None:
    """Give a thread that wants a core again a vruntime in relation to those that run or wait."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    n = p.active + p.run_queue_length
    mean = _mean(k, t.node)
    # The mean will include this thread; corrected for that, its lag is the one that it left with.
    t.vruntime = mean - t.lag - t.lag // n if t.lag > 0 and n > 0 else max(t.vruntime, mean)


@jit
def _save_lag(k: State, thread: int) -> None:
    """Note how far a thread lags behind the others when it stops running, or leaves the run queue."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    p.last_mean = _mean(k, t.node)
    t.lag = min(max(0, p.last_mean - t.vruntime), rows.cost(k, 0).turn)


@jit
def _place_on_core(k: State, node: int, core: int) -> int:
    """Return the place of the burst that runs on a core; -1 if the core is free."""
    first = node * rows.s(k, 0).burst_width
    for i in range(rows.node(k, node).active):
        if rows.thread(k, rows.burst(k, first + i).thread).core == core:
            return i
    return -1


@jit
def get_core(k: State, thread: int) -> None:
    """Give a thread a core for its burst."""
    t = rows.thread(k, thread)
    if takes_turns(k):
        if _place_on_core(k, t.node, t.core) >= 0:
            t.core = 0
            while _place_on_core(k, t.node, t.core) >= 0:
                t.core += 1
        # While a thread runs, its vruntime is kept relative to that of a thread always on a core.
        t.vruntime -= _core_time(k, t.node)
        rows.node(k, t.node).vruntimes += t.vruntime
    cpu.add_burst(k, thread)


@jit
def lose_core(k: State, node: int, i: int) -> None:
    """Take its core from the thread whose burst is at place ``i``: it is done, preempted or killed."""
    if takes_turns(k):
        p = rows.node(k, node)
        thread = rows.burst(k, node * rows.s(k, 0).burst_width + i).thread
        t = rows.thread(k, thread)
        own = t.vruntime
        t.vruntime += _core_time(k, node)
        _save_lag(k, thread)
        p.vruntimes -= own
    cpu.remove_burst(k, node, i)


@jit
def want_core(k: State, thread: int) -> None:
    """Run a thread's burst at once if it has a core or one is free, else put it into the run queue."""
    t = rows.thread(k, thread)
    if takes_turns(k) and rows.s(k, 0).core_holder != thread:
        p = rows.node(k, t.node)
        _restore_vruntime(k, thread)
        if p.active >= available_cores(k, t.node) or p.run_queue_length > 0:
            _join_run_queue(k, thread, True)
            return
        t.core_from = _core_time(k, t.node)
    get_core(k, thread)


@jit
def has_to_wait(k: State, thread: int) -> bool:
    """Return whether a thread has to wait for a core before its next message; if so, queue it."""
    if not takes_turns(k):
        return False
    t = rows.thread(k, thread)
    if t.in_run_queue != 0:
        return True
    s = rows.s(k, 0)
    p = rows.node(k, t.node)
    cpu.advance(k, t.node)
    if s.core_holder == thread:
        if p.run_queue_length == 0:
            return False
        spent = _core_time(k, t.node) - t.core_from >= _turn(k, t.node)
        wanted = p.head_preempts != 0 and t.core == rows.thread(k, p.run_queue_head).core
        if not (spent or (wanted and t.vruntime > _mean(k, t.node))):
            return False
        if _gets_another_turn(k, thread, t.vruntime):
            return False
    else:
        _restore_vruntime(k, thread)
        if p.active < available_cores(k, t.node) and p.run_queue_length == 0:
            s.core_holder = thread
            t.core_from = _core_time(k, t.node)
            return False
    t.state, t.left = kinds.WAKING, -1
    _join_run_queue(k, thread, s.core_holder != thread)
    return True


@jit
def _gets_another_turn(k: State, thread: int, vruntime: int) -> bool:
    """Return whether a thread goes on for another turn, having had no more than the first of the queue."""
    t = rows.thread(k, thread)
    first = rows.thread(k, rows.node(k, t.node).run_queue_head)
    # At equal vruntime, a first that came into the run queue just now, maybe from a core, has not waited.
    if vruntime > first.vruntime or (vruntime == first.vruntime and first.awake < rows.s(k, 0).now):
        return False
    turn = _turn(k, t.node)
    t.core_from += (_core_time(k, t.node) - t.core_from) // turn * turn
    return True


@jit
def _join_run_queue(k: State, thread: int, woken: bool) -> None:
    """Put a thread into its node's run queue; a thread that was ``woken`` may preempt another at once."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    t.in_run_queue, t.awake = 1, rows.s(k, 0).now
    p.run_queue_length += 1
    p.vruntimes += t.vruntime
    if p.run_queue_head < 0 or t.vruntime < rows.thread(k, p.run_queue_head).vruntime:
        t.next_in_run_queue = p.run_queue_head
        p.run_queue_head = thread
        if woken and t.vruntime <= _mean(k, t.node) and _preemptible_on_its_core(k, thread) >= 0:
            p.head_preempts = 1
        return
    before = rows.thread(k, p.run_queue_head)
    while before.next_in_run_queue >= 0 and rows.thread(k, before.next_in_run_queue).vruntime <= t.vruntime:
        before = rows.thread(k, before.next_in_run_queue)
    t.next_in_run_queue = before.next_in_run_queue
    before.next_in_run_queue = thread


@jit
def leave_run_queue(k: State, thread: int) -> None:
    """Remove a thread from its node's run queue: it gets a core, or was killed."""
    t = rows.thread(k, thread)
    p = rows.node(k, t.node)
    _save_lag(k, thread)
    t.in_run_queue = 0
    p.run_queue_length -= 1
    p.vruntimes -= t.vruntime
    if p.run_queue_head == thread:
        p.run_queue_head = t.next_in_run_queue
        return
    before = rows.thread(k, p.run_queue_head)
    while before.next_in_run_queue != thread:
        before = rows.thread(k, before.next_in_run_queue)
    before.next_in_run_queue = t.next_in_run_queue


@jit
def _preemptible_on_its_core(k: State, thread: int) -> int:
    """Return the burst's place on a thread's last core; -1: none, or its thread is not beyond the mean."""
    node = rows.thread(k, thread).node
    place = _place_on_core(k, node, rows.thread(k, thread).core)
    if place < 0:
        return -1
    other = rows.thread(k, rows.burst(k, node * rows.s(k, 0).burst_width + place).thread)
    return place if other.vruntime + _core_time(k, node) > _mean(k, node) else -1


@jit
def _longest_running(k: State, node: int) -> int:
    """Return the place of the burst whose thread has had its core for longest."""
    first = node * rows.s(k, 0).burst_width
    place = 0
    for i in range(1, rows.node(k, node).active):
        here = rows.thread(k, rows.burst(k, first + i).thread)
        if here.core_from < rows.thread(k, rows.burst(k, first + place).thread).core_from:
            place = i
    return place


@jit
def preempt(k: State, node: int) -> int:
    """Preempt the thread that has to give up its core, and put it into the run queue; returns it, or -1."""
    p = rows.node(k, node)
    place = (
        _preemptible_on_its_core(k, p.run_queue_head) if p.head_preempts != 0 else _longest_running(k, node)
    )
    if place < 0:
        return -1
    burst = rows.burst(k, node * rows.s(k, 0).burst_width + place)
    thread = burst.thread
    t = rows.thread(k, thread)
    if _gets_another_turn(k, thread, t.vruntime + _core_time(k, node)):
        return -1
    t.left = max(burst.v_finish - p.v, 0)
    lose_core(k, node, place)
    _join_run_queue(k, thread, False)
    return thread


@inline
def _next_dispatch(k: State, node: int) -> int:
    """Return when the first of a node's run queue gets a core, if nothing happens before."""
    p = rows.node(k, node)
    cores = available_cores(k, node)
    if p.run_queue_head < 0 or cores == 0:
        return kinds.NEVER
    if p.active < cores or p.head_preempts != 0:
        return rows.s(k, 0).now
    t = rows.thread(k, rows.burst(k, node * rows.s(k, 0).burst_width + _longest_running(k, node)).thread)
    missing = ((t.core_from + _turn(k, node)) << kinds.SHARE_BITS) - p.v
    if missing <= 0:
        return rows.s(k, 0).now
    speed = cpu.running_speed(k, node)
    return kinds.NEVER if speed == 0 else p.v_at + (missing + speed - 1) // speed


@jit
def schedule_dispatch(k: State, node: int) -> None:
    """Schedule when a thread of a node next wakes, or gets the core of another."""
    s = rows.s(k, 0)
    p = rows.node(k, node)
    if takes_turns(k):
        cpu.advance(k, node)
        time = _next_dispatch(k, node)
        if p.wake_head >= 0:
            time = min(time, rows.thread(k, p.wake_head).awake)
        events.reschedule_event(k, s.nodes + node, time)
    elif p.wake_head >= 0 and cpu.contending(k, node) < p.threads:
        # A core is free: the first thread that waits for a slice runs as soon as it is awake.
        t = rows.thread(k, p.wake_head)
        at = max(s.now, t.awake)
        if t.since > at:
            t.since = at
            events.schedule(k, s.nodes + node, at)
