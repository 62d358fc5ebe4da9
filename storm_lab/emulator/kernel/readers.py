"""What the control plane does to spouts and their sources: activity, rates, and lines that are returned."""

from __future__ import annotations

from collections.abc import Mapping

from storm_lab.emulator.kernel import acking, events, queues, source_queue
from storm_lab.emulator.state import kinds, rows
from storm_lab.emulator.state.jit import entry
from storm_lab.emulator.state.layout import Kernel, State

# Most roots that one call of lose_pending gives up; limits the log rows that it writes.
MAX_LOST_ROOTS = 4096


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
        source_queue.remove_idle_spout(k, executor)
        source_queue.schedule_line_turn(k, e.source)
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
    source_queue.schedule_line_turn(k, source)


@entry
def lose_pending(k: State, executor: int) -> int:
    """Give up at most MAX_LOST_ROOTS roots of a dying spout, newest first; returns how many are left."""
    e = rows.executor(k, executor)
    root = -1
    for _ in range(min(e.pending, MAX_LOST_ROOTS)):
        if root < 0:
            # Go back to the first root of the newest bucket that is not empty.
            root = e.last_pending
            while root != e.first_pending and acking.age_of(k, rows.root(k, root).previous) == acking.age_of(
                k, root
            ):
                root = rows.root(k, root).previous
        after = rows.root(k, root).next
        acking.close_root(k, root, kinds.LOST)
        root = after
    return e.pending


@entry
def return_taken_line(k: State, executor: int) -> None:
    """Return the line that a dying spout had taken and not emitted yet, if its source keeps its lines."""
    e = rows.executor(k, executor)
    if rows.component(k, e.component).is_spout == 0:
        return
    t = rows.thread(k, e.main_thread)
    computing = t.state == kinds.RUNNING and e.turn == kinds.TURN_EMIT and t.serialising == 0
    fetching = t.state == kinds.WAITING and t.wait in (kinds.WAIT_SLEEP, kinds.WAIT_FETCH, kinds.WAIT_LOG)
    if not (computing or fetching):
        return
    source = rows.source(k, e.source)
    if source.anchored != 0 and source.replay != 0:
        source_queue.return_line(k, e.source, e.line, e.attempt, rows.s(k, 0).now)
    elif source.kind == kinds.S_CLOSED:
        source_queue.return_line(k, e.source, -1, 0, rows.s(k, 0).now + source.answer)


@entry
def return_now(k: State, source: int, line: int, attempt: int) -> None:
    """Queue a line at its source now, to be emitted before new ones; line -1 is a closed loop's call."""
    source_queue.return_line(k, source, line, attempt, rows.s(k, 0).now)


@entry
def _drop_returned(k: State, source: int) -> None:
    row = rows.source(k, source)
    queues.release_all(k, row.head)
    row.head = row.tail = -1


def rewind(k: Kernel, state: State, source: int, acked: Mapping[int, int]) -> None:
    """Let the reader of a log begin again; ``source`` is the number of the log's partition.

    Lines of ``acked`` (a mapping to the attempt at which they were acked) are to be emitted once more. They
    wait together with the lines that wait already, in order of lines.
    """
    waiting = {line: attempt + 1 for line, attempt in acked.items()}
    m = int(k.source[source].head)
    while m >= 0:
        waiting[int(k.message[m].number)] = int(k.message[m].record)
        m = int(k.message[m].next)
    _drop_returned(state, source)
    for line in sorted(waiting):
        return_now(state, source, line, waiting[line])
