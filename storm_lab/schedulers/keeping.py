"""Answers that policies share: keep what is there, or say that a topology could not be placed."""

from __future__ import annotations

from collections.abc import Mapping

from storm_lab.model import Assignment, Executor, Slot
from storm_lab.schedulers.contract import Journal, SchedulingResult, SchedulingView, TopologyStatus


def kept(view: SchedulingView) -> dict[Executor, Slot]:
    """The present assignment as far as its nodes are alive and its topologies known."""
    nodes, topologies = view.nodes, view.topology
    return {
        executor: slot
        for executor, slot in view.present.slots.items()
        if slot.node in nodes and slot.port in nodes[slot.node].ports and executor.topology in topologies
    }


def in_view_order(view: SchedulingView, slots: Mapping[Executor, Slot]) -> Assignment:
    """The slots as an assignment: topologies in the view's order, executors by first task."""
    return Assignment.of(
        (executor, slots[executor])
        for topology in view.topologies
        for executor in view.executors[topology.id]
        if executor in slots
    )


def nothing_changes(view: SchedulingView, message: str, journal: Journal) -> SchedulingResult:
    """No new schedule: the present assignment stays, and every topology's status says why."""
    status = {topology.id: TopologyStatus(False, message) for topology in view.topologies}
    return SchedulingResult(in_view_order(view, kept(view)), status, journal.decisions)


def incomplete_topologies(view: SchedulingView) -> list[str]:
    """Ids of topologies with an executor that has no slot on a live node, in the view's order."""
    alive = kept(view)
    return [
        topology.id
        for topology in view.topologies
        if any(executor not in alive for executor in view.executors[topology.id])
    ]
