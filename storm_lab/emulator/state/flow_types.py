"""Record types of topologies (components, streams, groupings, sources, servers, traffic) and of events."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.state.record_types import I4, I8, cache_line_record, each, record

FLOW_TYPES: dict[str, np.dtype[np.void]] = {
    "component": cache_line_record(
        ("tick_period", I8),
        *each(I4, "topology", "first_task", "tasks", "is_spout", "is_acker", "tick_record"),
        ("first_pair", I4),  # the first of the components that it sends to
        ("pairs", I4),
    ),
    # A component that another one sends to, and its block of traffic counters: one for each pair of tasks.
    "pair": record(("component", I4), ("first", I8)),
    # Counters of a pair of tasks at one locality. They are small, as a large topology touches them most.
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
    ),
    "stream": record(("first_subscription", I4), ("subscriptions", I4)),
    "subscription": record(("component", I4), ("grouping", I4), ("own", I4), ("load_aware", I4)),
    # State of a shuffle: one for each task and subscription of its component.
    "shuffle": record(("first", I4), ("index", I4), ("due", I8), ("scope", I4), ("local", I4)),
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
        ("first_result", I8),  # 1: a call is answered by its first result, not by the end of its tuple tree
    ),
    "server": record(("latency", I8), ("first", I8), ("places", I8)),
    # An event in the heap. Events at equal times are in order of seq.
    "event": record(("time", I8), ("seq", I8), ("source", I8)),
    # The next event of an event source: its time, and its place in the heap or its neighbours in a bucket.
    "slot": record(("time", I8), ("seq", I8), ("place", I4), ("next", I4), ("previous", I4)),
    # A running burst in its node's heap. It holds the virtual time of its end, so that a comparison of two
    # bursts touches neither of their threads.
    "burst": record(("v_finish", I8), ("seq", I8), ("thread", I8)),
}
