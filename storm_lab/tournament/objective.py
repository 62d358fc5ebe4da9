"""What the topologies of a case say about it: the executors to place, and what their sources are about."""

from __future__ import annotations

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.model import acker_count, executors_of

LATENCY = "latency"
THROUGHPUT = "throughput"


def is_anchored(run: EmulationSpec) -> bool:
    """Return whether any of the run's tuples are tracked, so that they are acked or fail.

    Tuples of a topology without ackers are not, even if they have a message id: Storm acks them at once.
    """
    return any(
        source.anchored and acker_count(plan.topology, run.version) > 0
        for plan in run.topologies
        for source in plan.sources.values()
    )


def executor_count(run: EmulationSpec) -> int:
    """Return the number of executors of all topologies of the run, ackers included."""
    return sum(len(executors_of(plan.topology, run.version)) for plan in run.topologies)


def objective_of(run: EmulationSpec) -> str:
    """Return `LATENCY` or `THROUGHPUT`: what schedulers are compared by on this run.

    It is throughput if no tuple is tracked, or if any source emits the more the sooner its tuples are
    processed: one that is never empty, whose latency only shows the length of queues, or callers that wait
    for answers. A source with a rate or recorded arrivals emits the same under every scheduler, and so does a
    spout that is never empty but sleeps after each tuple.
    """
    sources = [source for plan in run.topologies for source in plan.sources.values()]
    return THROUGHPUT if not is_anchored(run) or any(map(_is_elastic, sources)) else LATENCY


def _is_elastic(source: SourcePlan) -> bool:
    """Whether what the source emits depends on how soon its tuples are processed."""
    if source.kind is SourceKind.SATURATED:
        return source.sleep_ns == 0
    return source.kind is SourceKind.CLOSED_LOOP
