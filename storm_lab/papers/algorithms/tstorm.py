"""T-Storm: nodes in use for each gamma, for the three topologies of section V."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.readings import calculated
from storm_lab.model import Assignment, Cluster, Executor, MeasuredLoad, Topology
from storm_lab.papers.tstorm import log_stream, throughput_test, word_count
from storm_lab.papers.tstorm.testbed import VERSION, blades
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.measures import nodes_used
from storm_lab.schedulers.papers.tstorm import TStormInitialScheduler, TStormParameters, TStormScheduler
from storm_lab.schedulers.storm.default import DefaultScheduler

SWEPT = (1.0, 1.7, 2.2, 6.0)
"""Gammas for the claim on gamma 1: 1, and those of figures 5 and 6."""

_EXECUTOR_MHZ = 10.0
_PAIR_RATE = 10.0


@cache
def topologies() -> tuple[Topology, Topology, Topology]:
    """Throughput Test, Word Count and Log Stream Processing."""
    return (
        throughput_test.topology(throughput_test.EXPERIMENT.checked()),
        word_count.topology(word_count.EXPERIMENT.checked()),
        log_stream.topology(log_stream.EXPERIMENT.checked()),
    )


def even_load(topology: Topology, cluster: Cluster) -> MeasuredLoad:
    """Equal CPU use and tuple rates for all executors, so that node counts follow from the caps alone."""
    executors = SchedulingView((topology,), cluster, VERSION).executors[topology.id]
    traffic: dict[tuple[Executor, Executor], float] = {
        (source, target): _PAIR_RATE
        for component in topology.components
        for subscription in component.inputs
        for source in executors
        if source.component == subscription.source
        for target in executors
        if target.component == component.id
    }
    return MeasuredLoad(cpu_mhz=dict.fromkeys(executors, _EXECUTOR_MHZ), traffic=traffic)


def placed_by_default(topology: Topology) -> Assignment:
    """Where Storm's default scheduler puts the topology on ten idle blades."""
    return DefaultScheduler().schedule(SchedulingView((topology,), blades(), VERSION)).assignment


def placed_by_tstorm(topology: Topology, gamma: float) -> Assignment:
    """Where T-Storm places the topology after its initial assignment and one round of its generator.

    The former stays if Algorithm 1 finds no schedule, as with gamma 1 and a cap that is rounded down.
    """
    cluster = blades()
    first = TStormInitialScheduler().schedule(SchedulingView((topology,), cluster, VERSION)).assignment
    view = SchedulingView((topology,), cluster, VERSION, first, even_load(topology, cluster))
    return TStormScheduler(TStormParameters(gamma=gamma)).schedule(view).assignment


def nodes_by_gamma(gammas: Sequence[float]) -> Mapping[str, list[int]]:
    """Nodes in use by each of the three topologies, in the order of ``gammas``."""
    return {
        topology.id: [nodes_used(placed_by_tstorm(topology, gamma)) for gamma in gammas]
        for topology in topologies()
    }


def spread(assignment: Assignment, cluster: Cluster) -> int:
    """Largest minus smallest number of executors on a node of the cluster, empty nodes included."""
    used = [slot.node for slot in assignment.slots.values()]
    counts = [used.count(node.id) for node in cluster.nodes]
    return max(counts) - min(counts)


def measure() -> tuple[Measurement, ...]:
    """Measure the claims on node counts that need no clock; those of Word Count are measured in its runs."""
    cap = "nodes that Algorithm 1 uses on ten blades under even load and traffic"
    throughput, _, logs = topologies()
    single_counts = (
        ("tstorm-fig5b-nodes", throughput, 1.7),
        ("tstorm-fig5c-nodes", throughput, 6.0),
        ("tstorm-fig8b-nodes", logs, 1.7),
        ("tstorm-fig8c-nodes", logs, 2.0),
    )
    order = {"spread/gamma-1": max(spread(placed_by_tstorm(t, 1.0), blades()) for t in topologies())}
    for gamma, *counts in zip(SWEPT, *nodes_by_gamma(SWEPT).values(), strict=True):
        order[f"nodes/gamma-{gamma:g}"] = sum(counts)
    by_default = {topology.id: nodes_used(placed_by_default(topology)) for topology in topologies()}
    on_blades = "nodes that the default scheduler uses on ten blades"
    widest = "spread: largest of the three topologies of section V; nodes: sum over them"
    return (
        calculated("tstorm-storm-all-nodes", by_default, how=on_blades),
        *(
            calculated(claim, nodes_used(placed_by_tstorm(t, gamma)), how=f"{cap}, gamma {gamma:g}")
            for claim, t, gamma in single_counts
        ),
        calculated("tstorm-gamma1-even", order, how=widest),
    )
