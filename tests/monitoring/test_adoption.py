"""Rules that decide whether a new schedule is worth a re-assignment, on schedules made by hand."""

from __future__ import annotations

import pytest

from storm_lab.model import Assignment, Executor, MeasuredLoad, Slot, executors_of
from storm_lab.model.version import V0_8_2
from storm_lab.monitoring.generator import busiest_node_mhz, judge
from storm_lab.schedulers.contract import SchedulingResult, SchedulingView, TopologyStatus
from storm_lab.schedulers.graph.traffic import inter_node_traffic
from tests.control.world import chain, cluster

# Tasks: acker 1, bolts 2 and 3, spouts 4 and 5.
TOPOLOGY = chain(workers=2, executors=2)
ACKER, BOLT_1, BOLT_2, SPOUT_1, SPOUT_2 = executors_of(TOPOLOGY, V0_8_2)
LOAD = MeasuredLoad(
    cpu_mhz={ACKER: 100.0, BOLT_1: 400.0, BOLT_2: 300.0, SPOUT_1: 200.0, SPOUT_2: 200.0},
    traffic={
        (SPOUT_1, BOLT_1): 10.0,
        (SPOUT_1, BOLT_2): 20.0,
        (SPOUT_2, BOLT_1): 40.0,
        (SPOUT_2, BOLT_2): 80.0,
    },
)


def _on(**nodes: tuple[Executor, ...]) -> Assignment:
    return Assignment.of((e, Slot(node, 6700)) for node, executors in nodes.items() for e in executors)


APART = _on(node01=(ACKER, BOLT_1, BOLT_2), node02=(SPOUT_1, SPOUT_2))
PAIRED = _on(node01=(ACKER, BOLT_1, SPOUT_1), node02=(BOLT_2, SPOUT_2))
MIRRORED = _on(node02=(ACKER, BOLT_1, BOLT_2), node01=(SPOUT_1, SPOUT_2))
TOGETHER = _on(node01=(ACKER, BOLT_1, BOLT_2, SPOUT_1, SPOUT_2))


def _judged(
    present: Assignment,
    new: Assignment,
    *,
    overloaded: bool = False,
    least_gain: float = 0.0,
    whole: bool = True,
) -> tuple[bool, str]:
    view = SchedulingView((TOPOLOGY,), cluster(3), V0_8_2, present, LOAD)
    result = SchedulingResult(new, {TOPOLOGY.id: TopologyStatus(whole, "no room")})
    return judge(view, result, overloaded=overloaded, least_gain=least_gain)


def test_traffic_between_nodes_and_the_busiest_node_are_sums_over_pairs_and_executors() -> None:
    assert inter_node_traffic(APART.slots, LOAD.traffic) == 150.0
    assert inter_node_traffic(PAIRED.slots, LOAD.traffic) == 60.0
    assert busiest_node_mhz(APART, LOAD) == 800.0
    assert busiest_node_mhz(PAIRED, LOAD) == 700.0


def test_less_traffic_between_nodes_is_a_gain() -> None:
    assert _judged(APART, PAIRED) == (
        True,
        "less inter-node traffic: 150.0 to 60.0 tuples/s between nodes, 2 to 2 nodes",
    )


def test_a_saving_below_the_least_gain_is_no_gain() -> None:
    assert _judged(APART, PAIRED, least_gain=0.59)[0]
    assert not _judged(APART, PAIRED, least_gain=0.61)[0]


def test_fewer_nodes_are_a_gain_and_more_nodes_are_not() -> None:
    assert _judged(PAIRED, TOGETHER)[0]
    assert not _judged(TOGETHER, PAIRED)[0]


def test_a_different_schedule_without_a_gain_is_rejected() -> None:
    assert _judged(APART, MIRRORED) == (False, "no gain: 150.0 to 150.0 tuples/s between nodes, 2 to 2 nodes")


def test_under_overload_relief_of_the_busiest_node_counts_whatever_the_traffic() -> None:
    adopted, reason = _judged(TOGETHER, PAIRED, overloaded=True)
    assert adopted
    assert reason.startswith("overload: busiest node 1200 to 700 MHz")


def test_under_overload_a_schedule_that_relieves_no_node_is_rejected() -> None:
    assert not _judged(APART, MIRRORED, overloaded=True)[0]


@pytest.mark.parametrize("overloaded", [False, True])
def test_the_present_schedule_and_incomplete_ones_are_never_adopted(overloaded: bool) -> None:
    assert _judged(APART, APART, overloaded=overloaded) == (False, "the schedule is the present one")
    assert _judged(APART, PAIRED, overloaded=overloaded, whole=False)[0] is False
    short = Assignment({e: s for e, s in PAIRED.slots.items() if e != BOLT_2})
    assert "have no slot" in _judged(APART, short, overloaded=overloaded)[1]
