"""The kernel's arrays as one object, which gives compiled code their addresses and enlarges them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.jit import ENABLED
from storm_lab.emulator.state.layout import DTYPES, FLAT, State, records, with_attributes
from storm_lab.emulator.state.rows import POINTERS


class Kernel(SimpleNamespace):
    """All arrays of the kernel, one for each name in `DTYPES`.

    ``state`` is what compiled functions take: the address of the table of the arrays' addresses, or without
    the JIT the arrays. It is a plain number because numba takes ten times as long to find the type of a
    record. It stays valid as long as this object lives.

    A kernel that has run out of room gets larger arrays: same contents, same indices, more rows. That happens
    between its calls, never during one.
    """

    def __init__(self, **arrays: NDArray[Any]) -> None:
        super().__init__()
        self._table = np.zeros(1, POINTERS)
        self.state: State = int(self._table.ctypes.data) if ENABLED else SimpleNamespace()
        self.replace(**arrays)

    def replace(self, **arrays: NDArray[Any]) -> None:
        """Put arrays in place of those of the same names."""
        for name, array in arrays.items():
            assert name not in FLAT or array.dtype == DTYPES[name]["value"]
            setattr(self, name, array)
            cells = array.reshape(-1).view(DTYPES[name]) if name in FLAT else array
            if ENABLED:
                self._table[name] = cells.ctypes.data
            else:
                setattr(self.state, name, with_attributes(cells))

    def grow(self, name: str, needed: int) -> None:
        """Give the array ``name`` at least ``needed`` rows."""
        old = getattr(self, name)
        if len(old) < needed:
            new = records(name, max(needed, 2 * len(old)))
            # Copy as bytes, because numpy would copy field by field.
            new.view(np.uint8)[: old.nbytes] = old.view(np.uint8)
            self.replace(**{name: new})

    def _grow_pool(self, name: str, size: int) -> None:
        """Have at least ``size`` messages or roots, the new ones at the head of the free list."""
        old = len(getattr(self, name))
        self.grow(name, size)
        rows, s = getattr(self, name), self.s[0]
        rows["next"][old:] = np.arange(old + 1, len(rows) + 1)
        rows["next"][-1] = s[f"free_{name}"]
        s[f"free_{name}"] = old
        s[f"free_{name}s"] += len(rows) - old

    def grow_messages(self, size: int) -> None:
        """Have a pool of ``size`` messages."""
        self._grow_pool("message", size)
        if np.any((self.topology["producer_batch"] > 1) | (self.topology["transfer_batch"] > 1)):
            self.grow("batch", len(self.message))

    def grow_roots(self, size: int) -> None:
        """Have a pool of ``size`` roots."""
        old = len(self.root)
        self._grow_pool("root", size)
        self.root["executor"][old:] = -1

    def grow_threads(self, needed: int) -> None:
        """Have room for ``needed`` threads, in every array that is indexed by thread."""
        if len(self.thread) >= needed:
            return
        self.grow("thread", needed)
        threads, slots = len(self.thread), len(self.slot)
        sources = int(self.s[0].timers) + 2 * threads
        self.grow("slot", sources)
        self.slot["place"][slots:] = kinds.UNSCHEDULED
        self.grow("event", sources)
        self.s[0].threads = threads
        self.replace(ready=np.zeros(threads, np.int32))

    def grow_bursts(self, needed: int) -> None:
        """Have room for the bursts of ``needed`` threads on each node."""
        nodes, width = len(self.node), int(self.s[0].burst_width)
        if needed > width:
            wider = max(needed, 2 * width)
            bursts = records("burst", nodes * wider)
            bursts.reshape(nodes, wider)[:, :width] = self.burst.reshape(nodes, width)
            self.s[0].burst_width = wider
            self.replace(burst=bursts)

    def grow_idle(self, needed: int) -> None:
        """Have room for ``needed`` idle spouts at each source."""
        width = self.idle.shape[1]
        if needed > width:
            idle = np.full((len(self.idle), max(needed, 2 * width)), -1, np.int64)
            idle[:, :width] = self.idle
            self.s[0].idle_width = idle.shape[1]
            self.replace(idle=idle)
