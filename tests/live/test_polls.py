"""What polls of waiting threads take of a core: how it is measured, and what calibration makes of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from storm_lab.calibration.measurements import polls_of
from storm_lab.live.java_build import player_jar
from storm_lab.live.polls import measure_polls, poll_costs
from storm_lab.live.releases import find_release
from storm_lab.model.version import V0_9_7, V2_8_8


def test_a_poll_costs_the_turns_that_a_busy_thread_on_its_core_loses() -> None:
    """A tenth of the core for 5,000 polls/s of one thread, and half of it for 100,000 of eight.

    The clock of the one thread counts 0.06 of the core. Beside eight the busy thread needs 0.625 of it for
    half of its turns, so a fifth of that goes to interrupts.
    """
    printed = "0 1000000 0 1.0 0\n1 900000 5000 0.94 0.06\n8 500000 100000 0.625 0.375\n"
    assert poll_costs(printed) == pytest.approx(
        {
            "poll_us": 20.0,
            "poll_of_eight_us": 5.0,
            "poll_own_us": 12.0,
            "poll_of_eight_own_us": 3.8,
            "interrupted_beside_eight": 0.2,
        }
    )


def recorded(**conditions: float) -> SimpleNamespace:
    """A play on a core that is as fast as two reference cores."""
    return SimpleNamespace(run=SimpleNamespace(manifest=SimpleNamespace(conditions=conditions)), mhz=2000.0)


def test_calibration_tells_a_polls_own_cost_from_that_of_its_interrupt() -> None:
    """Polls of n threads take 3 + 21 / n us, and 3 + 11 / n in another play."""
    plays = [
        recorded(poll_us=24.0, poll_of_eight_us=3 + 21 / 8),
        recorded(poll_us=14.0, poll_of_eight_us=3 + 11 / 8),
        recorded(),
    ]
    found = polls_of(plays, V0_9_7)  # type: ignore[arg-type]
    assert found["look_us"] == pytest.approx(2 * 19.0)
    assert found["look_beside"] == pytest.approx(3 / 19, rel=0.01)


def test_polls_that_share_nothing_cost_the_same_each() -> None:
    assert polls_of([recorded(poll_us=4.0, poll_of_eight_us=4.0)], V0_9_7)["look_beside"] == 1.0  # type: ignore[list-item]


def test_recordings_without_such_a_measurement_get_that_of_one_machine() -> None:
    assert polls_of([recorded()], V0_9_7) == {"look_us": 43.6, "look_beside": 0.153}  # type: ignore[list-item]


def test_from_2_0_on_interrupts_are_a_cost_of_their_own() -> None:
    play = recorded(
        poll_us=20.0,
        poll_of_eight_us=5.0,
        poll_own_us=12.0,
        poll_of_eight_own_us=3.25,
        interrupted_beside_eight=0.2,
    )
    plays = [play]
    assert polls_of(plays, V2_8_8) == {"look_us": 24.0, "look_beside": 0.167, "interrupt_part": 0.1}  # type: ignore[arg-type]


@pytest.mark.live
def test_a_poll_on_this_machine_costs_microseconds_and_less_beside_others() -> None:
    found = measure_polls(player_jar(find_release("0.9.2")), "a-test-of-polls")
    assert 0.5 < found["poll_of_eight_us"] < found["poll_us"] < 500
    assert found["poll_own_us"] < found["poll_us"]
    assert found["poll_of_eight_own_us"] < found["poll_own_us"]
    assert 0 <= found["interrupted_beside_eight"] < 0.8
