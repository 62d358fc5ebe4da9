"""Playing the control plane of a run alone, on a plane without tuples."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from storm_lab.emulator.control.clock import SECOND, Rank, ns
from storm_lab.emulator.emulation import Emulation, write_decisions
from storm_lab.emulator.setup.idle_plane import IdlePlane
from storm_lab.emulator.setup.logbook import Recorder

_ALLOCATIONS = 50_000
"""Objects made between two garbage collections. With Python's own 700 a third of the time goes into looking
through the writes that queue at ZooKeeper, none of which is garbage.
"""


def play_control(
    emulation: Emulation, recorder: Recorder, advance: Callable[[float], None] | None = None
) -> int:
    """Play to the end with nobody emitting a tuple; the virtual time reached, in nanoseconds.

    The log gets nodes and control events. Nothing else happens. ``advance`` is told the share played.
    """
    spec = emulation.spec
    control = emulation.wire(IdlePlane())
    end_ns = ns(spec.duration_s)
    if advance is not None:
        control.clock.every(
            10 * SECOND, Rank.MONITOR, "progress", lambda: advance(control.clock.now_ns / end_ns)
        )
    with _collections_rare():
        control.clock.run_until(end_ns)
    control.finish()
    recorder.append(
        "nodes",
        {
            "node": [node.id for node in spec.cluster.nodes],
            "rack": [node.rack for node in spec.cluster.nodes],
            "cores": np.array([node.cores for node in spec.cluster.nodes], np.int32),
            "core_mhz": np.array([node.core_mhz for node in spec.cluster.nodes]),
            "memory_mb": np.array([node.memory_mb for node in spec.cluster.nodes]),
        },
    )
    write_decisions(recorder, control.log.entries)
    return int(control.clock.now_ns)


@contextmanager
def _collections_rare() -> Iterator[None]:
    """Within, Python looks for garbage after so many new objects as `_ALLOCATIONS` says."""
    before = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
