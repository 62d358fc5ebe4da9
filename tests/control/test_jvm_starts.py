"""Durations of JVM starts on one node, where they share its cores, computed by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import fmean, stdev
from typing import Any

import pytest

from storm_lab.emulator.control.clock import Rank, SteppedPlane, VirtualClock, ns
from storm_lab.emulator.control.times import ControlTimes
from storm_lab.emulator.control.worker import CORES_PER_START, JvmStarts
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.plane import Plane
from storm_lab.model import Node
from storm_lab.model.version import V0_9_7, V0_10_0, V2_8_8
from tests.control.world import SAME_STARTS, chain, running

SEVEN = CostModel(jvm_start_cpu_s=7.0, jvm_start_cv=0.0, log_writer_part=0.0)
"""7 s of CPU on the tests' nodes, whose clock is the reference clock."""

ALONE_S = 7.0 / CORES_PER_START
LEAST_S = 5.0
# A JVM is up at most this much later than its CPU time implies, in seconds.
CLOSE_S = 0.0101


def ready_times(
    begun_s: list[float],
    cores: int = 2,
    cpu_s: float = 7.0,
    killed_s: dict[int, float] | None = None,
) -> dict[int, float]:
    """Seconds at which JVMs that start at ``begun_s`` are ready, by their numbers; nothing else runs."""
    clock = VirtualClock()
    plane = SteppedPlane(Plane(), clock)
    starts = JvmStarts(clock, plane, Node("node", cores=cores), ns(LEAST_S), ns(cpu_s))
    ready: dict[int, float] = {}

    def note(number: int) -> None:
        ready[number] = clock.now_ns / 1e9

    for number, at in enumerate(begun_s):
        clock.at(ns(at), Rank.PROCESS, "test", partial(starts.begin, number, partial(note, number)))
    for number, at in (killed_s or {}).items():
        clock.at(ns(at), Rank.PROCESS, "test", partial(starts.end, number))
    clock.run_until(ns(1000))
    return ready


def test_a_jvm_that_starts_alone_leaves_a_part_of_its_two_cores_idle():
    assert ready_times([0.0, 20.0]) == pytest.approx({0: ALONE_S, 1: 20.0 + ALONE_S}, abs=1e-6)


def test_a_jvm_that_needs_little_cpu_takes_exactly_the_least_start_time():
    assert ready_times([0.0, 20.0], cpu_s=5.0) == {0: 5.0, 1: 25.0}


def test_a_jvm_on_a_single_core_takes_as_long_as_its_cpu_time():
    """7 s of CPU take 7 s on one core."""
    assert ready_times([0.0], cores=1) == {0: pytest.approx(7.0, abs=CLOSE_S)}


def test_jvms_that_start_together_get_equal_shares_of_the_cores():
    """Three times 7 s of CPU take 10.5 s on two cores. Real 2.8.3: 10.8 to 11.7 s."""
    assert ready_times([0.0] * 3) == pytest.approx({0: 10.5, 1: 10.5, 2: 10.5}, abs=CLOSE_S)


def test_two_jvms_on_four_cores_do_not_slow_each_other_down():
    assert ready_times([0.0, 0.0], cores=4) == pytest.approx({0: ALONE_S, 1: ALONE_S}, abs=1e-6)


def test_later_jvms_slow_the_first_one_down_from_their_start_on():
    """Computed by hand on two cores: the second starts at 1 s, when the first has had 2 of its 7 s of CPU.

    Each then gets a core. At 6 s the first has had its 7 s and the second 5 s, and the second gets its last
    2 s on both cores. So both have had their CPU sooner than a JVM with cores to spare is up.
    """
    assert ready_times([0.0, 1.0]) == pytest.approx({0: ALONE_S, 1: 1.0 + ALONE_S}, abs=CLOSE_S)
    assert ready_times([0.0, 1.0, 1.0]) == pytest.approx({0: 8.5, 1: 10.5, 2: 10.5}, abs=CLOSE_S)


def test_a_killed_jvm_leaves_its_cores_to_the_others():
    """Three share two cores until 6 s, when each has had 4 s of CPU; two then need 3 s on a core each."""
    assert ready_times([0.0] * 3, killed_s={0: 6.0}) == pytest.approx({1: 9.0, 2: 9.0}, abs=CLOSE_S)


def test_a_jvm_that_was_killed_before_its_start_does_not_affect_the_others():
    assert ready_times([0.0, 1.0], killed_s={1: 0.5}) == ready_times([0.0, 1.0])


def test_jvms_without_cpu_to_spend_take_the_same_time_whatever_else_starts():
    assert set(ready_times([0.0] * 9, cores=1, cpu_s=0.0).values()) == {5.0}


def starts_took(workers: int, nodes: int = 1, **settings: Any) -> dict[str, float]:
    """Seconds from launch to readiness of a topology's workers on 2.8.8, by slot."""
    topology = chain(workers=workers, executors=max(3, workers))
    control, _ = running(60, topology, nodes, version=V2_8_8, **settings)
    launched = {entry.subject: entry.time_ns for entry in control.log.of("start-worker")}
    return {e.subject: (e.time_ns - launched[e.subject]) / 1e9 for e in control.log.of("worker-ready")}


def test_workers_on_other_nodes_do_not_slow_a_start_down():
    """Two nodes of 0.7 cores: one starts two workers in about 20 s, the other one worker in 10 s.

    Slots check their assignments at times of their own, so the two workers do not start at once.
    """
    took = starts_took(3, 2, quota=0.7, times=ControlTimes(), cost=SEVEN)
    nodes = [slot.split(":")[0] for slot in took]
    assert sorted(nodes.count(node) for node in nodes) == [1, 2, 2]
    for seconds, node in zip(took.values(), nodes, strict=True):
        assert seconds == pytest.approx(10.0 * nodes.count(node), abs=0.5)


def test_a_node_with_a_cpu_quota_starts_jvms_within_that_quota():
    """7 s of CPU take 10 s on 0.7 of a core. Real 0.9.2 with 0.88: 7.9 and 9.5 s, where 8 are due."""
    took = starts_took(1, quota=0.7, times=ControlTimes(), cost=SEVEN)
    assert list(took.values()) == pytest.approx([10.0], abs=CLOSE_S)


def test_the_switch_gives_every_worker_the_same_start_time():
    took = starts_took(3, times=ControlTimes(jvm_start_s=LEAST_S), cost=SAME_STARTS)
    assert list(took.values()) == pytest.approx([LEAST_S] * 3, abs=1e-6)


def test_starts_differ_by_their_spread_and_by_seed() -> None:
    """Eighty nodes of 0.5 cores, each of which starts one worker: 14 s on average."""
    cost = replace(SEVEN, jvm_start_cv=0.12)
    took, again, other = (
        list(starts_took(80, 80, quota=0.5, times=ControlTimes(), cost=cost, seed=seed).values())
        for seed in (1, 1, 2)
    )
    assert took == again
    assert set(took).isdisjoint(other)
    both = took + other
    assert fmean(both) == pytest.approx(14.0, rel=0.03)
    assert stdev(both) / fmean(both) == pytest.approx(0.12, abs=0.02)


def test_a_start_takes_less_cpu_on_a_faster_core():
    """7 s at 2 GHz are 3.5 s at 4 GHz, and half of that if a core does twice as much per clock."""
    assert SEVEN.worker_start_ns(Node("node", core_mhz=4000.0), V0_9_7) == 3_500_000_000
    assert SEVEN.worker_start_ns(Node("node", core_mhz=4000.0, work_per_clock=2.0), V0_9_7) == 1_750_000_000


def test_from_0_10_on_a_worker_starts_a_second_jvm_for_its_log():
    """7 s and three tenths of it. Real 2.8.3: log writers take 0.8 s of CPU each, workers 2.1 to 3.4."""
    cost, node = CostModel(jvm_start_cpu_s=7.0, log_writer_part=0.3), Node("node", core_mhz=2000.0)
    assert cost.worker_start_ns(node, V0_9_7) == 7_000_000_000
    assert cost.worker_start_ns(node, V0_10_0) == cost.worker_start_ns(node, V2_8_8) == 9_100_000_000
