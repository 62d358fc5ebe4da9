"""Larger arrays for a kernel that has run out of room: same contents, same indices, more rows."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.layout import Kernel, records


def grow_records(k: Kernel, name: str, needed: int) -> Kernel:
    """Return a kernel whose array ``name`` has at least ``needed`` rows."""
    old = getattr(k, name)
    if len(old) >= needed:
        return k
    new = records(name, max(needed, 2 * len(old)))
    # Copy as bytes, because numpy would copy field by field.
    new.view(np.uint8)[: old.nbytes] = old.view(np.uint8)
    return Kernel(**{**k._asdict(), name: new})


def _grow_pool(k: Kernel, name: str, size: int) -> Kernel:
    """Return a kernel with at least ``size`` messages or roots, the new ones at the head of the free list."""
    old = len(getattr(k, name))
    k = grow_records(k, name, size)
    rows, s = getattr(k, name), k.s[0]
    rows["next"][old:] = np.arange(old + 1, len(rows) + 1)
    rows["next"][-1] = s[f"free_{name}"]
    s[f"free_{name}"] = old
    s[f"free_{name}s"] += len(rows) - old
    return k


def grow_messages(k: Kernel, size: int) -> Kernel:
    """Return a kernel with a pool of ``size`` messages."""
    k = _grow_pool(k, "message", size)
    batches = (k.topology["producer_batch"] > 1) | (k.topology["transfer_batch"] > 1)
    return grow_records(k, "batch", len(k.message)) if batches.any() else k


def grow_roots(k: Kernel, size: int) -> Kernel:
    """Return a kernel with a pool of ``size`` roots."""
    old = len(k.root)
    k = _grow_pool(k, "root", size)
    k.root["executor"][old:] = -1
    return k


def grow_threads(k: Kernel, needed: int) -> Kernel:
    """Return a kernel with room for ``needed`` threads, in every array that is indexed by thread."""
    if len(k.thread) >= needed:
        return k
    k = grow_records(k, "thread", needed)
    threads = len(k.thread)
    sources = int(k.s[0].timers) + 2 * threads
    slots = len(k.slot)
    k = grow_records(k, "slot", sources)
    k.slot["place"][slots:] = kinds.UNSCHEDULED
    k = grow_records(k, "event", sources)
    k.s[0].threads = threads
    return k._replace(ready=np.zeros(threads, np.int32))


def grow_bursts(k: Kernel, needed: int) -> Kernel:
    """Return a kernel where each node has room for the bursts of ``needed`` threads."""
    nodes, width = len(k.node), int(k.s[0].burst_width)
    if needed <= width:
        return k
    wider = max(needed, 2 * width)
    bursts = records("burst", nodes * wider)
    bursts.reshape(nodes, wider)[:, :width] = k.burst.reshape(nodes, width)
    k.s[0].burst_width = wider
    return k._replace(burst=bursts)


def grow_idle(k: Kernel, needed: int) -> Kernel:
    """Return a kernel with room for ``needed`` idle spouts at each source."""
    width = k.idle.shape[1]
    if needed <= width:
        return k
    idle = np.full((len(k.idle), max(needed, 2 * width)), -1, np.int64)
    idle[:, :width] = k.idle
    k.s[0].idle_width = idle.shape[1]
    return k._replace(idle=idle)
