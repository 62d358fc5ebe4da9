"""Record types of what comes next: events, where each stands, and the bursts that a node's processor is at.

Conventions as in ``record_types.py``.
"""

from __future__ import annotations

from storm_lab.emulator.state.record_types import I4, I8, record

# In the heap: equal times in order of seq.
EVENT = record(("time", I8), ("seq", I8), ("source", I8))


# Of each event source: its next event's time, its place in the heap or its neighbours in a bucket.
SLOT = record(("time", I8), ("seq", I8), ("place", I4), ("next", I4), ("previous", I4))


# A burst in a node's run queue: the virtual time of its end stands here, so that comparing two touches
# neither of their threads.
BURST = record(("v_finish", I8), ("seq", I8), ("work", I8), ("thread", I8))
