"""Whether a new schedule is worth a re-assignment.

T-Storm does not say; the rule here is ours and documented.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Assignment, MeasuredLoad
from storm_lab.schedulers.contract import SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.traffic import inter_node_traffic


@dataclass(frozen=True, slots=True)
class Verdict:
    """Adopted or not, and why."""

    adopted: bool
    reason: str


def busiest_node_mhz(assignment: Assignment, load: MeasuredLoad) -> float:
    """CPU of the busiest node, as the sum of the averages of the executors placed there."""
    nodes: dict[str, float] = {}
    for executor, slot in assignment.slots.items():
        nodes[slot.node] = nodes.get(slot.node, 0.0) + load.cpu_mhz.get(executor, 0.0)
    return max(nodes.values(), default=0.0)


def judge(
    view: SchedulingView, result: SchedulingResult, *, overloaded: bool, least_gain: float = 0.0
) -> Verdict:
    """Adopt a complete schedule that differs, if it saves traffic or nodes, or relieves an overload.

    Args:
        view: what the policy was given; its load must not be None.
        result: the policy's answer.
        overloaded: the cluster is overloaded, so a schedule that takes load off the busiest node is adopted
            too.
        least_gain: part of the inter-node traffic, or of the busiest node's load, that must be saved for the
            saving to count; it keeps the noise of measured load from moving workers.
    """
    for topology_id, status in result.status.items():
        if not status.scheduled:
            return Verdict(False, f"no complete schedule: {status.message}")
        if len(result.assignment.of_topology(topology_id).slots) < len(view.executors[topology_id]):
            return Verdict(False, f"no complete schedule: executors of {topology_id} are left over")
    if dict(result.assignment.slots) == dict(view.present.slots):
        return Verdict(False, "the schedule is the present one")
    load, kept = view.load or MeasuredLoad(), 1 - least_gain
    before = inter_node_traffic(view.present.slots, load.traffic)
    after = inter_node_traffic(result.assignment.slots, load.traffic)
    nodes_before, nodes_after = len(view.present.nodes_used()), len(result.assignment.nodes_used())
    change = f"{before:.1f} to {after:.1f} tuples/s between nodes, {nodes_before} to {nodes_after} nodes"
    if after < before * kept:
        return Verdict(True, f"less inter-node traffic: {change}")
    if nodes_after < nodes_before:
        return Verdict(True, f"fewer nodes: {change}")
    if overloaded:
        hot, cool = busiest_node_mhz(view.present, load), busiest_node_mhz(result.assignment, load)
        if cool < hot * kept:
            return Verdict(True, f"overload: busiest node {hot:.0f} to {cool:.0f} MHz, {change}")
    return Verdict(False, f"no gain: {change}")
