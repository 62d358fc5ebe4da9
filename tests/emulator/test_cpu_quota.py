"""A node that has used up its CPU quota stops until the next period begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storm_lab.model.version import V0_9_7, V2_8_8
from tests.emulator.scene import (
    MS,
    PLAIN,
    SATURATED,
    SECOND,
    US,
    Scene,
    at_times,
    bolts_apart,
    nodes,
    rate,
    start_chain,
)


def calls(
    calls_ns: list[int],
    *,
    bolts: int = 1,
    cores: int = 1,
    quota: float | None = 0.25,
    period_ms: float = 100.0,
) -> Scene:
    """Bolts on one node that all get tuples at 200 ms; quota periods begin at multiples of their length."""
    scene = start_chain(
        (1, bolts),
        [np.array(calls_ns)],
        at_times(np.full(len(calls_ns), 200 * MS)),
        nodes(2, cores=cores, cpu_quota=quota, quota_period_ms=period_ms),
        bolts_apart,
        version=V0_9_7,
        ideal=True,
    )
    scene.play(3 * SECOND)
    return scene


def ends_ms(scene: Scene) -> list[float]:
    """Ends of the calls, in ms after the tuples arrived."""
    return [float(ns) / MS for ns in np.sort(scene.tape.column("executions", "end_ns")) - 200 * MS]


def test_a_quota_of_a_quarter_core_is_one_core_for_a_quarter_of_each_period():
    # 25 ms of each 100: 60 ms of work are done 10 ms into the third period.
    assert ends_ms(calls([60 * MS])) == pytest.approx([210])


def test_work_within_the_quota_is_not_held_back():
    assert ends_ms(calls([24 * MS])) == pytest.approx([24])


def test_two_cores_use_up_a_quota_in_half_the_time():
    # Both run for 12.5 ms of each period, and have 10 ms left to do in the second.
    assert ends_ms(calls([22_500_000] * 2, bolts=2, cores=2)) == pytest.approx([110, 110])


def test_short_periods_spread_the_same_share_more_evenly():
    assert ends_ms(calls([60 * MS], period_ms=4.0)) == pytest.approx([237])


def test_without_a_quota_a_node_never_stops():
    assert ends_ms(calls([60 * MS], quota=None)) == pytest.approx([60])


def cpu_of_polls(quota: float | None) -> float:
    """Cores that a bolt of 2.x uses on a node of its own when a tuple without work arrives every 20 ms."""
    scene = start_chain(
        (1, 1),
        [np.zeros(10, np.int64)],
        rate(50.0),
        nodes(2, cores=2, cpu_quota=quota, quota_period_ms=20.0),
        bolts_apart,
        version=V2_8_8,
        cost=replace(PLAIN, idle_jvm_share=0.0, look_us=10.0, look_beside=1.0, park_us=55.0),
    )
    scene.plane.run_until(SECOND)
    used = scene.plane.sample().executor_cpu_ns.items()
    return sum(cpu for (_, executor), cpu in used if executor.component == "bolt0") / SECOND


def test_housekeeping_counts_towards_the_quota_even_while_that_is_used_up():
    """Computed by hand: two cores use up the quota of half a core in a quarter of a period, and the worker's
    housekeeping takes a tenth of a core all the time.
    """
    scene = start_chain(
        (2, 1),
        [np.full(100, MS)],
        SATURATED,
        nodes(1, cores=2, cpu_quota=0.5, quota_period_ms=20.0),
        version=V0_9_7,
        cost=replace(PLAIN, idle_jvm_share=0.1),
    )
    scene.plane.run_until(10 * SECOND)
    used_ns = scene.plane.sample().node_cpu_ns["node0"]
    assert used_ns / (10 * SECOND) == pytest.approx(0.5, abs=0.01)


def test_polls_of_idle_threads_count_towards_the_quota():
    # A poll of 10 us every 65 us.
    assert cpu_of_polls(None) == pytest.approx(10 / 65, rel=0.1)
    assert cpu_of_polls(0.05) == pytest.approx(0.05, rel=0.1)


@given(
    calls_ms=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    quota=st.floats(0.1, 1.0),
    period_ms=st.floats(2.0, 100.0),
)
def test_cpu_used_never_exceeds_the_quota_of_the_periods_begun(
    calls_ms: list[int], quota: float, period_ms: float
):
    scene = calls([ms * MS for ms in calls_ms], quota=quota, period_ms=period_ms)
    ends = ends_ms(scene)
    done_ms = np.cumsum(calls_ms)
    periods = np.floor((np.array(ends) + 200) / period_ms) - np.floor(200 / period_ms) + 1
    assert len(ends) == len(calls_ms)
    assert (done_ms <= periods * quota * period_ms + 0.001 * len(ends)).all()


def test_a_node_that_was_idle_for_several_periods_has_its_whole_quota():
    scene = start_chain(
        (1, 1),
        [np.full(10, 10 * US)],
        rate(23.7),
        nodes(2, cores=2, cpu_quota=0.15, quota_period_ms=10.0),
        bolts_apart,
        ackers=None,
        version=V0_9_7,
        cost=replace(PLAIN, idle_jvm_share=0.1),
    )
    scene.play(20 * SECOND)
    waits = scene.tape.spans("enqueue_ns", "end_ns")
    # The worker needs a tenth of a core, the quota is 0.15: no tuple waits for the next period of 10 ms.
    assert waits.max() < MS
