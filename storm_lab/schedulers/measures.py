"""Static figures of a placement: nodes used, traffic between nodes, memory over capacity."""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Assignment, MeasuredLoad
from storm_lab.schedulers.contract import SchedulingView
from storm_lab.schedulers.graph.traffic import inter_node_traffic


@dataclass(frozen=True, slots=True)
class PlacementMeasures:
    """Figures of a placement.

    ``nodes`` and ``workers`` count those in use. ``inter_node_traffic`` is in tuples/s. ``most_executors`` is
    the largest number on a node. ``nodes_over_memory`` counts nodes whose executors ask for more than is
    offered.
    """

    nodes: int
    workers: int
    inter_node_traffic: float
    most_executors: int
    nodes_over_memory: int


def nodes_used(assignment: Assignment) -> int:
    """Return the number of nodes with at least one executor."""
    return len(assignment.nodes_used())


def measure(view: SchedulingView, assignment: Assignment) -> PlacementMeasures:
    """Return the figures of an assignment for the view's cluster, demands and, if measured, traffic."""
    load = view.load or MeasuredLoad()
    per_node: dict[str, int] = {}
    memory: dict[str, float] = {}
    for executor, slot in assignment.slots.items():
        per_node[slot.node] = per_node.get(slot.node, 0) + 1
        memory[slot.node] = memory.get(slot.node, 0.0) + view.demand(executor).total_memory_mb
    nodes = view.nodes
    return PlacementMeasures(
        nodes=len(per_node),
        workers=len(set(assignment.slots.values())),
        inter_node_traffic=inter_node_traffic(assignment.slots, load.traffic),
        most_executors=max(per_node.values(), default=0),
        nodes_over_memory=sum(
            node in nodes and used > nodes[node].offer.total_memory_mb for node, used in memory.items()
        ),
    )
