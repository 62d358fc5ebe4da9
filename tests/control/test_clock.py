"""The clock orders events of equal times as documented."""

from __future__ import annotations

import itertools
from functools import partial

import pytest

from storm_lab.emulator.control.clock import SECOND, Rank, VirtualClock, ns


def test_events_are_ordered_by_time_then_rank_then_actor_in_whatever_order_they_are_scheduled() -> None:
    ordered = [
        (4, Rank.MONITOR, "z"),
        (5, Rank.FAULT, "z"),
        (5, Rank.SUPERVISOR, "node01"),
        (5, Rank.SUPERVISOR, "node02"),
        (5, Rank.MONITOR, "a"),
    ]
    for order in itertools.permutations(ordered):
        clock = VirtualClock()
        log: list[tuple[int, Rank, str]] = []
        for event in order:
            clock.at(*event, partial(log.append, event))
        clock.run_until(5)
        assert log == ordered


def test_simultaneous_events_of_an_actor_run_in_the_order_of_scheduling() -> None:
    clock = VirtualClock()
    log: list[int] = []
    for number in (2, 1, 3):
        clock.at(5, Rank.SUPERVISOR, "node02", partial(log.append, number))
    clock.run_until(5)
    assert log == [2, 1, 3]


def test_an_event_may_schedule_another_for_the_same_instant() -> None:
    clock = VirtualClock()
    log: list[str] = []
    clock.at(7, Rank.NIMBUS, "n", lambda: clock.at(7, Rank.FAULT, "f", lambda: log.append("late fault")))
    clock.at(7, Rank.MONITOR, "m", lambda: log.append("monitor"))
    clock.run_until(7)
    assert log == ["late fault", "monitor"]


def test_a_cancelled_event_does_not_run() -> None:
    clock = VirtualClock()
    log: list[int] = []
    clock.at(1, Rank.WORKER, "w", lambda: log.append(1)).cancel()
    clock.run_until(2)
    assert log == []


@pytest.mark.parametrize("drifts", [False, True])
def test_a_cycle_keeps_its_phase_and_may_stop_itself(drifts: bool) -> None:
    clock = VirtualClock()
    turns: list[int] = []

    def turn() -> None:
        turns.append(clock.now_ns)
        if len(turns) == 3:
            cycle.cancel()

    cycle = clock.every(10, Rank.WORKER, "w", turn, first_ns=3, drifts=drifts)
    clock.run_until(100)
    assert turns == [3, 13, 23]


def test_a_drifting_timer_is_armed_again_when_its_work_is_done() -> None:
    """Computed by hand: turns at 3, 13 + 2, 25 + 4; without the drift at 3, 13, 23."""
    for drifts, expected in ((True, [3, 15, 29]), (False, [3, 13, 23])):
        clock = VirtualClock()
        turns: list[int] = []

        def turn(clock: VirtualClock = clock, turns: list[int] = turns) -> int:
            turns.append(clock.now_ns)
            return 2 * len(turns)

        clock.every(10, Rank.NIMBUS, "nimbus", turn, first_ns=3, drifts=drifts)
        clock.run_until(34)
        assert turns == expected + ([33] if not drifts else [])


def test_an_event_in_the_past_cannot_be_scheduled() -> None:
    clock = VirtualClock()
    clock.run_until(ns(1.5))
    with pytest.raises(ValueError, match="nimbus schedules an event at 1000000000 ns"):
        clock.at(SECOND, Rank.NIMBUS, "nimbus", lambda: None)


def test_a_period_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        VirtualClock().every(0, Rank.WORKER, "w", lambda: None)
