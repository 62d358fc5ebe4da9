"""Bundles: playing k tuples as one shows the same system in k-fold slow motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from storm_lab.emulator.bundle import LARGEST, Bundle
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.errors import UserError
from storm_lab.model import StormVersion
from storm_lab.model.settings import DISRUPTOR_BATCH, DISRUPTOR_FLUSH_MS, LOAD_AWARE_OFF
from storm_lab.model.version import V1_0_6
from tests.emulator.scene import (
    MS,
    PLAIN,
    SECOND,
    US,
    Scene,
    chain,
    chain_trace,
    constant_work,
    in_turn,
    nodes,
    plane_of,
    poisson,
    start,
)

ONLY_TUPLES = replace(PLAIN, idle_jvm_share=0.0)
"""Costs without work that keeps its own time, so that the slow motion is exact."""
K = 20


def _play(bundle: Bundle, real_s: float, source: SourcePlan, **options: Any) -> Scene:
    """``real_s`` seconds of the system that the bundles stand for: a spout and two bolts on two nodes."""
    settings = options.pop("settings", {})
    topology = chain([2, 2, 3], ackers=2, max_spout_pending=8, message_timeout_s=1e6, settings=settings)
    trace = chain_trace([constant_work(200 * US), constant_work(300 * US)])
    scene = start(
        topology,
        trace,
        source,
        nodes(2, cores=2),
        in_turn(2),
        cost=options.pop("cost", ONLY_TUPLES),
        bundle=bundle,
        **options,
    )
    scene.plane.run_until(round(real_s * bundle.size * SECOND))
    return scene


def _latencies(scene: Scene) -> NDArray[np.int64]:
    scene.plane.finish()
    acked = scene.tape.column("roots", "outcome") == "acked"
    found: NDArray[np.int64] = scene.tape.column("roots", "latency_ns")[acked]
    return found


SATURATED = SourcePlan(SourceKind.SATURATED, on_fail=FailurePolicy.REPLAY)


def test_the_steady_state_is_the_same_in_slow_motion() -> None:
    single = _latencies(_play(Bundle(), 2.0, SATURATED))
    bundled = _latencies(_play(Bundle(K), 2.0, SATURATED))
    assert len(single) > 1000
    # The same number of bundles in k times the time means the same number of tuples a second. Rounding to
    # nanoseconds is k times finer for bundles, so the order of events, and so the rest of the run, differs.
    assert len(bundled) == pytest.approx(len(single), rel=0.01)
    assert bundled.mean() / K == pytest.approx(single.mean(), rel=0.01)
    assert np.percentile(bundled, 99) / K == pytest.approx(np.percentile(single, 99), rel=0.05)


def test_without_contention_bundles_multiply_every_latency_by_k() -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=100.0, on_fail=FailurePolicy.REPLAY)
    single, bundled = (_latencies(_play(Bundle(size), 1.0, source)) for size in (1, K))
    assert len(single) == len(bundled) > 90
    assert np.abs(bundled - K * single).max() <= 50 * K, "to within the rounding of fifty steps"


def test_flush_intervals_are_stretched_like_the_tuples_that_wait_for_them() -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=100.0, on_fail=FailurePolicy.REPLAY)

    def mean_ms(size: int, settings: Mapping[str, int]) -> float:
        # Workers report the loads of their queues by the clock.
        given = {LOAD_AWARE_OFF: True, **settings}
        scene = _play(Bundle(size), 1.0, source, version=V1_0_6, settings=given)
        return float(_latencies(scene).mean()) / size / MS

    batches = {DISRUPTOR_BATCH: 100, DISRUPTOR_FLUSH_MS: 5}
    # A tree passes seven queues and connections until the acker knows all of it: far longer than its work.
    assert mean_ms(1, batches) > 20 > 5 * mean_ms(1, {DISRUPTOR_BATCH: 1})
    assert mean_ms(K, batches) == pytest.approx(mean_ms(1, batches), rel=0.02)


def test_bundles_use_as_much_cpu_as_single_tuples() -> None:
    def cores(bundle: Bundle) -> float:
        scene = _play(bundle, 2.0, SATURATED)
        return float(scene.plane.kernel.thread["cpu"].sum()) / scene.plane.now_ns

    assert cores(Bundle(K)) == pytest.approx(cores(Bundle()), rel=0.01)


@pytest.mark.parametrize("rate", [40.0, 400.0])
def test_waits_that_time_out_cost_as_much_with_bundles_as_with_single_tuples(rate: float) -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=rate, anchored=False)

    def waits(bundle: Bundle) -> float:
        taken = []
        for wake_us in (0.0, 5.0):
            cost = replace(ONLY_TUPLES, consumer_wake_us=wake_us)
            scene = _play(bundle, 10.0, source, cost=cost, version=StormVersion((0, 9, 2)))
            taken.append(float(scene.plane.kernel.thread["cpu"].sum()) / scene.plane.now_ns)
        return taken[1] - taken[0]

    assert waits(Bundle(K)) == pytest.approx(waits(Bundle()), rel=0.02)


def test_a_source_with_a_rate_delivers_a_kth_of_it_even_after_a_change() -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=600.0, on_fail=FailurePolicy.REPLAY)
    scene = _play(Bundle(K), 0.5, source)
    assert scene.plane.acked_roots("t") == pytest.approx(600 * 10 / K, abs=2)
    scene.plane.set_load("t", "spout", 200.0)
    scene.plane.run_until(scene.plane.now_ns + 10 * SECOND)
    assert scene.plane.acked_roots("t") == pytest.approx((600 + 200) * 10 / K, abs=3)


def test_every_k_recorded_arrivals_make_one_bundle() -> None:
    source = poisson(500.0, 4000)
    scene = _play(Bundle(K), 0.2, source)
    scene.plane.finish()
    emitted = scene.tape.column("roots", "emit_ns") if "roots" in scene.tape.rows else np.zeros(0)
    assert source.arrivals_ns is not None
    arrived = int((source.arrivals_ns < scene.plane.now_ns).sum())
    executed = int(sum(chunk["emitted"].sum() for chunk in scene.tape.rows["counts"])) // 2
    assert len(emitted) == 0, "not anchored"
    assert executed == pytest.approx(arrived / K, abs=2)


def test_with_delays_switched_off_only_costs_are_stretched() -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=100.0, on_fail=FailurePolicy.REPLAY)
    stretched = _latencies(_play(Bundle(K), 1.0, source))
    costs_only = _latencies(_play(Bundle(K, delays=False), 1.0, source))
    least = stretched - costs_only
    assert (least > (K - 1) * PLAIN.wake_us * US).all(), "a wake-up at least is not stretched"


def test_timeouts_are_not_stretched_so_slow_bundles_can_fail() -> None:
    topology = chain([1, 1], ackers=1, max_spout_pending=400, message_timeout_s=1.0)
    trace = chain_trace([constant_work(MS)])

    def failed(size: int) -> int:
        scene = start(topology, trace, SATURATED, cost=ONLY_TUPLES, bundle=Bundle(size))
        scene.plane.run_until(4 * SECOND)
        scene.plane.finish()
        return int((scene.tape.column("roots", "outcome") == "failed").sum())

    assert failed(1) == 0, "400 pending at 1 ms each wait 0.4 s"
    assert failed(10) > 0, "played ten times slower they wait 4 s, and the timeout is still 1 s"


def test_bundles_of_one_tuple_change_nothing() -> None:
    plain = _play(Bundle(), 0.2, SATURATED)
    assert (_latencies(plain) == _latencies(_play(Bundle(1), 0.2, SATURATED))).all()


@pytest.mark.parametrize("size", [0, -3, LARGEST + 1])
def test_a_bundle_of_an_invalid_size_is_refused(size: int) -> None:
    with pytest.raises(UserError, match="a bundle needs a whole number") as refusal:
        Bundle(size)
    assert refusal.value.field == "bundle.size"


def test_too_few_recorded_arrivals_are_refused() -> None:
    with pytest.raises(UserError, match="does not fill a bundle"):
        _play(Bundle(K), 0.1, poisson(100.0, K - 1))


@pytest.mark.parametrize(("rate_per_s", "size"), [(5.0, 10_000), (12.5, 7_000)])
def test_a_rate_that_bundles_would_round_is_refused(rate_per_s: float, size: int) -> None:
    with pytest.raises(UserError, match=rf"bundle.size = {size}: .* round a source's rate"):
        _play(Bundle(size), 0.1, SourcePlan(SourceKind.RATE, rate_per_s=rate_per_s))


def test_bundles_of_a_topology_that_is_submitted_later_begin_with_it() -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=1000.0, anchored=False)
    plan = TopologyPlan(
        chain([1, 1]), chain_trace([constant_work(10 * US)]), {"spout": source}, submit_s=20.0
    )
    plane = plane_of(nodes(1), [plan], bundle=Bundle(10))
    assert plane.kernel.source["origin"].tolist() == [20 * SECOND]


@pytest.mark.parametrize(
    "cost",
    [{"asleep_us": 200.0}, {"cold_cache_us": 500.0}, {"look_us": 15.0, "timer_slack_us": 55.0}],
    ids=str,
)
def test_waking_up_costs_as_much_with_bundles_as_with_single_tuples(cost: dict[str, float]) -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=200.0, anchored=False)

    def cores(bundle: Bundle) -> float:
        given = replace(ONLY_TUPLES, **cost)
        scene = _play(bundle, 10.0, source, cost=given, version=StormVersion((0, 9, 7)))
        return float(scene.plane.kernel.thread["cpu"].sum()) / scene.plane.now_ns

    assert cores(Bundle(K)) == pytest.approx(cores(Bundle()), rel=0.02)
