"""Sources: where a spout's lines come from, and what happens to a line that fails.

The kinds are those of the papers: a queue filled at a rate (T-Storm's Redis), a generator that is never empty
(R-Storm's spouts), recorded arrivals, and callers that wait for their answers (N-Storm's DRPC clients).
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
from storm_lab.workloads.workload_trace import WorkloadTrace

LONGEST_NS = 10**18
"""Upper limit of a source's times, 31 years, so that sums of them stay within 64 bits."""
MOST_CALLERS = 10_000_000
MOST_FETCHED = 1_000_000


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
        rate_per_s: RATE: lines per second.
        arrivals_ns: TRACE: ascending arrival times from 0, repeated with period ``arrival_period_ns``.
        arrival_period_ns: TRACE: longer than the last arrival time.
        calls: CLOSED_LOOP: concurrent callers.
        answer_ns: CLOSED_LOOP: time from a root's completion to the same caller's next call.
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
        message = f"source of spout {spout!r}: {field} cannot be {value!r}"
        raise UserError(message, field=field, value=value, remedy=remedy)

    owner = f"the source of spout {spout!r}"
    check_kinds(owner, plan)
    check_number(owner, "rate_per_s", plan.rate_per_s, high=1e8, unit="lines per second")
    for field in ("sleep_ns", "fetch_ns", "answer_ns", "checkpoint_ns", "arrival_period_ns"):
        check_whole(owner, field, getattr(plan, field), low=0, high=LONGEST_NS)
    check_whole(owner, "fetch_lines", plan.fetch_lines, low=1, high=MOST_FETCHED)
    if plan.fetch_thread and plan.fetch_ns == 0:
        refuse("fetch_thread", True, "a fetch that takes no time needs no thread: give fetch_ns")
    if plan.kind is SourceKind.CLOSED_LOOP and not plan.anchored:
        refuse("anchored", False, "a closed loop waits for acks: emit with message ids")
    if plan.first_result and plan.kind is not SourceKind.CLOSED_LOOP:
        refuse("first_result", True, "only callers wait for a result: use it with CLOSED_LOOP")
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
