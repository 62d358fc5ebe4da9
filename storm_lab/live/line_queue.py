"""The file through which all tasks of a spout share one queue of lines, in whichever workers they run.

It holds counters of lines and the rates at which they arrive.
"""

from __future__ import annotations

import struct
from pathlib import Path
from urllib.parse import quote

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import UserError

_STEPS = 64
"""Offset of the number of rates."""
_FIRST_STEP = 128
_STEP = 24
"""Bytes of a rate: its start, the lines that arrived before it, and the time from line to line."""
_BYTES = 1 << 16


def spout_path(folder: Path, kind: str, spout: str) -> Path:
    """Return a spout's file of a kind (``queue``, ``lines``, ``arrivals``) among the exported files."""
    # The id of a component may hold any sign, a slash too.
    return folder / f"{kind}-{quote(spout, safe='')}.bin"


def new_queue(source: SourcePlan, start_ns: int) -> bytes:
    """Return a queue with its first rate and nothing taken yet; its first line arrives at ``start_ns``."""
    content = bytearray(_BYTES)
    gap = _gap(source.rate_per_s) if source.kind is SourceKind.RATE else 0
    struct.pack_into("<q", content, _STEPS, 1)
    struct.pack_into("<qqq", content, _FIRST_STEP, start_ns - (gap >> 10), 0, gap)
    return bytes(content)


def _gap(rate_per_s: float) -> int:
    """Return the time from line to line in 1024ths of a nanosecond; 0 if no lines come."""
    return round(NS_PER_S * 1024 / rate_per_s) if rate_per_s > 0 else 0


def set_rate(queue: Path, at_ns: int, rate_per_s: float) -> None:
    """Change the rate at which a shared queue's lines arrive, from ``at_ns`` (CLOCK_MONOTONIC) on.

    Lines that have arrived and were not yet taken stay, and none comes before the queue's start. Only the
    process that plays the run may call this; the spouts merely read the rates.
    """
    with queue.open("r+b") as file:
        content = file.read()
        (count,) = struct.unpack_from("<q", content, _STEPS)
        first_start, _, first_gap = struct.unpack_from("<qqq", content, _FIRST_STEP)
        begin_ns = first_start + (first_gap >> 10)
        start, lines, gap = struct.unpack_from("<qqq", content, _FIRST_STEP + (count - 1) * _STEP)
        arrived = lines + (max(0, at_ns - start) * 1024 // gap if gap else 0)
        place = _FIRST_STEP + count * _STEP
        if place + _STEP > len(content):
            raise UserError("its rate was changed too often", field="queue", value=str(queue))
        new_gap = _gap(rate_per_s)
        file.seek(place)
        file.write(struct.pack("<qqq", max(at_ns, begin_ns - (new_gap >> 10)), arrived, new_gap))
        file.flush()
        file.seek(_STEPS)
        file.write(struct.pack("<q", count + 1))
