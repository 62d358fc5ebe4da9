"""The kernel's state: one array of records for each kind of object, such as nodes, threads or messages.

All state of the kernel is in these arrays, so it can stop at any event and be called again. Indices are
int64, -1 means none; times are int64 nanoseconds of virtual time; CPU work is int64 nanoseconds of one core.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.state.flow_types import FLOW_TYPES
from storm_lab.emulator.state.record_types import CACHE_LINE, RECORD_TYPES, record
from storm_lab.workloads.workload_trace import EMISSION, RECORD

Arrays = dict[str, NDArray[Any]]


class Kernel(NamedTuple):
    """All arrays of the kernel; larger ones replace them between its calls, never during one."""

    s: NDArray[Any]
    cost: NDArray[Any]
    node: NDArray[Any]
    rack: NDArray[Any]
    channel: NDArray[Any]
    worker: NDArray[Any]
    executor: NDArray[Any]
    thread: NDArray[Any]
    message: NDArray[Any]
    batch: NDArray[Any]
    root: NDArray[Any]
    task: NDArray[Any]
    component: NDArray[Any]
    topology: NDArray[Any]
    stream: NDArray[Any]
    subscription: NDArray[Any]
    shuffle: NDArray[Any]
    source: NDArray[Any]
    server: NDArray[Any]
    record: NDArray[Any]
    emission: NDArray[Any]
    event: NDArray[Any]  # binary heap of the events before the horizon
    root_row: NDArray[Any]
    execution_row: NDArray[Any]
    slot: NDArray[Any]  # one for each event source
    bucket: NDArray[np.int32]  # first event source of each bucket of far events; -1 = none
    burst: NDArray[Any]  # for each node a heap of the bursts that run, by virtual time of their end
    route: NDArray[np.int32]  # routing tables, from a topology's task to its executor instance; -1 = unknown
    permutation: NDArray[np.int32]
    ready: NDArray[np.int32]  # ring buffer of threads that were blocked and may go on
    idle: NDArray[np.int64]  # [source, i]: spouts that sleep, in order of their turns (source_queue.py)
    line_record: NDArray[np.int64]
    arrival: NDArray[np.int64]
    server_place: NDArray[np.int64]
    pair: NDArray[Any]
    traffic: NDArray[Any]  # [locality, pair of tasks]
    spread: NDArray[np.int64]  # quantiles of a call's cost, in 1/65536 of its mean


# State that a kernel function takes: a handle on a Kernel (see rows.py).
State = Any

DTYPES: dict[str, np.dtype[np.void]] = {
    **RECORD_TYPES,
    **FLOW_TYPES,
    "record": RECORD,
    "emission": EMISSION,
    **dict.fromkeys(("bucket", "route", "permutation", "ready"), record(("value", np.int32))),
    **dict.fromkeys(
        ("idle", "line_record", "arrival", "server_place", "spread"), record(("value", np.int64))
    ),
}

# Plain arrays of whole numbers; two-dimensional ones are laid out row by row.
FLAT = tuple(name for name, kind in DTYPES.items() if kind.names == ("value",))


def with_attributes(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same rows with fields as attributes: as records, as a `recarray` is slow to index."""
    return array.view(np.dtype((np.record, array.dtype)))


def records(name: str, length: int) -> NDArray[Any]:
    """Return a zeroed array of the rows called ``name``, with fields that can be read as attributes."""
    dtype = DTYPES[name]
    # Begin the first row at a cache line.
    raw = np.zeros(length * dtype.itemsize + CACHE_LINE, np.uint8)
    first = -raw.ctypes.data % CACHE_LINE
    return with_attributes(raw[first : first + length * dtype.itemsize].view(dtype))
