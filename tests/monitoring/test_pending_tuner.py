"""The tuner's state machine, transition by transition, and the tuner at work on a topology."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.emulator.control.clock import ns
from storm_lab.emulator.control.control_plane import Sampler
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.monitoring.pending_tuner import (
    AckedRoots,
    CommittedOffset,
    PendingTuner,
    PendingTuning,
    ProgressMetric,
    TunerAction,
    TunerSettings,
)
from tests.control.real_world import play, spec
from tests.control.world import build, chain, run_to

NONE, UP, DOWN = TunerAction.NO_CHANGE, TunerAction.INCREASE, TunerAction.DECREASE


def _tuned(deltas: list[float], first: int = 100, **settings: float) -> list[tuple[TunerAction, int]]:
    tuner = PendingTuner(TunerSettings(first=first, **settings))  # type: ignore[arg-type]
    return [(tuner.auto_tune(delta), tuner.get()) for delta in deltas]


def test_a_stalled_topology_does_not_divide_by_zero() -> None:
    assert _tuned([0, 0, 0, 10]) == [(UP, 125), (NONE, 100), (NONE, 100), (UP, 125)]


def test_five_quiet_calls_are_followed_by_a_probe_that_is_taken_back() -> None:
    actions = _tuned([100] * 9)
    assert [action for action, _ in actions] == [UP, NONE, NONE, NONE, NONE, NONE, UP, NONE, NONE]
    assert [value for _, value in actions][-3:] == [125, 100, 100]


def test_the_limit_never_falls_below_the_least_value() -> None:
    assert _tuned([100, 0])[-1] == (DOWN, 1)
    assert _tuned([100, 0], least=20)[-1] == (DOWN, 20)


@pytest.mark.parametrize(
    ("field", "value"), [("first", 0), ("first", "a"), ("least", 0), ("least", 101), ("similar", 1.0)]
)
def test_settings_out_of_range_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(UserError, match=f"^{field} = "):
        TunerSettings(**{field: value})  # type: ignore[arg-type]


def test_a_period_of_zero_is_refused() -> None:
    control, _ = build()
    with pytest.raises(UserError, match=r"^period_s = 0"):
        PendingTuning("chain", period_s=0).start(control, Sampler(control.clock, control.plane, ns(20)))


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


# One call of the tuner per row: its last action, the progress now, and the action and limit that must follow.
# The progress before is always 100 and the limit always 80; before an increase the limit was 64.
TABLE = [
    # last action, progress, action, limit
    # The margin of similar progress includes its ends. A cut is as deep as the loss of progress.
    (NONE, 94.99, DOWN, 60),
    (NONE, 70.0, DOWN, 56),
    (NONE, 95.0, NONE, 80),
    (NONE, 105.0, NONE, 80),
    (NONE, 105.01, UP, 100),
    (UP, 94.9, DOWN, 60),
    (UP, 10.0, DOWN, 8),
    (UP, 105.1, UP, 100),
    (UP, 100.0, NONE, 64),
    (DOWN, 105.1, UP, 100),
    (DOWN, 100.0, NONE, 80),
    (DOWN, 94.9, NONE, 80),
    (DOWN, 0.0, NONE, 80),
]


def _at(last: TunerAction) -> PendingTuner:
    """A tuner at limit 80 with this last action and a last progress of 100, reached by calls only."""
    # 86 would be raised to 108 and cut by the least cut, a quarter, to 81; 85 goes to 107 and 80.
    first, *calls = {UP: (64, 100.0), NONE: (80, 100.0, 100.0), DOWN: (85, 110.0, 100.0)}[last]
    tuner = PendingTuner(TunerSettings(first=int(first)))
    for call in calls:
        tuner.auto_tune(call)
    assert tuner.get() == 80
    return tuner


@pytest.mark.parametrize(("last", "progress", "action", "limit"), TABLE)
def test_each_row_of_the_papers_table(
    last: TunerAction, progress: float, action: TunerAction, limit: int
) -> None:
    tuner = _at(last)
    assert tuner.auto_tune(progress) is action
    assert tuner.get() == limit


def test_the_first_call_raises_the_limit_whatever_the_progress() -> None:
    for progress in (0.0, 1.0, 1e9):
        assert _tuned([progress], first=80) == [(UP, 100)]


def test_the_count_of_quiet_calls_restarts_after_any_change() -> None:
    quiet = [100.0] * 4
    # A raise, taken back (which is not a quiet call), four quiet calls, a raise, taken back, ...
    actions = [action for action, _ in _tuned([100.0, 100.0, *quiet, 200.0, 200.0, *[200.0] * 4, 200.0])]
    assert actions == [UP, NONE, *[NONE] * 4, UP, NONE, *[NONE] * 4, UP]


def test_progress_is_compared_with_the_last_call_not_with_the_best() -> None:
    assert [a for a, _ in _tuned([100, 106, 112, 100, 100, 106])] == [UP, UP, UP, DOWN, NONE, UP]


@pytest.mark.parametrize("metric", [AckedRoots(), CommittedOffset()])
def test_the_progress_metric_is_pluggable(metric: ProgressMetric) -> None:
    control, plane = build()
    sampler = Sampler(control.clock, control.plane, ns(20))
    PendingTuning("chain", settings=TunerSettings(first=10), progress=metric).start(control, sampler)
    control.nimbus.submit(chain())
    plane.acked, plane.stored = 500, 100
    run_to(control, 120)
    plane.acked, plane.stored = 1000, 300  # As many acks as before, but twice the offset.
    run_to(control, 240)
    second = control.log.of("increase", "decrease", "no change")[1]
    expected = "progress 500" if isinstance(metric, AckedRoots) else "progress 200"
    assert second.reason == expected
    assert second.action == ("no change" if isinstance(metric, AckedRoots) else "increase")


LOG = SourcePlan(SourceKind.RATE, rate_per_s=1500.0, on_fail=FailurePolicy.REPLAY, checkpoint_ns=ns(1))


def _limits(first: int, source: SourcePlan = LOG, metric: ProgressMetric | None = None) -> list[int]:
    """Limits that the tuner sets on the real data plane, with a call every 4 s."""
    tuning = PendingTuning(
        "tree", period_s=4.0, settings=TunerSettings(first=first), progress=metric or CommittedOffset()
    )
    played = play(replace(spec(duration_s=60.0, services=(tuning,), source=source), sample_every=1000))
    return [int(str(d.detail["limit"])) for d in played.outcome.decisions if d.actor == "tuner"]


def test_progress_of_the_committed_offset_raises_the_limit_of_a_starved_spout() -> None:
    limits = _limits(1)
    assert max(limits) >= 4
    assert limits[-1] >= 3


def test_the_committed_offset_of_a_source_without_a_log_is_refused() -> None:
    with pytest.raises(UserError, match="no spout of this topology reads a log"):
        _limits(10, replace(LOG, checkpoint_ns=0))


def test_acks_and_offsets_agree_on_a_run_without_failures() -> None:
    acked = _limits(2, metric=AckedRoots())
    stored = _limits(2)
    assert abs(acked[-1] - stored[-1]) <= 0.5 * acked[-1]
