"""Sources: where a spout's lines come from, and what happens to a line that fails.

The kinds are those of the papers: a queue filled at a rate (T-Storm's Redis), a generator that is never empty
(R-Storm's spouts), recorded arrivals, and callers that wait for their answers (N-Storm's DRPC clients).

Topologies, traces and sources that do not fit together are refused before anything is laid out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from storm_lab.errors import UserError
from storm_lab.model import Topology
from storm_lab.model.checks import check_kinds, check_number, check_whole
from storm_lab.model.settings import MESSAGE_TIMEOUTS, flag_of
from storm_lab.model.topology import check_executors
from storm_lab.workloads.workload_trace import WorkloadTrace

LONGEST_NS = 10**18
"""Upper limit of a source's times, 31 years, so that sums of them stay within 64 bits."""
MOST_CALLERS = 10_000_000
MOST_FETCHED = 1_000_000
LONGEST_CALL_NS = 3600 * 10**9
"""Longest CPU or service time of one call; a longer one is taken for a mistake in the unit."""
LARGEST_TUPLE = 1 << 30
"""Most bytes of one tuple; with more, the arithmetic of connections would overflow."""


class SourceKind(Enum):
    """What decides when the next line is available."""

    RATE = 0
    SATURATED = 1
    TRACE = 2
    CLOSED_LOOP = 3


class FailurePolicy(Enum):
    """What the source does with a line whose root tuple failed."""

    FORGET = "forget"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The source of one spout component; its tasks share it as one queue, unless it is a log.

    Args:
        kind: what decides when the next line is available.
        rate_per_s: RATE: lines per second, rounded to a thousandth; 0: none.
        arrivals_ns: TRACE: ascending arrival times from 0, repeated with period ``arrival_period_ns``.
        arrival_period_ns: TRACE: longer than the last arrival time.
        calls: CLOSED_LOOP: concurrent callers.
        answer_ns: CLOSED_LOOP: time from a root's completion to the same caller's next call.
        patience_ns: CLOSED_LOOP: time from a call's emission until its caller gives up and calls again, if
            its spout has died, which Storm's DRPC server does not notice (`backtype.storm.daemon.drpc` of
            0.9.7). 0: the caller notices it and calls at once.
        sleep_ns: sleep inside nextTuple before the emit.
        fetch_ns: wait for the queue's server, in each nextTuple that finds no line of the last fetch left.
        fetch_lines: lines that a fetch brings, when its turn comes, however long ago they arrived.
        fetch_thread: the client fetches in a thread of its own, when nextTuple has taken the last line of the
            previous fetch. Until it is done, nextTuple does not wait and finds no line.
        on_fail: what the source does with a line whose root tuple failed.
        anchored: tuples are emitted with a message id.
        checkpoint_ns: the source is a log with a partition for each executor of the spout, which stores the
            offset up to which everything is acked at this interval. A spout that dies resumes from there. 0:
            no log.
        first_result: CLOSED_LOOP: a call is answered, and its root complete, when the first tuple of its tree
            without children is acked, not when all are, as by Storm's DRPC server
            (`backtype.storm.daemon.drpc` of 0.9.7) if no bolt gathers the results.
    """

    kind: SourceKind
    rate_per_s: float = 0.0
    arrivals_ns: NDArray[np.int64] | None = None
    arrival_period_ns: int = 0
    calls: int = 0
    answer_ns: int = 0
    patience_ns: int = 0
    sleep_ns: int = 0
    fetch_ns: int = 0
    fetch_lines: int = 1
    fetch_thread: bool = False
    on_fail: FailurePolicy = FailurePolicy.FORGET
    anchored: bool = True
    checkpoint_ns: int = 0
    first_result: bool = False


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """A topology with its workload trace and the source of each spout.

    ``submit_s`` is when a user submits it; its sources deliver from then on.
    """

    topology: Topology
    trace: WorkloadTrace
    sources: Mapping[str, SourcePlan]
    submit_s: float = 0.0


def check_source(spout: str, plan: SourcePlan) -> None:
    """Refuse a source that cannot be played; the `UserError` names the spout, the field and the value."""

    def refuse(field: str, value: object, remedy: str) -> None:
        _refuse(field, value, f"source of spout {spout!r}: {field} cannot be {value!r}", remedy)

    owner = f"the source of spout {spout!r}"
    check_kinds(owner, plan)
    check_number(owner, "rate_per_s", plan.rate_per_s, high=1e8, unit="lines per second")
    if 0 < plan.rate_per_s < 0.001:
        refuse("rate_per_s", plan.rate_per_s, "give 0, or at least 0.001 lines per second")
    for field in ("sleep_ns", "fetch_ns", "answer_ns", "patience_ns", "checkpoint_ns", "arrival_period_ns"):
        check_whole(owner, field, getattr(plan, field), low=0, high=LONGEST_NS)
    check_whole(owner, "fetch_lines", plan.fetch_lines, low=1, high=MOST_FETCHED)
    if plan.fetch_thread and plan.fetch_ns == 0:
        refuse("fetch_thread", True, "a fetch that takes no time needs no thread: give fetch_ns")
    if plan.kind is SourceKind.CLOSED_LOOP and not plan.anchored:
        refuse("anchored", False, "a closed loop waits for acks: emit with message ids")
    for field, use in (("first_result", "wait for a result"), ("patience_ns", "give up")):
        if getattr(plan, field) and plan.kind is not SourceKind.CLOSED_LOOP:
            refuse(field, getattr(plan, field), f"only callers {use}: use it with CLOSED_LOOP")
    if plan.kind is SourceKind.CLOSED_LOOP:
        check_whole(owner, "calls", plan.calls, low=1, high=MOST_CALLERS)
    if plan.kind is SourceKind.TRACE:
        times = plan.arrivals_ns
        if not isinstance(times, np.ndarray) or times.dtype.kind not in "iu" or len(times) == 0:
            refuse("arrivals_ns", type(times).__name__, "give an array of at least one whole number of ns")
        elif times[0] < 0 or np.any(np.diff(times) < 0):
            remedy = "sort the arrival times and start them at 0 or later"
            refuse("arrivals_ns", "not ascending from 0", remedy)
        elif (period := plan.arrival_period_ns) <= int(times[-1]):
            refuse("arrival_period_ns", period, "give a period longer than the last arrival time")
    if (checkpoint := plan.checkpoint_ns) > 0:
        if plan.kind is SourceKind.CLOSED_LOOP:
            refuse("checkpoint_ns", checkpoint, "callers that wait for answers keep no log: give 0")
        if plan.on_fail is not FailurePolicy.REPLAY or not plan.anchored:
            refuse("checkpoint_ns", checkpoint, "a log replays and needs acks: set on_fail and anchored")


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
