"""Record types of the schedule: events, where each of them is, and the bursts that run on a node's cores.

Conventions as in ``record_types.py``.
"""

from __future__ import annotations

from storm_lab.emulator.state.record_types import I4, I8, record

# An event in the heap. Events at equal times are in order of seq.
EVENT = record(("time", I8), ("seq", I8), ("source", I8))


# The next event of an event source: its time, and its place in the heap or its neighbours in a bucket.
SLOT = record(("time", I8), ("seq", I8), ("place", I4), ("next", I4), ("previous", I4))


# A running burst in its node's heap. It holds the virtual time of its end, so that a comparison of two
# bursts touches neither of their threads.
BURST = record(("v_finish", I8), ("seq", I8), ("work", I8), ("thread", I8))
