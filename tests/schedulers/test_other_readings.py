"""Other readings of the papers' algorithms than the chosen ones reproduce fewer of the printed counts.

The experiment ``algorithms`` measures the results of the chosen readings.
"""

from __future__ import annotations

import pytest

from storm_lab.model import Topology
from storm_lab.papers.algorithms.tstorm import even_load, topologies
from storm_lab.papers.rstorm.layouts import layout
from storm_lab.papers.rstorm.testbed import emulab
from storm_lab.papers.tstorm.testbed import VERSION, blades
from storm_lab.papers.tstorm.word_count import EXPERIMENT, topology
from storm_lab.schedulers import SchedulingView, make_scheduler
from storm_lab.schedulers.measures import measure
from storm_lab.schedulers.papers.rstorm import RStormParameters, RStormScheduler

THROUGHPUT_TEST, _, LOG_STREAM = topologies()


def word_count(ackers: int = 2) -> Topology:
    return topology(EXPERIMENT.checked({"ackers": ackers}))


def loaded(one: Topology) -> SchedulingView:
    return SchedulingView((one,), blades(), VERSION, load=even_load(one, blades()))


def nodes(one: Topology, gamma: float, *reading: str) -> int:
    result = make_scheduler("tstorm", [f"gamma={gamma}", *reading]).schedule(loaded(one))
    assert result.status[one.id].scheduled
    return len(result.assignment.nodes_used())


def test_only_two_counted_ackers_give_the_printed_nodes_of_the_word_count() -> None:
    assert [nodes(word_count(), gamma) for gamma in (1.8, 2.2)] == [7, 5]
    assert [nodes(word_count(ackers=1), gamma) for gamma in (1.8, 2.2)] == [6, 6]
    assert [nodes(word_count(), gamma, "count_ackers=false") for gamma in (1.8, 2.2)] == [6, 6]


def test_preferring_empty_nodes_does_not_consolidate() -> None:
    assert [nodes(THROUGHPUT_TEST, gamma) for gamma in (1.7, 6.0)] == [7, 2]
    spread = [nodes(THROUGHPUT_TEST, gamma, "ties=emptiest") for gamma in (1.7, 6.0)]
    assert spread[0] > 7
    assert spread[1] > 2


def test_tstorm_at_gamma_1_finds_no_schedule_for_the_throughput_test_and_keeps_ten_nodes() -> None:
    view = loaded(THROUGHPUT_TEST)
    first = make_scheduler("tstorm-initial").schedule(view)
    assert len(first.assignment.workers()) == len(first.assignment.nodes_used()) == 10
    again = SchedulingView(view.topologies, view.cluster, view.version, first.assignment, view.load)
    result = make_scheduler("tstorm", ["gamma=1"]).schedule(again)
    assert not result.status["throughput-test"].scheduled
    assert "no new schedule" in result.status["throughput-test"].message
    assert dict(result.assignment.slots) == dict(first.assignment.slots)


@pytest.mark.parametrize("one", [THROUGHPUT_TEST, word_count(), LOG_STREAM], ids=lambda t: t.id)
def test_gamma_1_spreads_executors_evenly_where_it_is_feasible(one: Topology) -> None:
    view = loaded(one)
    result = make_scheduler("tstorm", ["gamma=1", "cap=at-least-even"]).schedule(view)
    assert measure(view, result.assignment).most_executors == -(-len(view.executors[one.id]) // 10)


@pytest.mark.parametrize(("name", "machines"), [("linear", 6), ("diamond", 7), ("star", 6)])
def test_rstorm_uses_the_printed_number_of_machines_with_scale_unit_and_fewer_if_literal(
    name: str, machines: int
) -> None:
    view = SchedulingView((layout(name).topology,), emulab(), VERSION)
    unit = make_scheduler("rstorm", ["scale=unit"]).schedule(view)
    assert len(unit.assignment.nodes_used()) == machines
    literal = RStormScheduler(
        RStormParameters(cpu="soft", scale="unit", network_term="plain", memory_rule="more-than")
    ).schedule(view)
    assert 1 <= len(literal.assignment.nodes_used()) <= 4
