"""Machine removal as declared, and how its minutes are read."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis
from storm_lab.model import Assignment, Component, Topology
from storm_lab.model.version import V0_8_2
from storm_lab.papers.registry import experiment
from storm_lab.papers.twitter.event_counting import plan
from storm_lab.papers.twitter.machine_removal import FETCH_READING, SLUG, measure, removals, runs
from storm_lab.papers.twitter.machine_removal_measures import (
    SUPPLIED,
    VARIANT,
    ackers_by_throughput,
    disturbance,
    disturbances,
    fresh_variant,
    latency_by_stage,
    supplied_series,
    throughput_by_stage,
    window_by_latency,
)
from storm_lab.papers.twitter.testbed import (
    IN_TURN,
    MACHINES,
    MOST_FREE_FIRST,
    SLOT_ORDERS,
    SLOTS,
    client_event_count,
    default_scheduler,
    machines,
)
from storm_lab.reporting.verdict import judge
from storm_lab.schedulers.contract import SchedulingView
from tests.papers.twitter_tables import series, tables

REMOVAL = experiment(SLUG)


def test_the_topology_is_the_printed_one() -> None:
    declared = client_event_count()
    assert {c.id: c.executors for c in declared.components} == {
        "spout": 200,
        "distributor": 200,
        "user-count": 300,
        "aggregator": 20,
    }
    assert declared.workers == 50


def test_fifty_workers_fit_on_four_machines_and_on_no_fewer_slots() -> None:
    assert len(list(machines(4).slots())) == 4 * SLOTS >= 50 > 4 * (SLOTS - 1)


def test_three_machines_fail_at_the_end_of_every_stage_but_the_last() -> None:
    plan = FaultPlan.of_rows(removals(900.0))
    at = [(fault.at_s, fault.node) for fault in plan.faults]
    assert len(at) == MACHINES[0] - MACHINES[-1] == 12
    assert at[:3] == [(900.0, "machine14"), (900.0, "machine15"), (900.0, "machine16")]
    assert at[-1] == (3600.0, "machine07")


def test_a_disturbance_ends_after_the_last_minute_off_the_level() -> None:
    minutes = pd.Series([5.0, 5.0, 20.0, None, 12.0, 10.5, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0])
    minutes.index = pd.Index([60.0 * place for place in range(12)])
    found = disturbance(minutes, 120.0, 600.0)
    assert found is not None
    assert (found.level, found.peak) == (10.0, 20.0)
    assert found.settled_s == 180.0, "the minute from 240 to 300 s is the last one off"


def test_a_series_that_never_settles_has_no_settling_time() -> None:
    minutes = pd.Series([1.0, 2.0, 1.0, 2.0], index=pd.Index([0.0, 60.0, 120.0, 180.0]))
    found = disturbance(minutes, 0.0, 240.0)
    assert found is not None
    assert found.settled_s is None
    assert disturbance(minutes, 240.0, 240.0) is None


def _stages() -> object:
    """Four minutes a stage; after a removal the first has half the throughput and twice the latency."""
    rates, means, tuples = [], [], []
    for stage, level in enumerate((6.8, 5.8, 5.2, 4.5, 2.2)):
        for minute in range(4):
            shaken = stage > 0 and minute == 0
            rates.append(level * 1e6 / 60 / 100 * (0.5 if shaken else 1.0))
            means.append(100 * 10.0 * (stage + 1) * (2.0 if shaken else 1.0))
            tuples.append(10)
    throughput = series(VARIANT, 1, 60.0, acked_per_s=rates)
    return tables(
        runs=throughput,
        throughput_60s=throughput,
        latency_60s=series(VARIANT, 1, 60.0, complete_mean_ms=means, tuples=tuples),
    )


def test_stage_values_are_read_from_the_stable_half_of_each_stage() -> None:
    parameters = REMOVAL.checked({"seeds": [1], "stage_s": 240.0, "bundle": 100})
    found = throughput_by_stage(_stages(), parameters, (1,))  # type: ignore[arg-type]
    assert [round(found[m][0] or 0, 6) for m in MACHINES] == [6.8, 5.8, 5.2, 4.5, 2.2]
    latencies = latency_by_stage(_stages(), parameters, (1,))  # type: ignore[arg-type]
    assert [latencies[m][0] for m in MACHINES] == [10.0, 20.0, 30.0, 40.0, 50.0]


def test_spikes_are_measured_against_the_stage_they_begin() -> None:
    parameters = REMOVAL.checked({"seeds": [1], "stage_s": 240.0, "bundle": 100})
    found = disturbances(_stages(), parameters, 1, "latency")  # type: ignore[arg-type]
    assert [(d.peak, d.level, d.settled_s) for d in found if d] == [
        (2 * level, level, 60.0) for level in (20.0, 30.0, 40.0, 50.0)
    ]
    found_here = measure(_stages(), parameters)  # type: ignore[arg-type]
    by_claim = {m.claim_id: m for m in found_here if not m.reading}
    assert by_claim["twitter-spike-recover"].value("spike").value == 2.0
    assert by_claim["twitter-spike-recover"].value("settled-after").value == 60.0
    assert by_claim["twitter-spike-size"].value("removal-4").value == 50.0
    assert set(by_claim) == set(REMOVAL.claims)


def test_acker_counts_are_sorted_by_distance_from_the_printed_throughput() -> None:
    parameters = REMOVAL.checked({"bundle": 100})
    parts = [
        series(fresh_variant(16, 9, number), 1, 10.0, acked_per_s=[0.0, *[rate] * 6])
        for number, rate in ((30, 900.0), (40, 1100.0), (50, 1250.0))
    ]
    latency = pd.concat(
        [
            pd.DataFrame({"variant": [fresh_variant(16, 9, n)], "seed": 1, "complete_mean_ms": 100.0})
            for n in (30, 40, 50)
        ]
    )
    found = tables(throughput_10s=pd.concat(parts), steady_latency=latency)
    chosen = ackers_by_throughput(found, parameters, (50, 30, 40), 1, 6.8)
    assert chosen["ackers"].tolist() == [40, 50, 30]
    assert chosen["million/min"].tolist() == pytest.approx([6.6, 7.5, 5.4])


def test_the_window_follows_from_latency_and_throughput_by_littles_law() -> None:
    # 6 million a minute are 100 thousand a second; 14 ms of them are 1400 in flight, 7 a spout task of 200.
    assert window_by_latency(14.0, 6.0, 200) == pytest.approx(7.0)


def test_the_supplied_series_is_counted_from_its_failure() -> None:
    rates = series(SUPPLIED, 1, 10.0, acked_per_s=[1.0] * 96)
    means = series(SUPPLIED, 1, 10.0, complete_mean_ms=[600.0] * 96)
    found = supplied_series(tables(throughput_10s=rates, latency_10s=means), 300)  # type: ignore[arg-type]
    assert found.index.min() == -120.0
    assert found.loc[0.0, "throughput"] == pytest.approx(300 * 60 / 1e6)
    assert found.loc[0.0, "latency"] == pytest.approx(2.0)


def test_workers_are_even_after_a_removal_if_the_machines_with_most_free_slots_come_first() -> None:
    """Fifty workers, one executor each. Sixteen machines become seven, three at a time, as in the paper."""
    topology = Topology("t", (Component("spout", 50),), workers=50, ackers=0)
    spread = {}
    for order in SLOT_ORDERS:
        present = Assignment({})
        for count in (16, 13, 10, 7):
            cluster = machines(count)
            left = {e: s for e, s in present.slots.items() if s.node in {n.id for n in cluster.nodes}}
            view = SchedulingView((topology,), cluster, V0_8_2, Assignment(left))
            present = default_scheduler(order).schedule(view).assignment
        spread[order] = sorted(Counter({s: s.node for s in present.slots.values()}.values()).values())
    assert spread[MOST_FREE_FIRST] == [7, 7, 7, 7, 7, 7, 8]
    assert sum(spread[IN_TURN]) == 50
    assert spread[IN_TURN][-1] - spread[IN_TURN][0] >= 2


def test_one_reading_changes_the_slot_order_and_another_adds_kafka_fetches() -> None:
    specs = {spec.variant: spec for spec in runs(REMOVAL.checked({"reading_seeds": 2}))}
    slots, fetch = specs[f"{VARIANT}-slots"], specs[f"{VARIANT}-fetch"]
    assert slots.parameters.text("slot_order") == MOST_FREE_FIRST
    assert specs[VARIANT].parameters.text("slot_order") == fetch.parameters.text("slot_order") == IN_TURN
    source = plan(fetch).sources["spout"]
    assert (source.fetch_ns, source.fetch_lines, source.fetch_thread) == (23_000_000, 18, True)
    assert plan(fetch).topology.max_spout_pending == 9
    assert plan(slots).sources["spout"].fetch_ns == 0
    assert (slots.seed, fetch.seed) == (2, 5)


def test_the_kafka_fetch_reading_is_fitted_to_two_rows_and_predicts_the_others() -> None:
    parameters = REMOVAL.checked({"seeds": [1], "stage_s": 240.0, "bundle": 100})
    stages = _stages()
    for table in (stages.throughput_60s, stages.latency_60s):  # type: ignore[attr-defined]
        table["variant"] += "-fetch"
    ledger = load_claims()
    found = {
        m.claim_id: judge(ledger.claim(m.claim_id), m).basis
        for m in measure(stages, parameters)  # type: ignore[arg-type]
        if m.reading == FETCH_READING
    }
    fitted = {claim for claim, basis in found.items() if basis is Basis.FITTED}
    assert fitted == {f"twitter-{name}-{count}m" for name in ("thr", "lat") for count in (16, 4)}
    assert {found[f"twitter-lat-{count}m"] for count in (13, 10, 7)} == {Basis.PREDICTED}


def test_tried_settings_are_played_with_one_seed() -> None:
    specs = runs(REMOVAL.checked({"seeds": [3, 4]}))
    assert [spec.seed for spec in specs if spec.variant == VARIANT] == [3, 4]
    full = {VARIANT + tag for tag in ("", "-slots", "-fetch")}
    assert {spec.seed for spec in specs if spec.variant not in full} == {3}
