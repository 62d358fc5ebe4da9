"""The tuner's state machine, transition by transition, and the tuner at work on a topology."""

from __future__ import annotations

import pytest

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.service import Sampler
from storm_lab.errors import UserError
from storm_lab.monitoring.pending_tuner import PendingTuner, PendingTuning, TunerAction, TunerSettings
from tests.control.world import build, chain, run_to

NONE, UP, DOWN = TunerAction.NO_CHANGE, TunerAction.INCREASE, TunerAction.DECREASE


def _tuned(deltas: list[float], first: int = 100, **settings: float) -> list[tuple[TunerAction, int]]:
    tuner = PendingTuner(TunerSettings(first=first, **settings))  # type: ignore[arg-type]
    return [(tuner.auto_tune(delta), tuner.get()) for delta in deltas]


def test_the_first_call_raises() -> None:
    assert _tuned([50]) == [(UP, 125)]


def test_more_progress_after_a_raise_raises_again_and_less_cuts() -> None:
    assert _tuned([50, 60]) == [(UP, 125), (UP, 157)]
    assert _tuned([50, 40]) == [(UP, 125), (DOWN, 93)]


def test_similar_progress_after_a_raise_takes_it_back() -> None:
    assert _tuned([50, 51]) == [(UP, 125), (NONE, 100)]


def test_a_cut_is_as_deep_as_the_loss_of_progress() -> None:
    assert _tuned([100, 20]) == [(UP, 125), (DOWN, 25)]


def test_after_a_cut_only_more_progress_moves_anything() -> None:
    assert _tuned([100, 80, 60]) == [(UP, 125), (DOWN, 93), (NONE, 93)]
    assert _tuned([100, 80, 81]) == [(UP, 125), (DOWN, 93), (NONE, 93)]
    assert _tuned([100, 80, 90]) == [(UP, 125), (DOWN, 93), (UP, 117)]


def test_five_quiet_calls_are_followed_by_a_probe_that_is_taken_back() -> None:
    actions = _tuned([100] * 9)
    assert [action for action, _ in actions] == [UP, NONE, NONE, NONE, NONE, NONE, UP, NONE, NONE]
    assert [value for _, value in actions][-3:] == [125, 100, 100]


def test_the_limit_never_falls_below_the_least_value() -> None:
    assert _tuned([100, 0])[-1] == (DOWN, 1)
    assert _tuned([100, 0], least=20)[-1] == (DOWN, 20)


def test_a_stalled_topology_does_not_divide_by_zero() -> None:
    assert _tuned([0, 0, 0, 10]) == [(UP, 125), (NONE, 100), (NONE, 100), (UP, 125)]


@pytest.mark.parametrize(("field", "value"), [("first", 0), ("least", 0), ("least", 101), ("similar", 1.0)])
def test_settings_out_of_range_are_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(UserError, match=f"^{field} = "):
        TunerSettings(**{field: value})  # type: ignore[arg-type]


def test_the_tuner_climbs_to_a_plateau_and_stays_near_it() -> None:
    control, plane = build()
    sampler = Sampler(control.clock, control.plane, ns(20))
    PendingTuning("chain", settings=TunerSettings(first=10)).start(control, sampler)
    control.nimbus.submit(chain())
    limits: list[int] = []
    for call in range(40):
        limit = next(args[2] for args in reversed(plane.calls) if args[0] == "max-pending")
        assert isinstance(limit, int)
        limits.append(limit)
        # Progress grows with the limit up to 200 and then no more.
        plane.acked += 100 * min(limit, 200)
        run_to(control, 120.0 * (call + 1))
    assert limits[0] == 10
    assert all(190 <= limit <= 320 for limit in limits[20:])
    assert len(control.log.of("increase")) > 10
