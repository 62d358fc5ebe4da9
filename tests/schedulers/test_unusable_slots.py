"""Slots that are hidden in a round and blacklisted hosts: executors may stay there, but none comes anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Assignment, Slot
from storm_lab.schedulers import SchedulingResult, SchedulingView, TopologyStatus, make_scheduler
from storm_lab.schedulers.ask import ask
from tests.schedulers.clusters import OWN, chain, cluster
from tests.schedulers.test_ask import Mine

HELD = Slot("n1", 6700)


def half_placed(*, hidden: bool, nodes: int = 2) -> SchedulingView:
    """Half of a topology's executors run in n1:6700, which is hidden, or whose host is blacklisted."""
    view = SchedulingView((chain("t", [4, 4], workers=1),), cluster(nodes))
    running = Assignment.of((executor, HELD) for executor in view.executors["t"][:4])
    if hidden:
        return replace(view, present=running, dead_slots=frozenset({HELD}))
    return replace(view, present=running, blacklisted_hosts=frozenset({"h1"}))


@pytest.mark.parametrize("hidden", [True, False], ids=["hidden", "blacklisted"])
@pytest.mark.parametrize("name", OWN)
def test_no_executor_is_placed_anew_in_an_unusable_slot(name: str, hidden: bool) -> None:
    view = half_placed(hidden=hidden)
    slots = ask(make_scheduler(name), view).assignment.slots
    anew = {slot for executor, slot in slots.items() if view.present.slots.get(executor) != slot}
    assert anew <= set(view.usable_slots)


@pytest.mark.parametrize("name", ["random", "rstorm"])
def test_executors_of_a_worker_that_is_hidden_stay_and_the_others_get_a_usable_slot(name: str) -> None:
    view = half_placed(hidden=True)
    result = ask(make_scheduler(name), view)
    assert result.status["t"].scheduled
    assert {e: s for e, s in result.assignment.slots.items() if s == HELD} == view.present.slots


def all_in_the_slot_held(view: SchedulingView) -> SchedulingResult:
    placed = view.present.merged(Assignment.of((executor, HELD) for executor in view.unplaced("t")))
    return SchedulingResult(placed, {"t": TopologyStatus(True, "placed")})


@pytest.mark.parametrize("hidden", [True, False], ids=["hidden", "blacklisted"])
def test_an_answer_that_places_an_executor_anew_in_an_unusable_slot_is_refused(hidden: bool) -> None:
    refused = "executor c1.* of 't' is placed anew in n1:6700, which is hidden in this round or on a blackl"
    with pytest.raises(UserError, match=refused):
        ask(Mine(all_in_the_slot_held), half_placed(hidden=hidden))
