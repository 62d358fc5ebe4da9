"""Refuses topologies, traces and sources that do not fit together, before anything is laid out."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.source import TopologyPlan, check_source
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import UserError
from storm_lab.model import Topology
from storm_lab.model.checks import check_kinds
from storm_lab.model.settings import MESSAGE_TIMEOUTS, flag_of
from storm_lab.model.topology import check_executors
from storm_lab.workloads.workload_trace import WorkloadTrace

LONGEST_CALL_NS = 3600 * NS_PER_S
"""Longest CPU or service time of one call; a longer one is taken for a mistake in the unit."""

LARGEST_TUPLE = 1 << 30
"""Most bytes of one tuple; with more, the arithmetic of connections would overflow."""


def check_plan(plan: TopologyPlan) -> None:
    """Refuse a plan whose trace or sources do not fit its topology; the `UserError` names what is wrong."""
    check_kinds("a plan", plan)
    topology, trace = plan.topology, plan.trace
    check_executors(topology)
    name = f"topology {topology.id!r}"
    known = {c.id for c in topology.components}
    for component, stream in trace.streams:
        if component not in known:
            what = f"the trace emits on {stream!r} of {component!r}, unknown to {name}"
            _refuse("trace", component, what, "build the trace with this topology")
    spouts = {c.id for c in topology.spouts}
    for spout in sorted(spouts - set(plan.sources)):
        _refuse("sources", None, f"spout {spout!r} of {name} has no source", "give it a SourcePlan")
    for spout, source in plan.sources.items():
        if spout not in spouts:
            _refuse("sources", spout, f"{name} has no spout {spout!r}", "name one of its spouts")
        check_source(spout, source)
        if spout not in trace.sources or len(trace.sources[spout]) == 0:
            what = f"the workload trace has no lines for spout {spout!r}"
            _refuse("trace", None, what, "build the trace with input for every spout")
    if not spouts:
        _refuse("components", None, f"{name} has no spout", "add a component without inputs")
    logs = [spout for spout, source in sorted(plan.sources.items()) if source.checkpoint_ns > 0]
    if logs and topology.ackers == 0:
        what = f"spout {logs[0]!r} of {name} reads a log, but the topology has no ackers"
        _refuse("ackers", 0, what, "give the topology ackers, or set checkpoint_ns to 0")
    if not flag_of(topology.settings, MESSAGE_TIMEOUTS, True):
        what = f"time-outs of {name} are switched off, which the emulator does not support"
        remedy = "leave them on, and give a message time-out longer than the run"
        _refuse(MESSAGE_TIMEOUTS, False, what, remedy)
    _check_records(topology, trace)
    _check_emissions(topology, trace)


def _refuse(field: str, value: object, message: str, remedy: str) -> None:
    raise UserError(message, field=field, value=value, remedy=remedy)


def _check_records(topology: Topology, trace: WorkloadTrace) -> None:
    """Refuse the first record with a value outside its range."""
    records = trace.records
    read = np.unique(np.concatenate([*trace.sources.values(), np.zeros(0, np.int64)]))
    outside = read[(read < 0) | (read >= len(records))]
    if len(outside):
        what = f"the workload trace of {topology.id!r} has lines without a record"
        _refuse("sources", int(outside[0]), what, f"name records from 0 to {len(records) - 1}")
    of_spout = np.zeros(len(records), bool)
    of_spout[read] = True
    server, resets, count = records["server"], records["resets"], records["emissions"]
    first = records["first_emission"].astype(np.int64)
    missing = (count > 0) & ((first < 0) | (first + count > len(trace.emissions)))
    absent = (server < -1) | (server >= len(trace.servers))
    hour = f"give at most {LONGEST_CALL_NS} ns, which is an hour"
    servers = f"name one of the trace's {len(trace.servers)} servers by its index, or -1"
    begins = "give 1 for a call that begins with resetTimeout, else 0"
    of_spouts = "a spout has no input tuple to reset: give 0"
    failing = "give 0 or more, or -1 if the call fails its input"
    held = f"give an index into its {len(trace.emissions)} emissions"
    for field, bad, what, remedy in (
        ("cpu_ns", records["cpu_ns"] < 0, "has a negative cost", "costs are 0 or more"),
        ("cpu_ns", records["cpu_ns"] > LONGEST_CALL_NS, "has an implausible cost", hour),
        ("server_ns", records["server_ns"] < 0, "has a negative cost", "costs are 0 or more"),
        ("server_ns", records["server_ns"] > LONGEST_CALL_NS, "has an implausible cost", hour),
        ("server", absent, "names a server that does not exist", servers),
        ("resets", (resets != 0) & (resets != 1), "has an invalid resetTimeout flag", begins),
        ("resets", of_spout & (resets != 0), "resets a time-out", of_spouts),
        ("emissions", count < -1, "has a negative number of emissions", failing),
        ("first_emission", missing, "has emissions that the trace does not contain", held),
    ):
        if np.any(bad):
            row = int(np.argmax(bad))
            message = f"the workload trace of {topology.id!r} {what}: {_describe_call(trace, row)}"
            _refuse(field, int(records[field][row]), message, remedy)


def _check_emissions(topology: Topology, trace: WorkloadTrace) -> None:
    """Refuse the first emission with a value outside its range."""
    stream, size, record = (trace.emissions[name] for name in ("stream", "bytes", "first_record"))
    unnamed = stream[(stream < 0) | (stream >= len(trace.streams))]
    if len(unnamed):
        what = f"the workload trace of {topology.id!r} emits on a stream that it does not name"
        _refuse("stream", int(unnamed[0]), what, f"give an index into its {len(trace.streams)} streams")
    # A stream without subscribers leads to no record, which is marked by -1.
    subscribed = {(item.source, item.stream) for target in topology.components for item in target.inputs}
    first = np.array([0 if name in subscribed else -1 for name in trace.streams], np.int64)
    outside = (record < first[stream]) | (record > len(trace.records))
    for field, bad, remedy in (
        ("bytes", (size < 0) | (size > LARGEST_TUPLE), f"give 0 to {LARGEST_TUPLE} bytes"),
        ("first_record", outside, f"give an index into the trace's {len(trace.records)} records"),
    ):
        if np.any(bad):
            row = int(np.argmax(bad))
            component, name = trace.streams[stream[row]]
            what = f"a tuple that {component!r} of {topology.id!r} emits on {name!r} cannot be played"
            _refuse(field, int(trace.emissions[field][row]), what, remedy)


def _describe_call(trace: WorkloadTrace, record: int) -> str:
    """Describe the call to which a record belongs."""
    for spout, lines in trace.sources.items():
        if record in lines:
            return f"a line of spout {spout!r}"
    for bolt, tick in trace.ticks.items():
        if record == tick:
            return f"the tick tuple of {bolt!r}"
    reached = np.flatnonzero(trace.emissions["first_record"] <= record)
    if len(reached):
        # An emission's records are contiguous: one for the copy of each subscription.
        nearest = reached[np.argmax(trace.emissions["first_record"][reached])]
        index = int(trace.emissions["stream"][nearest])
        if 0 <= index < len(trace.streams):
            component, stream = trace.streams[index]
            return f"a tuple of stream {stream!r} of {component!r}"
    return f"record {record}"
