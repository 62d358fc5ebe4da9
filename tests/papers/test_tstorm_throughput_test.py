"""T-Storm's Throughput Test as declared, and the readings of section V on tables made by hand."""

from typing import Any

import pandas as pd
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model.executor import executors_of
from storm_lab.model.topology import Grouping
from storm_lab.papers.tstorm import chain, gamma_runs
from storm_lab.papers.tstorm.testbed import STORM, VERSION
from storm_lab.papers.tstorm.throughput_test import EXPERIMENT, describe, figure_runs, plan, topology

DEFAULTS = EXPERIMENT.checked()
RUN = {"variant": "v", "seed": 1}


def test_the_topology_is_the_printed_one() -> None:
    declared = topology(DEFAULTS)
    assert {c.id: c.executors for c in declared.components} == {"spout": 5, "identity": 15, "counter": 15}
    assert declared.workers == 40
    assert len(executors_of(declared, VERSION)) == 45, "ten ackers: 45 executors give 7 and 2 nodes"


def test_counters_are_grouped_by_identifier_or_not_at_all() -> None:
    (by_id,) = topology(DEFAULTS).component("counter").inputs
    assert (by_id.grouping, by_id.fields) == (Grouping.FIELDS, ("id",))
    (shuffled,) = topology(EXPERIMENT.checked({"counting": "shuffle"})).component("counter").inputs
    assert shuffled.grouping is Grouping.SHUFFLE


def test_storm_runs_once_per_seed_and_tstorm_once_per_gamma_too() -> None:
    specs = figure_runs(EXPERIMENT.checked({"gammas": [1.0, 6.0], "seeds": [4, 5]}))
    assert [(spec.variant, spec.seed) for spec in specs] == [
        (variant, seed) for variant in (STORM, "tstorm-g1", "tstorm-g6") for seed in (4, 5)
    ]
    assert "gamma" not in specs[0].parameters and "capacity_fraction" not in specs[0].parameters


def test_another_length_of_the_warm_up_is_tried_with_the_first_seed_only() -> None:
    parameters = EXPERIMENT.checked(
        {"gammas": [1.0], "seeds": [4, 5], "warm_up_calls_tried": [5000.0], "trials": False}
    )
    tried = [spec for spec in EXPERIMENT.runs(parameters) if spec.variant.endswith("-u5000")]
    assert [(spec.variant, spec.seed) for spec in tried] == [
        ("storm-default-u5000", 4),
        ("tstorm-g1.7-u5000", 4),
    ]
    assert all(spec.parameters.number("warm_up_calls") == 5000.0 for spec in tried)
    default = CostModel().warm_up_calls
    assert {spec.parameters.number("warm_up_calls") for spec in figure_runs(parameters)} == {default}


def test_heaps_more_than_half_full_are_played_with_every_seed() -> None:
    specs = EXPERIMENT.runs(
        EXPERIMENT.checked({"gammas": [1.0], "seeds": [4, 5], "warm_up_calls_tried": [2400.0]})
    )
    tried = {spec.variant: spec for spec in specs if spec.variant.endswith("-fuller")}
    assert {(spec.variant, spec.seed) for spec in specs if spec.variant in tried} == {
        (f"{scheduler}-fuller", seed) for scheduler in (STORM, "tstorm-g1") for seed in (4, 5)
    }
    assert describe(tried["storm-default-fuller"]).cost.resident_mb == 640.0
    assert describe(specs[0]).cost.resident_mb == CostModel().resident_mb


def test_bolts_have_the_same_cost_as_in_section_iii() -> None:
    made = plan(EXPERIMENT.runs(EXPERIMENT.checked({"bolt_ms": 1.5}))[0])
    bolts = made.trace.records["cpu_ns"][made.trace.records["cpu_ns"] > 0]
    assert len(bolts) and (bolts == 1_500_000).all()
    assert DEFAULTS.number("bolt_ms") == next(p for p in chain.SHARED if p.name == "bolt_ms").default


def test_at_most_five_counters_get_tuples() -> None:
    made = plan(EXPERIMENT.runs(DEFAULTS)[0])
    assert made.sources["spout"].sleep_ns == 5_000_000
    keys = made.trace.records["key"]
    assert 1 <= len({int(key) % 15 for key in keys[keys != 0]}) <= 5
    assert made.trace.emissions["bytes"].min() > 10_240


class Tables:
    """Metric tables of one run that consolidates at 46-59 s and is re-assigned at 364 s."""

    latency_10s = pd.DataFrame(
        [
            {**RUN, "t_s": t, "tuples": 10, "processing_mean_ms": ms}
            for t, ms in [(10, 5.0), (50, 4.0), (60, 2.0), (100, 1.0), (110, 9.0), (370, 1.0), (380, 3.0)]
        ]
    )
    events = pd.DataFrame(
        [
            {**RUN, "kind": "rebalance", "time_s": 16.0},
            {**RUN, "kind": "re-assignment", "time_s": 364.0},
        ]
    )
    occupancy = pd.DataFrame(
        [
            {**RUN, "from_s": 15.0, "to_s": 59.3, "workers": 40},
            {**RUN, "from_s": 59.3, "to_s": 370.0, "workers": 10},
            {**RUN, "from_s": 370.0, "to_s": 1000.0, "workers": 7},
        ]
    )
    stabilisation = pd.DataFrame(
        [
            {**RUN, "from_s": 16.0, "to_s": 364.0, "stable_s": 110.0},
            {**RUN, "from_s": 364.0, "to_s": 1000.0, "stable_s": 430.0},
        ]
    )
    spikes = pd.DataFrame(
        [
            {**RUN, "time_s": 16.0, "peak_s": 50.0, "is_spike": True},
            {**RUN, "time_s": 364.0, "peak_s": 380.0, "is_spike": True},
        ]
    )


TABLES: Any = Tables()


def test_the_initial_period_ends_when_the_last_executor_is_ready_and_tuples_complete() -> None:
    assert gamma_runs.consolidated_s(TABLES, "v", [1]) == [59.3]


def test_without_a_rebalance_there_is_no_initial_period() -> None:
    assert gamma_runs.consolidated_s(TABLES, "v", [1, 2]) == [59.3, None]


def test_the_minute_after_a_moment_begins_with_its_bin() -> None:
    assert gamma_runs.minute_from(TABLES, "v", [1], [59.3]) == [pytest.approx((4 + 2 + 1) / 3)]
    assert gamma_runs.minute_from(TABLES, "v", [1], [None]) == [None]


def test_workers_are_read_before_the_first_generated_schedule() -> None:
    workers = gamma_runs.at_time(TABLES.occupancy, "workers", "v", [1, 2], gamma_runs.FIRST_SCHEDULE_S)
    assert workers == [10, None]


def test_the_re_assignment_is_the_one_after_the_first_generated_schedule() -> None:
    assert gamma_runs.stable_after(TABLES, "v", [1, 2]) == [430.0, None]
    assert gamma_runs.spike_at(TABLES, "v", [1, 2]) == [385.0, None]


def test_a_printed_spike_is_timed_by_minute_averages_from_submission_and_in_the_printed_phase() -> None:
    class Peak(Tables):
        latency_10s = pd.DataFrame(
            [
                {**RUN, "t_s": 10.0 * n, "processing_mean_ms": 50.0 if n == 39 else 1.0, "tuples": 10}
                for n in range(60)
            ]
        )

    tables: Any = Peak()
    # The bin of 390 to 400 s lies in the minute of 360 to 420 s, and in that of 344 to 404 s.
    own, phased = gamma_runs.spike_claim("tstorm-fig6b-spike", tables, "v", [1], 374.0)
    assert (own.value().value, own.reading) == (390.0, "")
    assert phased.value().value == 374.0 and phased.reading
    later: Any = Peak()
    later.latency_10s = later.latency_10s.assign(t_s=later.latency_10s["t_s"] + 30)
    assert gamma_runs.minute_peak_at(later, "v", [1, 2], 14.0) == [434.0, None], "it can fail, too"
