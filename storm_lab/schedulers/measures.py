"""Static figures of a placement: nodes used, executors per node, memory over capacity."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from storm_lab.model import Assignment
from storm_lab.schedulers.contract import SchedulingView


@dataclass(frozen=True, slots=True)
class PlacementMeasures:
    """Figures of a placement.

    ``nodes`` counts those in use. ``most_executors`` is the largest number on a node. ``nodes_over_memory``
    counts nodes whose executors ask for more than is offered.
    """

    nodes: int
    most_executors: int
    nodes_over_memory: int


def nodes_used(assignment: Assignment) -> int:
    """Return the number of nodes with at least one executor."""
    return len(assignment.nodes_used())


def measure(view: SchedulingView, assignment: Assignment) -> PlacementMeasures:
    """Return the figures of an assignment for the view's cluster and demands."""
    executors = Counter(slot.node for slot in assignment.slots.values())
    memory: defaultdict[str, float] = defaultdict(float)
    for executor, slot in assignment.slots.items():
        memory[slot.node] += view.demand(executor).total_memory_mb
    offer = {node.id: node.offer.total_memory_mb for node in view.cluster.nodes}
    over = sum(node in offer and used > offer[node] for node, used in memory.items())
    return PlacementMeasures(len(executors), max(executors.values(), default=0), over)
