"""Refusing views that no schedule can be made of, and answers that no cluster could run."""

from __future__ import annotations

from storm_lab.errors import UserError
from storm_lab.model import (
    ACKER,
    Assignment,
    Executor,
    InvalidAssignmentError,
    Resources,
    Slot,
    Topology,
    check_assignment,
)
from storm_lab.schedulers.contract import SchedulingResult, SchedulingView


def check_view(view: SchedulingView) -> None:
    """Refuse impossible input with an error that names it.

    Raises:
        UserError: no nodes or no slots at all, a topology without components or executors, workers below one,
            a source that does not exist, negative resources, a duplicate id, or a slot with two topologies.
    """
    _unique("node", [node.id for node in view.cluster.nodes])
    _unique("topology", [topology.id for topology in view.topologies])
    if not any(node.ports for node in view.cluster.nodes):
        raise UserError(
            "the cluster has no slots at all", field="cluster", remedy="give at least one node a port"
        )
    for node in view.cluster.nodes:
        _not_negative(node.offer, f"node {node.id!r}")
    for topology in view.topologies:
        _check_topology(topology)
    components = {t.id: {ACKER, *(c.id for c in t.components)} for t in view.topologies}
    tenants: dict[Slot, Executor] = {}
    for executor, slot in view.present.slots.items():
        first = tenants.setdefault(slot, executor)
        if first.topology != executor.topology:
            raise UserError(
                f"the present assignment gives a slot to topology {first.topology!r} and to "
                f"{executor.topology!r}; a worker serves one topology",
                field="slot",
                value=str(slot),
            )
        if executor.topology not in components:
            raise UserError(
                f"the present assignment holds executor {executor} of a topology that is not there",
                field="topology",
                value=executor.topology,
            )
        if executor.component not in components[executor.topology]:
            raise UserError(
                f"executor {executor} of topology {executor.topology!r} has a component that is not there",
                field="component",
                value=executor.component,
            )


def _check_topology(topology: Topology) -> None:
    if not topology.components:
        raise UserError("the topology has no components", field="topology", value=topology.id)
    ids = [component.id for component in topology.components]
    _unique(f"component of topology {topology.id!r}", ids)
    if not any(component.executors > 0 for component in topology.components):
        raise UserError("no component of the topology has an executor", field="topology", value=topology.id)
    if topology.workers < 1:
        raise UserError(
            f"topology {topology.id!r} needs at least one worker", field="workers", value=topology.workers
        )
    if topology.ackers is not None and topology.ackers < 0:
        raise UserError(
            f"topology {topology.id!r} cannot have fewer than no ackers",
            field="ackers",
            value=topology.ackers,
        )
    for component in topology.components:
        owner = f"component {component.id!r} of topology {topology.id!r}"
        if component.executors < 0 or component.task_count < 0:
            raise UserError(
                f"{owner} cannot have fewer than no executors or tasks",
                field="executors",
                value=component.executors,
            )
        if component.resources is not None:
            _not_negative(component.resources, owner)
        for subscription in component.inputs:
            if subscription.source not in ids:
                raise UserError(
                    f"{owner} reads from a component that the topology does not have",
                    field="from",
                    value=subscription.source,
                )


def _unique(what: str, ids: list[str]) -> None:
    seen: set[str] = set()
    for identity in ids:
        if identity in seen:
            raise UserError(f"this id of a {what} is there twice", field="id", value=identity)
        seen.add(identity)


def _not_negative(resources: Resources, owner: str) -> None:
    for name in ("cpu_points", "memory_mb", "offheap_mb"):
        value = getattr(resources, name)
        if not value >= 0:
            raise UserError(f"{owner} must not have a negative amount", field=name, value=value)


def check_result(view: SchedulingView, result: SchedulingResult) -> None:
    """Refuse an answer that no cluster could run.

    Checks that every topology has a status, that a scheduled topology is complete, that executors exist, that
    slots serve one topology each, and that they exist; an executor may stay on a slot that is hidden now.

    Raises:
        InvalidAssignmentError: naming the executor and the slot.
    """
    slots = result.assignment.slots
    for topology in view.topologies:
        if topology.id not in result.status:
            raise InvalidAssignmentError(f"topology {topology.id!r} got no status")
        if result.status[topology.id].scheduled:
            for executor in view.executors[topology.id]:
                if executor not in slots:
                    raise InvalidAssignmentError(
                        f"executor {executor} of {topology.id!r} has no slot, yet that counts as scheduled"
                    )
    tenants: dict[Slot, Executor] = {}
    for executor, slot in slots.items():
        first = tenants.setdefault(slot, executor)
        if first.topology != executor.topology:
            raise InvalidAssignmentError(
                f"slot {slot} holds {first} of {first.topology!r} and {executor} of {executor.topology!r}: "
                "a worker serves one topology"
            )
    known = {executor for executors in view.executors.values() for executor in executors}
    stays = view.present.slots
    moved = Assignment({e: s for e, s in slots.items() if stays.get(e) != s or e not in known})
    check_assignment(moved, view.cluster, known & set(moved.slots))


def check_memory(view: SchedulingView, result: SchedulingResult) -> None:
    """Refuse an answer in which some node's executors ask for more memory than the node offers.

    For policies that treat memory as a hard limit.

    Raises:
        InvalidAssignmentError: naming the executor that went over the limit and its slot.
    """
    used: dict[str, float] = {}
    for executor, slot in sorted(result.assignment.slots.items()):
        used[slot.node] = used.get(slot.node, 0.0) + view.demand(executor).total_memory_mb
        offer = view.nodes[slot.node].offer.total_memory_mb
        if used[slot.node] > offer + 1e-6:
            raise InvalidAssignmentError(
                f"executor {executor} in slot {slot} brings node {slot.node} to {used[slot.node]:g} MB "
                f"of {offer:g} MB"
            )
