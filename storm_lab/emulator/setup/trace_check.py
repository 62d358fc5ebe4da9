"""Workload traces whose numbers cannot be played are refused, by the stream that leads to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import UserError
from storm_lab.model import Topology
from storm_lab.workloads.trace import WorkloadTrace

LONGEST_CALL_NS = 3600 * NS_PER_S
"""CPU or service time of one call beyond this is taken for a mistake of unit."""

LARGEST_TUPLE = 1 << 30
"""Bytes of one tuple; beyond it the wire's arithmetic would overflow."""


def check_values(topology: Topology, trace: WorkloadTrace) -> None:
    """Refuse records and emissions with values outside their range.

    Raises:
        UserError: names field, value, and the component and stream whose tuples are concerned.
    """
    records, emissions = trace.records, trace.emissions
    for field in ("cpu_ns", "server_ns"):
        _check(topology, trace, field, records[field] < 0, "has a negative cost", "costs are 0 or more")
        most = f"give at most {LONGEST_CALL_NS} ns, which is an hour"
        _check(topology, trace, field, records[field] > LONGEST_CALL_NS, "has an absurd cost", most)
    server = records["server"]
    known = f"name one of the trace's {len(trace.servers)} servers by its index, or -1"
    _check(
        topology, trace, "server", (server < -1) | (server >= len(trace.servers)), "has no such server", known
    )
    resets = records["resets"]
    _check(
        topology,
        trace,
        "resets",
        (resets != 0) & (resets != 1),
        "is ambiguous about resetTimeout",
        "give 1 for a call that begins with resetTimeout, else 0",
    )
    read = np.unique(np.concatenate([*trace.sources.values(), np.zeros(0, np.int64)]))
    if np.any((read < 0) | (read >= len(records))):
        raise UserError(
            f"the workload trace of {topology.id!r} has lines without a record",
            field="sources",
            value=int(read[(read < 0) | (read >= len(records))][0]),
            remedy=f"name records from 0 to {len(records) - 1}",
        )
    from_source = np.zeros(len(records), bool)
    from_source[read] = True
    _check(
        topology,
        trace,
        "resets",
        from_source & (resets != 0),
        "resets a time-out",
        "a spout has no input tuple to reset: give 0",
    )
    count = records["emissions"]
    _check(
        topology,
        trace,
        "emissions",
        count < -1,
        "emits less than nothing",
        "give how many, or -1 where the call fails its input",
    )
    first, made = records["first_emission"].astype(np.int64), np.maximum(count, 0)
    _check(
        topology,
        trace,
        "first_emission",
        (made > 0) & ((first < 0) | (first + made > len(emissions))),
        "emits what the trace does not hold",
        f"point into its {len(emissions)} emissions",
    )
    _check_emissions(topology, trace)


def _check_emissions(topology: Topology, trace: WorkloadTrace) -> None:
    emissions = trace.emissions
    stream = emissions["stream"]
    wrong = np.flatnonzero((stream < 0) | (stream >= len(trace.streams)))
    if len(wrong):
        raise UserError(
            f"the workload trace of {topology.id!r} emits on a stream that it does not name",
            field="stream",
            value=int(stream[wrong[0]]),
            remedy=f"give an index into its {len(trace.streams)} streams",
        )
    size = emissions["bytes"]
    record = emissions["first_record"]
    # A stream that nobody has subscribed leads to no record, and says so with -1.
    heard = {(item.source, item.stream) for component in topology.components for item in component.inputs}
    first = np.array([0 if name in heard else -1 for name in trace.streams], np.int64)
    for field, bad, remedy in (
        ("bytes", (size < 0) | (size > LARGEST_TUPLE), f"give 0 to {LARGEST_TUPLE} bytes"),
        (
            "first_record",
            (record < first[stream]) | (record > len(trace.records)),
            f"point into the trace's {len(trace.records)} records",
        ),
    ):
        wrong = np.flatnonzero(bad)
        if len(wrong):
            component, name = trace.streams[stream[wrong[0]]]
            raise UserError(
                f"a tuple that {component!r} of {topology.id!r} emits on {name!r} cannot be played",
                field=field,
                value=int(emissions[field][wrong[0]]),
                remedy=remedy,
            )


def _check(
    topology: Topology, trace: WorkloadTrace, field: str, bad: NDArray[np.bool_], what: str, remedy: str
) -> None:
    """Refuse the first record that is marked as bad, if there is one."""
    wrong = np.flatnonzero(bad)
    if len(wrong):
        raise UserError(
            f"the workload trace of {topology.id!r} {what}: {_where(trace, int(wrong[0]))}",
            field=field,
            value=int(trace.records[field][wrong[0]]),
            remedy=remedy,
        )


def _where(trace: WorkloadTrace, record: int) -> str:
    """Whose call a record is."""
    for spout, lines in trace.sources.items():
        if record in lines:
            return f"a line of spout {spout!r}"
    for bolt, tick in trace.ticks.items():
        if record == tick:
            return f"the tick tuple of {bolt!r}"
    reached = np.flatnonzero(trace.emissions["first_record"] <= record)
    if len(reached) == 0:
        return f"record {record}"
    # Each emission's records stand together: those of one copy for each subscription.
    nearest = reached[np.argmax(trace.emissions["first_record"][reached])]
    index = int(trace.emissions["stream"][nearest])
    if not 0 <= index < len(trace.streams):
        return f"record {record}"
    component, stream = trace.streams[index]
    return f"a tuple of stream {stream!r} of {component!r}"
