"""Properties of every policy on generated clusters."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storm_lab.model import Assignment, Cluster, Slot
from storm_lab.model.version import V1_0_0, V2_0_0
from storm_lab.schedulers import (
    Scheduler,
    SchedulingResult,
    SchedulingView,
    check_result,
    make_scheduler,
    scheduler_class,
)
from tests.schedulers.clusters import OWN, views

RENAME_INVARIANT = [name for name in OWN if scheduler_class(name).rename_invariant]
QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def policy(name: str) -> Scheduler[Any]:
    # The exact solver is slow on purpose; its small form is enough for properties.
    return make_scheduler(name, ["exact_executors=8", "restarts=2"] if name == "optimal" else [])


def suited(name: str, view: SchedulingView) -> SchedulingView:
    """A view that the policy supports: the resource-aware scheduler came with Storm 1.0."""
    if name == "ras" and view.version < V1_0_0:
        return dataclasses.replace(view, version=V2_0_0, present=Assignment(), load=None)
    return view


def answer(name: str, view: SchedulingView) -> SchedulingResult:
    return policy(name).schedule(suited(name, view))


@pytest.mark.parametrize("name", OWN)
@given(view=views())
@QUICK
def test_every_executor_is_placed_or_the_status_says_why_and_no_slot_serves_two_topologies(
    name: str, view: SchedulingView
) -> None:
    view = suited(name, view)
    result = policy(name).schedule(view)
    check_result(view, result)
    assert all(status.message for status in result.status.values())


@pytest.mark.parametrize("name", ["ras", "rstorm"])
@given(view=views())
@QUICK
def test_a_hard_resource_of_a_node_is_never_exceeded(name: str, view: SchedulingView) -> None:
    view = suited(name, view)
    slots = policy(name).schedule(view).assignment.slots
    for node in view.cluster.nodes:
        demands = [view.demand(executor) for executor, slot in slots.items() if slot.node == node.id]
        assert sum(demand.total_memory_mb for demand in demands) <= node.offer.total_memory_mb + 1e-6
        if name == "ras":
            assert sum(demand.cpu_points for demand in demands) <= node.offer.cpu_points


@pytest.mark.parametrize("name", ["tstorm", "optimal"])
@given(view=views(loaded=True))
@QUICK
def test_measured_cpu_stays_within_the_share_of_the_node(name: str, view: SchedulingView) -> None:
    result = answer(name, view)
    if not all(status.scheduled for status in result.status.values()):
        return
    assert view.load is not None
    for node in view.cluster.nodes:
        used = sum(view.load.cpu_mhz[e] for e, s in result.assignment.slots.items() if s.node == node.id)
        assert used <= 0.9 * node.capacity_mhz * (1 + 1e-6)


@pytest.mark.parametrize("name", OWN)
@given(view=views())
@QUICK
def test_asking_again_or_with_explain_does_not_change_the_answer(name: str, view: SchedulingView) -> None:
    plain, again = answer(name, view), answer(name, view)
    explained = answer(name, dataclasses.replace(view, explain=True))
    assert plain.assignment == again.assignment == explained.assignment
    assert plain.status == again.status
    assert not plain.decisions
    for decision in explained.decisions:
        chosen = [c for c in decision.candidates if c.slot == decision.choice]
        assert decision.choice is None or not decision.candidates or chosen
        assert all(c.ruled_out_by is None for c in chosen)


@pytest.mark.parametrize("name", RENAME_INVARIANT)
@given(view=views(), draw=st.randoms(use_true_random=False))
@QUICK
def test_the_order_of_the_present_assignment_does_not_change_the_answer(
    name: str, view: SchedulingView, draw: Random
) -> None:
    shuffled = list(view.present.slots.items())
    draw.shuffle(shuffled)
    assert answer(name, dataclasses.replace(view, present=Assignment.of(shuffled))) == answer(name, view)


@given(view=views())
@QUICK
def test_the_resource_aware_scheduler_takes_the_node_of_lowest_rank(view: SchedulingView) -> None:
    view = dataclasses.replace(view, version=V2_0_0, present=Assignment(), load=None, explain=True)
    for decision in answer("ras", view).decisions:
        ranks = {c.slot: c.score for c in decision.candidates if c.score is not None}
        if decision.choice in ranks:
            assert ranks[decision.choice] == min(ranks.values())


@pytest.mark.parametrize("name", RENAME_INVARIANT)
@given(view=views())
@QUICK
def test_renaming_nodes_changes_nothing_but_names(name: str, view: SchedulingView) -> None:
    assert_only_names_change(name, view)


@given(view=views(loaded=True))
@QUICK
def test_renaming_nodes_changes_nothing_but_names_once_tstorm_has_measured(view: SchedulingView) -> None:
    assert_only_names_change("tstorm", view)


def assert_only_names_change(name: str, view: SchedulingView) -> None:
    new = {node.id: f"{'zyxwvut'[i]}-{i * 7919}" for i, node in enumerate(view.cluster.nodes)}
    nodes = tuple(dataclasses.replace(n, id=new[n.id], host=f"x{new[n.id]}") for n in view.cluster.nodes)
    present = {e: Slot(new[s.node], s.port) for e, s in view.present.slots.items()}
    renamed = dataclasses.replace(view, cluster=Cluster(nodes), present=Assignment.of(present.items()))
    expected = {e: Slot(new[s.node], s.port) for e, s in answer(name, view).assignment.slots.items()}
    assert dict(answer(name, renamed).assignment.slots) == expected


@given(view=views())
@QUICK
def test_a_scheduled_isolated_topology_shares_no_machine(view: SchedulingView) -> None:
    """Unless its status says otherwise: 2.x schedules those with too few executors once more, by default."""
    result = answer("isolation", view)
    host = {node.id: node.host for node in view.cluster.nodes}
    tenants: dict[str | None, set[str]] = {}
    for executor, slot in result.assignment.slots.items():
        tenants.setdefault(host[slot.node], set()).add(executor.topology)
    for topology_id, status in result.status.items():
        if status.message.startswith("Isolated on"):
            assert all(len(there) == 1 for there in tenants.values() if topology_id in there)


@given(view=views(loaded=True))
@QUICK
def test_tstorm_uses_at_most_one_slot_per_topology_and_node(view: SchedulingView) -> None:
    result = policy("tstorm").schedule(view)
    if not all(status.scheduled for status in result.status.values()):
        return
    for topology in view.topologies:
        own = result.assignment.of_topology(topology.id)
        assert len(own.workers()) == len(own.nodes_used())


@given(view=views(loaded=True))
@QUICK
def test_tstorm_uses_no_more_nodes_for_a_larger_gamma(view: SchedulingView) -> None:
    """This holds whatever the limit is: cap, CPU or slots. What one gamma can schedule, a larger one can."""
    fewest: int | None = None
    for gamma in (1.0, 1.15, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0, 6.0, 9.0):
        result = make_scheduler("tstorm", [f"gamma={gamma}"]).schedule(view)
        if all(status.scheduled for status in result.status.values()):
            count = len(result.assignment.nodes_used())
            assert fewest is None or count <= fewest
            fewest = count
        else:
            assert fewest is None
