"""N-Storm's experiments as declared, and their readings on tables made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import median
from typing import Any

import pandas as pd
import pytest

from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.unreached import Unreached
from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.model.executor import executors_of
from storm_lab.model.topology import Grouping
from storm_lab.papers.algorithms.trees import Rows
from storm_lab.papers.nstorm import (
    delayed_kill,
    multi_migration,
    single_migration,
    sync_cycles,
    testbed,
    worst_case,
)
from storm_lab.papers.nstorm import durations as durations
from storm_lab.papers.nstorm.multi_migration import WITHOUT_MOVES, gain, moving
from storm_lab.papers.nstorm.runs import (
    NSTORM,
    READINGS,
    REBALANCE,
    STAR,
    THREADS,
    UNHURRIED,
    Setting,
    control_times,
    describe,
    migration,
    timers,
    trial_tag,
)
from storm_lab.papers.nstorm.single_migration import wait_for

EXPERIMENTS = (single_migration, multi_migration, delayed_kill, sync_cycles)
SEEDS = {"seeds": [4, 5]}


# --- declarations ---


def test_the_topology_is_the_printed_one() -> None:
    declared = testbed.topology()
    counts = {component.id: component.executors for component in declared.components}
    assert counts == {"drpc-spout": 8, "split": 12, "count": 24}
    assert declared.workers == 8
    assert len(executors_of(declared, testbed.VERSION)) == 52, "with an acker for each worker"
    (by_word,) = declared.component("count").inputs
    assert (by_word.grouping, by_word.fields) == (Grouping.FIELDS, ("word",))


def test_the_workers_fill_two_nodes_of_four_slots() -> None:
    assert [len(node.slots) for node in testbed.servers().nodes] == [4, 4]


@pytest.mark.parametrize("words", [5, 8, 15])
def test_sentences_have_from_five_words_up_to_the_given_maximum(words: int) -> None:
    lengths = {len(line.split()) for line in testbed.sentences("generated", words).lines}
    assert lengths == set(range(5, words + 1))


def test_a_text_without_a_line_of_suitable_length_is_refused(tmp_path) -> None:
    file = tmp_path / "short.txt"
    file.write_text("too short\n")
    with pytest.raises(UserError, match="no line of 5 to 8 words"):
        testbed.sentences(str(file), 8)


def test_calls_form_a_closed_loop_and_are_replayed_after_failures() -> None:
    parameters = single_migration.EXPERIMENT.checked({"calls": 3, "round_trip_ms": 1.0})
    source = testbed.plan(parameters, "generated").sources["drpc-spout"]
    assert (source.kind.name, source.calls, source.on_fail.name) == ("CLOSED_LOOP", 3, "REPLAY")
    assert source.fetch_ns + source.answer_ns == 1_000_000


def test_a_call_is_answered_by_its_first_word_unless_all_are_required() -> None:
    for answers, first in (("first", True), ("all", False)):
        parameters = single_migration.EXPERIMENT.checked({"answers": answers})
        assert testbed.plan(parameters, "generated").sources["drpc-spout"].first_result is first


@pytest.mark.parametrize(
    "name",
    [
        "fig6-storm-stop",
        "stormstar-half",
        "fig7-storm-60",
        "fig7-storm-100",
        "fig7-reductions",
        "fig7-order",
        "fig8-stormstar-storm",
        "fig8-nstorm-storm",
    ],
)
def test_what_the_fitted_wait_of_the_rebalance_decides_is_no_prediction(name: str) -> None:
    assert "rebalance" in load_claims().claim(f"nstorm-{name}").fitted


def test_settings_that_experiments_share_are_the_same_runs() -> None:
    def names(module: Any, variant: str) -> set[tuple[object, ...]]:
        experiment = module.EXPERIMENT
        return {
            (spec.experiment, spec.seed, str(dict(spec.parameters)))
            for spec in experiment.runs(experiment.checked(SEEDS))
            if spec.variant == variant
        }

    assert names(single_migration, NSTORM.variant) == names(multi_migration, NSTORM.variant) != set()
    sixteen = moving(16).variant
    assert names(multi_migration, sixteen) == names(delayed_kill, sixteen) == names(sync_cycles, sixteen)
    assert names(delayed_kill, "nstorm-plus2-10-3-m16") == names(sync_cycles, "nstorm-plus2-10-3-m16")


def test_poll_intervals_are_tried_with_waiting_messages_and_the_first_seed() -> None:
    experiment = sync_cycles.EXPERIMENT
    specs = experiment.runs(experiment.checked({**SEEDS, "poll_ms_tried": [10.0, 30.0]}))
    tried = [spec for spec in specs if spec.variant.endswith(trial_tag("poll_ms", 30.0))]
    assert len(tried) == 4
    assert {spec.seed for spec in tried} == {4}
    assert {(spec.parameters["poll_ms"], spec.parameters["messages"]) for spec in tried} == {(30.0, "wait")}


@pytest.mark.parametrize("module", EXPERIMENTS, ids=lambda module: module.SLUG)
def test_a_reading_changes_all_parameters_that_it_names_in_every_experiment(module: Any) -> None:
    experiment = module.EXPERIMENT
    specs = experiment.runs(experiment.checked(SEEDS))
    without = experiment.runs(experiment.checked({**SEEDS, "readings": False}))
    for reading in READINGS:
        own = [spec for spec in specs if spec.variant.endswith(f"-{reading.name}")]
        assert {spec.seed for spec in own} == {4, 5}
        for name, value in reading.changes.items():
            assert {spec.parameters.get(name, value) for spec in own} == {value}
        poll_offset_s = reading.changes.get("supervisors_apart_s")
        assert {daemons.supervisors_apart_s for spec in own if (daemons := describe(spec).timers)} == {
            poll_offset_s
        }
        assert not [spec for spec in without if spec.variant.endswith(f"-{reading.name}")]


def test_cycles_that_do_not_pair_up_are_refused() -> None:
    experiment = sync_cycles.EXPERIMENT
    with pytest.raises(UserError, match="must have as many"):
        experiment.runs(experiment.checked({"polls_s": [1.0]}))


# --- what a setting plays ---


def test_the_same_hold_applies_to_every_method() -> None:
    parameters = single_migration.EXPERIMENT.checked({**SEEDS, "poll_ms": 20.0})
    holds = {
        control_times(spec.parameters).refresh_hold_s for spec in single_migration.EXPERIMENT.runs(parameters)
    }
    assert holds == {0.02}


def test_short_cycles_are_those_of_supervisors_and_workers() -> None:
    setting = Setting(THREADS, 16, 1.0, 0.3, kill_delay_s=2.0)
    assert (timers(setting).assignment_sync_s, timers(setting).process_sync_s) == (1.0, 0.3)
    method: Any = migration(setting)
    assert (method.poll_s, method.kill_delay_s) == (0.3, 2.0)


@pytest.mark.parametrize(
    "setting", [NSTORM, STAR, Setting("rebalance", wait_s=7.0), Setting(THREADS, 16, kill_delay_s=2.0)]
)
def test_a_runs_parameters_describe_its_setting(setting: Setting) -> None:
    (spec,) = (
        spec
        for spec in single_migration.run_specs(single_migration.EXPERIMENT.checked({"seeds": [1]}), [setting])
    )
    assert Setting.of(spec.parameters) == setting
    assert describe(spec).duration_s == 600.0


def test_the_setting_without_moves_has_no_services() -> None:
    (spec,) = single_migration.run_specs(multi_migration.EXPERIMENT.checked({"seeds": [1]}), [WITHOUT_MOVES])
    assert describe(spec).services == ()


# --- readings ---


class Hand:
    """One run of 180 s: smooth at 100/s, a stop of 12 s at 50 s, half the throughput for 20 s at 110 s."""

    runs = pd.DataFrame([{"variant": "v", "seed": 1, "duration_s": 180.0}])
    degradation = pd.DataFrame(
        [{"variant": "v", "seed": 1, "level": level, "smooth_per_s": 100.0, "degraded_s": s}
         for level, s in ((20, 32.0), (40, 32.0), (60, 12.0), (80, 12.0), (100, 12.0))]
    )  # fmt: skip
    throughput_1s = pd.DataFrame(
        {
            "variant": "v",
            "seed": 1,
            "t_s": [float(t) for t in range(180)],
            "width_s": 1.0,
            "acked": [0 if 50 <= t < 62 else 50 if 110 <= t < 130 else 100 for t in range(180)],
        }
    ).assign(acked_per_s=lambda rows: rows["acked"])
    failures_60s = pd.DataFrame([{"variant": "v", "seed": 1, "failed": n} for n in (0, 3, 1)])
    control = pd.DataFrame(
        [
            (50.4, "supervisor:a", "take-assignment", ""),
            (53.4, "supervisor:b", "take-assignment", ""),
            (54.0, "worker:1", "stop-executor", json.dumps({"lost_receive_queue": 2, "lost_executing": 1})),
            (54.0, "supervisor:b", "kill-worker", json.dumps({"lost_receive_queue": 50})),
            (112.0, "supervisor:a", "take-assignment", ""),
            (117.0, "supervisor:b", "take-assignment", ""),
        ],
        columns=["time_s", "actor", "action", "detail"],
    ).assign(variant="v", seed=1)


HAND: Any = Hand()


def test_only_re_assignments_followed_by_a_complete_period_are_counted() -> None:
    assert durations.moves_s(HAND, "v", 1) == [50.0, 110.0]


def test_degraded_seconds_of_each_re_assignment() -> None:
    assert durations.degraded_by_move_s(HAND, "v", 1, 60) == [12.0, 0.0]
    assert durations.degraded_by_move_s(HAND, "v", 1, 40) == [12.0, 20.0]
    assert durations.mean_per_move_s(HAND, "v", [1], 40) == [16.0]
    assert durations.min_per_move_s(HAND, "v", [1], 60) == [0.0]


def test_seconds_below_another_runs_smooth_mean() -> None:
    assert durations.degraded_against_s(HAND, "v", [1], 60, [100.0]) == [12.0]
    assert durations.degraded_against_s(HAND, "v", [1], 60, [125.0]) == [32.0]
    assert durations.degraded_against_s(HAND, "v", [1], 20, [125.0]) == [130.0], "all from 50 s on"
    assert durations.degraded_against_s(HAND, "v", [1, 2], 20, [None, 100.0]) == [None, None]


def test_the_wait_is_interpolated_between_the_waits_that_were_played() -> None:
    class Tables:
        degradation = pd.DataFrame(
            [
                {
                    "variant": Setting(REBALANCE, wait_s=wait).variant + reading,
                    "seed": 1,
                    "level": 60,
                    "degraded_s": low,
                }
                for wait, low, reading in (
                    (0.0, 150.0, ""),
                    (10.0, 200.0, ""),
                    (20.0, 300.0, ""),
                    (0.0, 50.0, "-unhurried"),
                    (20.0, 450.0, "-unhurried"),
                )
            ]
        )

    tables: Any = Tables()
    assert wait_for(tables, (0.0, 20.0, 10.0), (1,), 250.0) == pytest.approx(15.0)
    assert wait_for(tables, (0.0, 20.0), (1,), 250.0) == pytest.approx(20 * 100 / 150)
    assert wait_for(tables, (0.0, 10.0), (1,), 250.0) == pytest.approx(20.0), "on the same line, beyond them"
    assert wait_for(tables, (0.0, 20.0), (1,), 250.0, UNHURRIED) == pytest.approx(10.0)
    assert wait_for(tables, (10.0,), (1,), 250.0) is None
    assert wait_for(tables, (0.0, 20.0), (1, 2), 250.0) is None, "not played with every seed"


def test_a_run_without_moves_ends_where_the_gain_is_read() -> None:
    experiment = multi_migration.EXPERIMENT
    lengths = {
        spec.variant: spec.parameters.number("duration_s")
        for spec in experiment.runs(experiment.checked({"seeds": [1]}))
    }
    assert lengths[WITHOUT_MOVES.variant] == 230.0
    assert lengths[moving(1).variant] == 600.0


def test_a_missing_run_has_no_reading() -> None:
    assert durations.degraded_s(HAND, "v", [1, 2], 60) == [12.0, None]
    assert durations.total(HAND, "v", [1, 2])[1] is None


def test_throughput_outside_migrations_is_read_just_before_each_re_assignment() -> None:
    assert durations.quiet_per_s(HAND, "v", [1]) == [100.0]
    assert durations.rate_between(HAND, "v", [1], 100.0, 120.0) == [75.0]


def test_only_tuples_of_stopped_executors_are_lost_with_threads() -> None:
    assert durations.lost_with_threads(HAND, "v", [1]) == [3.0]
    assert durations.replays(HAND, "v", [1]) == [4.0]


def test_the_skew_is_the_time_between_the_supervisors() -> None:
    assert durations.skew_s(HAND, "v", [1], 10.0) == [pytest.approx(4.0)]


def test_the_gain_is_taken_against_a_run_in_which_nothing_moves() -> None:
    rates = {moving(4).variant: 105.0, WITHOUT_MOVES.variant: 100.0}
    rows = [
        {"variant": variant, "seed": 1, "t_s": float(t), "width_s": 1.0, "acked": rate}
        for variant, rate in rates.items()
        for t in range(210, 230)
    ]

    class Tables:
        throughput_1s = pd.DataFrame(rows)

    tables: Any = Tables()
    assert gain(tables, 4, (1,)) == [pytest.approx(5.0)]


def test_a_measurement_says_from_when_on_degraded_seconds_count() -> None:
    spec = single_migration.EXPERIMENT.runs(single_migration.EXPERIMENT.checked())[0]
    assert f"from {describe(spec).warm_up_s:g} s on" in durations.DEGRADED


def test_claims_need_the_papers_setting() -> None:
    experiment = delayed_kill.EXPERIMENT
    assert experiment.measure(HAND, experiment.checked({"moved": 8})) == ()
    experiment = sync_cycles.EXPERIMENT
    assert experiment.measure(HAND, experiment.checked({"kill_delay_s": 1.0})) == ()


def test_the_worst_case_is_among_the_phases() -> None:
    away = worst_case.absences((0.0, 1.0))
    assert 8.5 <= away.loc[1.0, 0.0] <= 9.5
    assert away.loc[0.0, 1.0] == 0.0


@pytest.mark.slow
def test_methods_keep_their_order_where_no_call_is_lost() -> None:
    # The full mechanism, 120 s: seconds without an answer between the first re-assignment and the second.
    # Senders keep what they cannot send, or every move would cost the only call there is.
    runs = {
        seed: [played(seed=seed, setting=setting, unreached=Unreached.KEEP) for setting in METHODS]
        for seed in FEW_SEEDS
    }
    whole = [own for own in runs.values() if not any(failed(calls) for calls in own)]
    assert whole, "a call is lost with some seeds, not with all"
    seconds = [[silent(calls, 50, 110) for calls in own] for own in whole]
    for rebalance, star, nstorm in seconds:
        assert rebalance > 30
        assert rebalance > star > nstorm
        assert nstorm <= 14, "T_s and T_w together"
    # A worker that finds no peer looks again ten seconds later, so one move of Storm* may take much longer.
    assert median(rebalance for rebalance, _, _ in seconds) > 2 * median(star for _, star, _ in seconds)


def test_a_call_lost_with_a_killed_worker_stops_a_closed_loop_until_it_times_out() -> None:
    runs = [played(seed=seed, setting=STAR) for seed in FEW_SEEDS]
    losing = [calls for calls in runs if failed(calls)]
    assert losing, "a call is lost with some seeds, not with none"
    for calls in losing:
        ((emitted_s, failed_s),) = failed(calls)
        assert 30 <= failed_s - emitted_s <= 60, "maps rotate: between one time-out and two"
        # Other moves may add a few silent seconds.
        assert silent(calls, 50, 110) >= failed_s - emitted_s - 2


FEW_SEEDS = range(1, 7)
METHODS = (replace(Setting("rebalance"), wait_s=30.0), STAR, NSTORM)


def played(*, seed: int, setting: Setting, unreached: Unreached | None = None) -> pd.DataFrame:
    """The calls of a run of 120 s with one call at a time."""
    parameters = single_migration.EXPERIMENT.checked({"seeds": [seed], "duration_s": 120.0, "calls": 1})
    (spec,) = single_migration.run_specs(parameters, (setting,))
    rows = Rows()
    Emulation(replace(describe(spec), unreached=unreached)).run(rows)
    return rows.table("roots")


def failed(calls: pd.DataFrame) -> list[tuple[float, float]]:
    """When the failed calls were emitted and failed, in seconds."""
    times = calls.loc[calls["outcome"] == "failed", ["emit_ns", "complete_ns"]] / 1e9
    return list(times.itertuples(index=False, name=None))


def silent(calls: pd.DataFrame, from_s: int, to_s: int) -> int:
    """Seconds without any answer."""
    answered = set(calls.loc[calls["outcome"] == "acked", "complete_ns"] // 1_000_000_000)
    return sum(second not in answered for second in range(from_s, to_s))
