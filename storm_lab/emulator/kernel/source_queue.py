"""Lines of a spout's source: when the next one is there, which idle spout will take it, which are returned.

An idle spout checks for a line once per sleep. The spouts that wait for lines of one source are in a table,
ordered by the phase of their turns within the period. The one whose turn comes first after a line is there is
looked up, and only that turn is played; the others' turns would find nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from storm_lab.emulator.kernel import events, queues
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.jit import entry, inline, jit
from storm_lab.emulator.state.layout import State

# An entry in the table of idle spouts: the phase of its turns in the period, then its executor.
_EXECUTOR_BITS = 20
_EXECUTORS = (1 << _EXECUTOR_BITS) - 1


@jit
def next_line_time(k: State, source_index: int) -> int:
    """Return when the source's next line will be, or has been, available."""
    source = rows.source(k, source_index)
    time = kinds.NEVER
    if source.head >= 0:
        time = rows.message(k, source.head).time
    if source.kind == kinds.S_SATURATED:
        return min(time, source.origin)
    if source.kind == kinds.S_RATE:
        if source.rate_milli > 0:
            # In two steps, because taken lines times 10**12 would not fit into 64 bits.
            scaled = source.taken * 1_000_000
            after = scaled // source.rate_milli * 1_000_000
            after += scaled % source.rate_milli * 1_000_000 // source.rate_milli
            time = min(time, source.origin + after)
    elif source.kind == kinds.S_TRACE:
        turn = source.taken // source.arrivals
        at = rows.arrival(k, source.first_arrival + source.taken % source.arrivals).value
        time = min(time, source.origin + turn * source.arrival_period + at)
    return time


@jit
def take_line(k: State, executor: int) -> None:
    """Take the next line of the executor's source, which has arrived, and schedule the next one's turn."""
    e = rows.executor(k, executor)
    source = rows.source(k, e.source)
    e.attempt, e.line = 0, -1
    if source.head >= 0 and rows.message(k, source.head).time <= rows.s(k, 0).now:
        m = source.head
        message = rows.message(k, m)
        source.head = message.next
        if source.head < 0:
            source.tail = -1
        e.line, e.attempt = message.number, message.record
        queues.free_message(k, m)
    else:
        source.taken += 1
    if e.line < 0:
        e.line = source.next_line
        source.next_line += source.stride
    if source.client_fetch > 0:
        e.fetched -= 1
        if e.fetched == 0:
            _begin_client_fetch(k, executor)
    schedule_line_turn(k, e.source)


@inline
def _begin_client_fetch(k: State, executor: int) -> None:
    """Let the fetch thread of a spout's client begin with the next lines."""
    e = rows.executor(k, executor)
    source = rows.source(k, e.source)
    e.fetched = source.fetch_lines
    e.fetch_end = rows.s(k, 0).now + source.client_fetch


@inline
def fetching_until(k: State, executor: int) -> int:
    """Return when a spout has lines of its client's fetch thread to emit; 0 if nextTuple itself fetches."""
    e = rows.executor(k, executor)
    if rows.source(k, e.source).client_fetch == 0:
        return 0
    if e.fetched == 0:
        _begin_client_fetch(k, executor)
    return e.fetch_end


@jit
def line_record(k: State, executor: int) -> int:
    """Return the trace record of the line that the spout has in hand."""
    e = rows.executor(k, executor)
    source = rows.source(k, e.source)
    return rows.line_record(k, source.first_line + e.line % source.lines).value


@jit
def return_line(k: State, source_index: int, line: int, attempt: int, time: int) -> None:
    """Queue a line to be emitted before new ones: a replay or, with line -1, a closed loop's next call."""
    m = queues.new_message(k)
    message = rows.message(k, m)
    message.root, message.number, message.record, message.time = -1, line, attempt, time
    _queue_line(k, source_index, m)
    schedule_line_turn(k, source_index)


@inline
def _queue_line(k: State, source_index: int, m: int) -> None:
    """Queue a returned line behind those that are due no later."""
    source = rows.source(k, source_index)
    message = rows.message(k, m)
    before, after = source.tail, -1
    if before >= 0 and rows.message(k, before).time > message.time:
        before, after = -1, source.head
        while rows.message(k, after).time <= message.time:
            before, after = after, rows.message(k, after).next
    message.next = after
    if after < 0:
        source.tail = m
    if before < 0:
        source.head = m
    else:
        rows.message(k, before).next = m


@inline
def _place_of(k: State, source_index: int, key: int) -> int:
    """Return how many entries of the source's table of idle spouts come before ``key``."""
    first = source_index * rows.s(k, 0).idle_width
    low, high = 0, rows.source(k, source_index).idle
    while low < high:
        middle = (low + high) >> 1
        if rows.idle(k, first + middle).value < key:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def add_idle_spout(k: State, executor: int) -> None:
    """Enter a spout that has found no line and sleeps into its source's table."""
    e = rows.executor(k, executor)
    key = (e.poll_phase % queues.turn_period(k, e.source)) << _EXECUTOR_BITS | executor
    source = rows.source(k, e.source)
    first = e.source * rows.s(k, 0).idle_width
    place = _place_of(k, e.source, key)
    for i in range(source.idle, place, -1):
        rows.idle(k, first + i).value = rows.idle(k, first + i - 1).value
    rows.idle(k, first + place).value = key
    source.idle += 1
    e.in_idle_table = 1
    schedule_line_turn(k, e.source)


@jit
def remove_idle_spout(k: State, executor: int) -> None:
    """Remove a spout from the table, as its turn begins or it dies; `schedule_line_turn` has to follow."""
    e = rows.executor(k, executor)
    key = (e.poll_phase % queues.turn_period(k, e.source)) << _EXECUTOR_BITS | executor
    source = rows.source(k, e.source)
    first = e.source * rows.s(k, 0).idle_width
    source.idle -= 1
    for i in range(_place_of(k, e.source, key), source.idle):
        rows.idle(k, first + i).value = rows.idle(k, first + i + 1).value
    e.in_idle_table = 0


@jit
def schedule_line_turn(k: State, source_index: int) -> None:
    """Schedule the turn that will find the source's next line.

    It is the first turn of one of its idle spouts once the line is there. Of turns at the same instant it is
    that of the executor that started first.
    """
    source = rows.source(k, source_index)
    n = source.idle
    event = events.source_event(k, source_index)
    at = max(next_line_time(k, source_index), rows.s(k, 0).now) if n > 0 else kinds.NEVER
    if at >= kinds.NEVER:
        events.unschedule(k, event)
        return
    period = queues.turn_period(k, source_index)
    phase = at % period
    first = source_index * rows.s(k, 0).idle_width
    place = _place_of(k, source_index, phase << _EXECUTOR_BITS)
    for _ in range(n):
        if place == n:
            place = 0
        key = rows.idle(k, first + place).value
        time = at + ((key >> _EXECUTOR_BITS) - phase) % period
        # A spout that has begun to sleep at this very instant does not check again before its sleep is over.
        if rows.executor(k, key & _EXECUTORS).poll_phase <= time:
            break
        place += 1
    else:
        place %= n
        key = rows.idle(k, first + place).value
        time = rows.executor(k, key & _EXECUTORS).poll_phase
    source.finder = key & _EXECUTORS
    events.reschedule_event(k, event, time)


@entry
def set_active(k: State, executor: int, active: int) -> None:
    """Let a spout executor call nextTuple or not; it notices at the end of its present sleep."""
    e = rows.executor(k, executor)
    if rows.component(k, e.component).is_spout == 0 or e.active == active:
        return
    s = rows.s(k, 0)
    thread = e.main_thread
    polling = rows.thread(k, thread).state == kinds.POLLING
    if e.in_idle_table != 0:
        remove_idle_spout(k, executor)
        schedule_line_turn(k, e.source)
    if polling:
        # Until then it sleeps at the interval of its old state.
        e.poll_phase = queues.spout_poll_time(k, thread, s.now)
    e.active = active
    if polling and active != 0:
        events.schedule(k, events.timer_source(k, thread), e.poll_phase)


@entry
def set_rate(k: State, source: int, rate_milli: int, begin: int) -> None:
    """Change a source's rate; lines that wait stay. None comes before its submission, at ``begin`` ns."""
    s = rows.s(k, 0)
    row = rows.source(k, source)
    waiting = 0
    if row.rate_milli > 0:
        # In two steps, because the product would not fit into 64 bits.
        passed = s.now - row.origin
        fraction = passed % 1_000_000 * row.rate_milli // 1_000_000
        arrived = (passed // 1_000_000 * row.rate_milli + fraction) // 1_000_000 + 1
        waiting = max(0, arrived - row.taken)
    row.rate_milli = rate_milli
    # Set the origin back so that exactly the waiting lines count as arrived.
    row.taken = 0
    if rate_milli > 0:
        gap = 1_000_000_000_000 // rate_milli
        row.origin = max(s.now + gap, begin) - waiting * gap
    schedule_line_turn(k, source)


@entry
def return_taken_line(k: State, executor: int) -> None:
    """Return the line that a dying spout had taken and not emitted yet, if its source keeps its lines."""
    e = rows.executor(k, executor)
    if rows.component(k, e.component).is_spout == 0:
        return
    t = rows.thread(k, e.main_thread)
    computing = t.state == kinds.RUNNING and e.turn == kinds.TURN_EMIT and t.serialising == 0
    fetches = t.wait == kinds.WAIT_SLEEP or t.wait == kinds.WAIT_FETCH or t.wait == kinds.WAIT_LOG
    fetching = t.state == kinds.WAITING and fetches
    if not (computing or fetching):
        return
    source = rows.source(k, e.source)
    time = rows.s(k, 0).now + source.patience
    if source.anchored != 0 and source.replay != 0:
        return_line(k, e.source, e.line, e.attempt, time)
    elif source.kind == kinds.S_CLOSED:
        return_line(k, e.source, -1, 0, time + source.answer)


@entry
def return_now(k: State, source: int, line: int, attempt: int) -> None:
    """Queue a line at its source now, to be emitted before new ones; line -1 is a closed loop's call."""
    return_line(k, source, line, attempt, rows.s(k, 0).now)


@entry
def _drop_returned(k: State, source: int) -> None:
    row = rows.source(k, source)
    queues.release_all(k, row.head)
    row.head = row.tail = -1


def rewind(k: Kernel, source: int, acked: Mapping[int, int]) -> None:
    """Let the reader of a log begin again; ``source`` is the number of the log's partition.

    Lines of ``acked`` (a mapping to the attempt at which they were acked) are to be emitted once more. They
    wait together with the lines that wait already, in order of lines.
    """
    waiting = {line: attempt + 1 for line, attempt in acked.items()}
    m = int(k.source[source].head)
    while m >= 0:
        waiting[int(k.message[m].number)] = int(k.message[m].record)
        m = int(k.message[m].next)
    _drop_returned(k.state, source)
    for line in sorted(waiting):
        return_now(k.state, source, line, waiting[line])
