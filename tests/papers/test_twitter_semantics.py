"""Storm@Twitter's other experiments as declared, and how their tables are read."""

from __future__ import annotations

import pandas as pd
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import FailurePolicy
from storm_lab.model.executor import executors_of
from storm_lab.papers.registry import experiment
from storm_lab.papers.twitter import max_spout_pending, overheads, scaling, semantics
from storm_lab.papers.twitter.event_counting import FULL_FROM_S
from storm_lab.papers.twitter.max_spout_pending import best_static, static_variant, tuning
from storm_lab.papers.twitter.overheads import (
    ACKS_OFF,
    ACKS_ON,
    by_machines,
    java_percent,
    machines_needed,
    measured,
    on_machines,
    spread_over_seeds,
)
from storm_lab.papers.twitter.scaling import AT_S, outage_s, window_row
from storm_lab.papers.twitter.semantics import (
    ACKS_OFF as UNANCHORED,
)
from storm_lab.papers.twitter.semantics import (
    FORGETTING,
    HOLDING,
    LOG,
    NIMBUS_DOWN,
    Delivery,
    delivery,
    without_nimbus,
)
from tests.papers.twitter_tables import control, series, tables


def test_sources_replay_checkpoint_and_anchor_as_their_scenario_requires() -> None:
    made = {name: semantics.source(name, 10.0) for name in (LOG, HOLDING, FORGETTING, UNANCHORED)}
    assert {name for name, plan in made.items() if plan.on_fail is FailurePolicy.REPLAY} == {LOG, HOLDING}
    assert {name for name, plan in made.items() if plan.checkpoint_ns} == {LOG}
    assert {name for name, plan in made.items() if not plan.anchored} == {UNANCHORED}


def test_lines_are_emissions_without_replays() -> None:
    parts = pd.concat(
        [
            series("x", 1, 60.0, component=["spout"] * 2, emitted=[60, 50], executed=[0, 0]),
            series("x", 1, 60.0, component=["count"] * 2, emitted=[0, 0], executed=[58, 49]),
        ]
    )
    found = delivery(
        tables(
            component_throughput_60s=parts,
            failures_60s=series("x", 1, 60.0, replayed=[0, 10]),
            throughput_10s=series("x", 1, 10.0, acked=[40, 60]),
        ),
        "x",
        1,
    )
    assert found == Delivery(lines=100, emitted=110, acked=100, counted=107)


def test_restarts_without_nimbus_are_distinguished_from_later_re_assignments() -> None:
    events = control(
        NIMBUS_DOWN,
        1,
        [
            (10.0, "nimbus", "assign", "t", {"moved": 20}),
            (20.0, "supervisor:machine01", "start-worker", "machine01:6700", {}),
            (150.0, "supervisor:machine01", "start-worker", "machine01:6700", {}),
            (350.0, "nimbus", "assign", "t", {"moved": 6}),
            (360.0, "supervisor:machine02", "start-worker", "machine02:6701", {}),
        ],
    )
    acks = series(NIMBUS_DOWN, 1, 10.0, acked=[5] * 40)
    found = without_nimbus(tables(control=events, throughput_10s=acks), 1)
    assert found == {
        "acked_while_down": 5 * 24,
        "reassigned_while_down": 0,
        "reassigned_after": 6,
        "restarted": 1,
    }


def test_threads_per_process_match_the_printed_number() -> None:
    off, on = overheads.topology(ACKS_OFF, 1), overheads.topology(ACKS_ON, 3)
    threads = [2 + 2 * len(executors_of(each, overheads.VERSION)) / each.workers for each in (off, on)]
    assert threads == [38, 5]
    assert (off.workers, off.ackers) == (10, 0)
    assert (on.workers, on.component("spout").executors) == (30, 30)


def test_the_plain_loop_keeps_seven_cores_busy() -> None:
    assert java_percent(experiment(overheads.SLUG).checked()) == pytest.approx(699.0)


def test_machines_needed_are_the_fewest_that_keep_up() -> None:
    parameters = experiment(overheads.SLUG).checked({"bundle": 1000})
    rates = {1: 100.0, 2: 290.0, 3: 299.0, 4: 300.0}
    parts = pd.concat(
        [
            series(
                on_machines(ACKS_OFF, count),
                1,
                60.0,
                component=["spout"] * 4,
                emitted_per_s=[0.0, 0.0, 0.0, rate],
            )
            for count, rate in rates.items()
        ]
    )
    cores = {1: 15.0, 2: 15.0, 3: 11.0, 4: 8.0}
    busy = {
        count: series(on_machines(ACKS_OFF, count), 1, 180.0, cores_used=[9.0, used])
        for count, used in cores.items()
    }
    found = tables(component_throughput_60s=parts, node_cpu_60s=pd.concat(busy.values()))
    assert machines_needed(found, parameters, ACKS_OFF, (4, 3, 2, 1), 1) == 3
    assert machines_needed(found, parameters, ACKS_OFF, (1, 2), 1) is None
    assert machines_needed(found, parameters, ACKS_OFF, (1, 3), 1) is None, "two may be enough"
    busy[3]["cores_used"] = 12.5
    found = tables(component_throughput_60s=parts, node_cpu_60s=pd.concat(busy.values()))
    assert machines_needed(found, parameters, ACKS_OFF, (4, 3, 2, 1), 1) == 4, "twelve cores are full"


def test_machines_that_ack_nothing_in_the_last_minute_do_not_keep_up() -> None:
    parameters = experiment(overheads.SLUG).checked()
    variant = on_machines(ACKS_ON, 1)
    found = tables(
        throughput_60s=series(variant, 1, 60.0, acked_per_s=[300.0]),
        node_cpu_60s=series(variant, 1, 180.0, cores_used=[9.0, 1.0]),
    )
    assert machines_needed(found, parameters, ACKS_ON, (1,), 1) is None


def test_cpu_of_a_number_of_machines_that_was_not_tried_is_missing() -> None:
    parameters = experiment(overheads.SLUG).checked(
        {"seeds": [1], "machines_off": [2], "machines_on": [1, 2], "machines_original": [2]}
    )
    busy = [series(on_machines(ACKS_OFF, 2), 1, 180.0, cores_used=[9.0, 6.5])]
    found = tables(
        component_throughput_60s=series("none", 1, 60.0, component=[], emitted_per_s=[], executed_per_s=[]),
        node_cpu_60s=pd.concat(busy),
        throughput_60s=series("none", 1, 60.0, acked_per_s=[]),
    )
    by = {each.claim_id: each for each in measured(found, parameters)}
    for claim in ("twitter-ovh-storm-noack-cpu", "twitter-ovh-ack-cpu", "twitter-ovh-ack-3x"):
        assert by[claim].value().value is None, claim
    assert by["twitter-ovh-java-cpu"].value().value == pytest.approx(699.0)


def test_every_machine_count_is_read_in_the_last_minute() -> None:
    parameters = experiment(overheads.SLUG).checked({"seeds": [1, 2]})
    parts = [
        series(
            on_machines(ACKS_OFF, 2),
            seed,
            60.0,
            component=["spout"] * 4,
            emitted_per_s=[0, 0, 0, rate],
            executed_per_s=[0] * 4,
        )
        for seed, rate in ((1, 290.0), (2, 300.0))
    ]
    busy = [series(on_machines(ACKS_OFF, 2), seed, 180.0, cores_used=[9.0, 6.5]) for seed in (1, 2)]
    none = series("none", 1, 60.0, acked_per_s=[])
    found = tables(
        component_throughput_60s=pd.concat(parts), node_cpu_60s=pd.concat(busy), throughput_60s=none
    )
    rows = by_machines(found, parameters)
    own = rows[(rows["program"] == ACKS_OFF) & (rows["machines"] == 2)]
    assert own["thousand/s"].tolist() == [290.0, 300.0]
    assert own["CPU % a machine"].tolist() == [650.0, 650.0]
    assert "295.0  290.0  300.0" in spread_over_seeds(own)


def test_the_cost_of_a_message_scales_code_system_calls_and_wake_ups() -> None:
    shared, cheap = overheads.cost_model(1.0), overheads.cost_model(0.2)
    assert shared == CostModel()
    assert cheap.version_factor(overheads.VERSION) == pytest.approx(
        0.2 * shared.version_factor(overheads.VERSION)
    )
    assert (cheap.read_us, cheap.write_us) == pytest.approx((0.2 * shared.read_us, 0.2 * shared.write_us))
    assert cheap.consumer_wake_us == pytest.approx(0.2 * shared.consumer_wake_us)


def test_the_best_limit_has_the_highest_throughput_in_the_second_half() -> None:
    parameters = experiment(max_spout_pending.SLUG).checked(
        {"limits": [1, 10, 100], "seeds": [1], "static_s": 300.0}
    )
    rates = pd.concat(
        [
            series(static_variant(limit), 1, 60.0, acked_per_s=[90.0, 90.0, rate, rate, rate])
            for limit, rate in ((1, 10.0), (10, 43.0), (100, 42.0))
        ]
    )
    found = tables(throughput_60s=rates)
    assert best_static(found, parameters, (1,)) == (10, [43.0])


def test_tuner_decisions_are_listed_in_time_order_with_their_limits() -> None:
    events = control(
        "tuner-from-2",
        1,
        [
            (240.0, "tuner", "decrease", "t", {"before": 3, "limit": 2}),
            (120.0, "tuner", "increase", "t", {"before": 2, "limit": 3}),
            (130.0, "nimbus", "assign", "t", {}),
        ],
    )
    found = tuning(tables(control=events), "tuner-from-2", 1)
    assert found["limit"].tolist() == [3, 2]
    assert found["action"].tolist() == ["increase", "decrease"]


def test_a_windows_bundled_metrics_are_converted_to_tuples() -> None:
    # Bundles of 100, a window of 3 real seconds: 200 s count, in which 200 bundles took 1 s each.
    latency = pd.DataFrame(
        [
            {
                "variant": "w",
                "seed": 1,
                "tuples": 200,
                "complete_mean_ms": 1000.0,
                "complete_p50_ms": 900.0,
                "complete_p99_ms": 3000.0,
            }
        ]
    )
    cores = series("w", 1, FULL_FROM_S, cores_used=[9.0, 0.5]).assign(node="machine01")
    failed = series("w", 1, 60.0, failed=[0, 0])
    found = window_row(
        tables(steady_latency=latency, node_cpu_60s=cores, failures_60s=failed),
        "w",
        1,
        100,
        3.0,
    )
    assert found["million_a_min"] == pytest.approx(100 * 60 / 1e6)
    assert (found["mean_ms"], found["p99_ms"]) == (10.0, 30.0)
    assert found["in_flight"] == pytest.approx(1.0)
    assert found["cpu_ms_a_tuple"] == pytest.approx(0.5 / 100 * 1e3), "the start's CPU is left out"


def test_an_outage_ends_when_throughput_stays_near_its_level() -> None:
    rates = [6.0] * 30 + [1.0, 2.0, 5.9, 3.0, 6.0] + [6.0] * 20
    values = pd.DataFrame({"throughput": rates}, index=pd.Index([10.0 * n for n in range(len(rates))]))
    assert AT_S == 300.0
    assert outage_s(values) == 40.0


def test_the_full_scale_is_one_run_and_can_be_left_out() -> None:
    declared = experiment(scaling.SLUG)
    full = [spec for spec in declared.runs(declared.checked()) if spec.parameters.integer("bundle") == 1]
    assert len(full) == 1
    without = declared.runs(declared.checked({"full_scale": False}))
    assert all(spec.parameters.integer("bundle") > 1 for spec in without)
