"""What schedulers are compared by on a case, and the least inter-node traffic, where it can be computed.

For the least traffic, that between executors is taken from the log of one run of the case, so that all
placements are compared by the same traffic. The policy ``optimal`` proves the least traffic between nodes of
any placement under T-Storm's constraints. Larger cases, in which it proves nothing, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from storm_lab.emulator.source import SourceKind
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.model import MeasuredLoad, acker_count, executors_of
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.schedulers.baselines.optimal import OptimalParameters, OptimalScheduler
from storm_lab.schedulers.contract import SchedulingView

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
    is_elastic = any(
        source.kind is SourceKind.CLOSED_LOOP
        or (source.kind is SourceKind.SATURATED and source.sleep_ns == 0)
        for plan in run.topologies
        for source in plan.sources.values()
    )
    return THROUGHPUT if is_elastic or not is_anchored(run) else LATENCY


TRAFFIC_METRICS = ("executor_traffic", "stays")
"""The metric tables from which traffic and placements are read."""

Place = tuple[str, str, int]
"""Topology, component and first task of an executor."""


def least_traffic(view: SchedulingView, traffic: Mapping[tuple[Place, Place], float]) -> float | None:
    """Return the least traffic between nodes in tuples per second, or None if it is not proven."""
    executors = {(e.topology, e.component, e.start): e for own in view.executors.values() for e in own}
    pairs = {
        (executors[source], executors[target]): rate
        for (source, target), rate in traffic.items()
        if source in executors and target in executors
    }
    # About seconds: with half a minute per case, the solver would take most of the time of a short league.
    policy = OptimalScheduler(OptimalParameters(effort=3.0))
    result = policy.schedule(replace(view, seed=0, load=MeasuredLoad(traffic=pairs)))
    if result.notes.get("proven") != "yes":
        return None
    return float(result.notes["inter-node traffic"])


def traffic_of(tables: MetricTables, run: str) -> dict[tuple[Place, Place], float]:
    """Return the tuples per second from executor to executor in the steady state of a run."""
    rows = tables.executor_traffic[tables.executor_traffic["run"] == run]
    ends = (
        rows[["topology", f"{end}_component", f"{end}_task"]].itertuples(index=False, name=None)
        for end in ("source", "target")
    )
    return dict(zip(zip(*ends, strict=True), rows["tuples_per_s"], strict=True))


def nodes_of(tables: MetricTables, run: str) -> dict[Place, str]:
    """Return the node of each executor at the end of a run."""
    stays = tables.stays[tables.stays["run"] == run].sort_values("from_s")
    places = stays[["topology", "component", "start_task"]].itertuples(index=False, name=None)
    return dict(zip(places, stays["node"], strict=True))


def excess_percent(
    traffic: Mapping[tuple[Place, Place], float], nodes: Mapping[Place, str], least: float
) -> float:
    """Return the inter-node traffic of a placement above the least, in per cent of all tuples sent.

    It is negative for a placement that breaks T-Storm's constraints by packing executors closer than they
    allow.
    """
    total = sum(traffic.values())
    between = sum(rate for (a, b), rate in traffic.items() if nodes.get(a) != nodes.get(b))
    return 100 * (between - least) / total if total else float("nan")
