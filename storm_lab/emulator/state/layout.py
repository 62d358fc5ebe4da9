"""The kernel's state: one array of records for each kind of object, such as nodes, threads or messages.

All state of the kernel is in these arrays, so it can stop at any event and be called again. Indices are
int64, -1 means none; times are int64 nanoseconds of virtual time; CPU work is int64 nanoseconds of one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.state.record_types import CACHE_LINE, I4, I8, TYPES, cache_line_record, each, record
from storm_lab.workloads.workload_trace import EMISSION, RECORD

Arrays = dict[str, NDArray[Any]]


# State that a kernel function takes: that of a Kernel (see arrays.py).
State = Any

# Rows of plain arrays of whole numbers; two-dimensional ones are laid out row by row.
_NARROW, _WIDE = record(("value", I4)), record(("value", I8))

DTYPES: dict[str, np.dtype[np.void]] = {
    **TYPES,
    "component": cache_line_record(
        ("tick_period", I8),
        *each(I4, "topology", "first_task", "tasks", "is_spout", "is_acker", "tick_record"),
        ("first_pair", I4),  # the first of the components that it sends to
        ("pairs", I4),
    ),
    # A component that another one sends to, and its block of traffic counters: one for each pair of tasks.
    "pair": record(("component", I4), ("first", I8)),
    # [locality, pair of tasks]: counters. They are small, as a large topology touches them most.
    "traffic": record(("bytes", I8), ("tuples", I4)),
    "topology": cache_line_record(
        *each(I8, "acker_component", "ackers", "first_stream", "first_record", "timeout"),
        ("max_pending", I8),  # per task; 0 = none
        ("debug", I8),  # topology.debug: log lines are written
        ("back_pressure", I8),  # 1.x: topology.backpressure.enable
        ("raised", I8),  # 1.x: number of executors that ask the spouts to stop
        ("receive_batch", I8),  # most tuples that a receive thread hands over at once
        ("overflows", I8),  # 1.x: its queues overflow when they are full
        ("producer_batch", I8),  # from 1.0 on: tuples that a thread gathers for an executor's queue
        ("transfer_batch", I8),  # ... and for a worker's transfer queue
        ("flush", I8),  # ... and time between two flushes of them; 0 = no flushes
        ("overflow_check", I8),  # 2.x: how often a worker looks whether executors' overflows are gone
        *each(I4, "main_places", "send_places", "transfer_places"),  # capacities of its queues
    ),
    "stream": record(("first_subscription", I4), ("subscriptions", I4)),
    "subscription": record(("component", I4), ("grouping", I4), ("own", I4), ("load_aware", I4)),
    # State of a shuffle: one for each task and subscription of its component.
    "shuffle": record(
        *each(I4, "first", "index"),
        ("due", I8),
        *each(I4, "scope", "local"),
        *each(I4, "worker", "component"),  # where its task ran when it last chose by load, and the target
    ),
    "source": cache_line_record(
        ("kind", I8),
        ("head", I8),  # lines to be emitted before new ones: replays, or calls of a closed loop
        *each(I8, "origin", "taken"),
        ("rate_milli", I8),  # lines per 1000 s
        ("idle", I8),  # spouts that sleep and wait for its lines
        ("finder", I8),  # the one of them whose turn will find the next line
        ("next_line", I8),
        # Fields from here on are used less often.
        *each(I8, "component", "anchored", "replay", "tail", "first_line", "lines"),
        ("stride", I8),  # distance from one line to the next: the number of sources that share a log's lines
        *each(I8, "first_arrival", "arrivals", "arrival_period"),
        ("pause", I8),  # an idle spout's sleep between two turns, as requested
        ("sleep", I8),
        ("fetch", I8),  # how long nextTuple waits for the queue's server
        ("client_fetch", I8),  # how long a fetch by a thread of the client's own takes; 0 = nextTuple fetches
        ("fetch_lines", I8),  # lines per fetch
        ("answer", I8),  # closed loop: time from the ack to the next call
        ("patience", I8),  # closed loop: time from a call to the next one, if its spout died
        ("first_result", I8),  # 1: a call is answered by its first result, not by the end of its tuple tree
    ),
    "server": record(("latency", I8), ("first", I8), ("places", I8)),
    # An event of the binary heap of those before the horizon. Events at equal times are in order of seq.
    "event": record(("time", I8), ("seq", I8), ("source", I8)),
    # The next event of each event source: its time, and its place in the heap or its neighbours in a bucket.
    "slot": record(("time", I8), ("seq", I8), ("place", I4), ("next", I4), ("previous", I4)),
    # A running burst in its node's heap, by virtual time of its end, which it holds so that a comparison of
    # two bursts touches neither of their threads.
    "burst": record(("v_finish", I8), ("seq", I8), ("thread", I8)),
    "record": RECORD,
    "emission": EMISSION,
    "bucket": _NARROW,  # first event source of each bucket of far events; -1 = none
    "route": _NARROW,  # routing tables, from a topology's task to its executor instance; -1 = unknown
    "permutation": _NARROW,
    "ready": _NARROW,  # ring buffer of threads that were blocked and may go on
    "idle": _WIDE,  # [source, i]: spouts that sleep, in order of their turns (source_queue.py)
    "line_record": _WIDE,
    "arrival": _WIDE,
    "server_place": _WIDE,
    "spread": _WIDE,  # quantiles of a call's cost, in 1/65536 of its mean
}

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
