"""Set, move and take away the next event of an event source, wherever it stands."""

from __future__ import annotations

from storm_lab.emulator.events.calendar_queue import put_far, take_far
from storm_lab.emulator.events.heap import insert, remove, sift_down, sift_up
from storm_lab.emulator.state.arrays import s_at, slot_at
from storm_lab.emulator.state.jit import inline, jit
from storm_lab.emulator.state.kinds import FAR, UNSCHEDULED
from storm_lab.emulator.state.layout import State


@inline
def scheduled_at(k: State, source: int) -> int:
    """Time of a source's next event; -1 when it has none."""
    slot = slot_at(k, source)
    return slot.time if slot.place != UNSCHEDULED else -1


@jit
def _schedule_far(k: State, source: int, time: int, seq: int) -> None:
    """Put an event beyond the horizon into a bucket."""
    if slot_at(k, source).place >= 0:
        remove(k, source)
    put_far(k, source, time, seq)


@jit
def schedule(k: State, source: int, time: int) -> None:
    """Set the time of a source's next event, whether it has one already or not."""
    s = s_at(k, 0)
    seq = s.seq
    s.seq = seq + 1
    slot = slot_at(k, source)
    if slot.place == FAR:
        take_far(k, source)
    if time >= s.horizon:
        _schedule_far(k, source, time, seq)
    elif slot.place < 0:
        insert(k, source, time, seq)
    else:
        before = slot.time
        slot.time = time
        if time < before:
            sift_up(k, slot.place, time, seq, source)
        else:
            sift_down(k, slot.place, time, seq, source)


@jit
def unschedule(k: State, source: int) -> None:
    """Take a source's event away; no effect when it has none."""
    place = slot_at(k, source).place
    if place >= 0:
        remove(k, source)
    elif place == FAR:
        take_far(k, source)
