"""T-Storm's initial assignment on clusters that can be solved by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.model import Assignment, Slot, StormVersion
from storm_lab.schedulers import SchedulingView, make_scheduler
from tests.schedulers.clusters import chain, cluster


def test_the_initial_assignment_keeps_the_number_of_ackers_that_was_asked_for() -> None:
    view = SchedulingView((chain("t", [2], workers=6, ackers=None),), cluster(2), StormVersion.parse("0.9.7"))
    result = make_scheduler("tstorm-initial").schedule(view)
    assert sum(e.component == "__acker" for e in result.assignment.slots) == 6


@pytest.mark.parametrize("version", ["0.8.2", "0.9.7", "2.8.8"])
@pytest.mark.parametrize("node", ["n1", "n2"])
def test_the_initial_assignment_adds_no_second_worker_to_a_node(node: str, version: str) -> None:
    # One of two workers is there, with the executors of an even spread; each node has two slots.
    view = SchedulingView((chain("t", [4], workers=2),), cluster(2, slots=2), StormVersion.parse(version))
    there = Slot(node, 6700)
    running = Assignment.of((executor, there) for executor in view.executors["t"][:2])
    result = make_scheduler("tstorm-initial").schedule(replace(view, present=running))
    assert sorted(result.assignment.workers()) == [Slot("n1", 6700), Slot("n2", 6700)]


def test_the_initial_assignment_takes_a_second_slot_where_no_other_node_has_one() -> None:
    # The second worker is too small for an even spread and is freed, but its node is hidden now.
    view = SchedulingView((chain("t", [4], workers=2),), cluster(2, slots=2), StormVersion.parse("0.9.7"))
    running = Assignment.of(
        (executor, Slot("n1" if i < 2 else "n2", 6700)) for i, executor in enumerate(view.executors["t"][:3])
    )
    hidden = frozenset({Slot("n2", 6700), Slot("n2", 6701)})
    result = make_scheduler("tstorm-initial").schedule(replace(view, present=running, dead_slots=hidden))
    assert result.status["t"].scheduled
    assert sorted(result.assignment.workers()) == [Slot("n1", 6700), Slot("n1", 6701)]
