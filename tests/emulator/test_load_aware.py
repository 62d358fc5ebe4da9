"""Shuffle follows the loads that workers report by timers, which in 2.x also refresh weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.kernel.load_aware import REPORT_NS
from storm_lab.emulator.state import kinds
from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.version import V1_0_0, V2_8_8
from tests.emulator.scene import (
    MS,
    SATURATED,
    SECOND,
    US,
    Scene,
    at_times,
    chain,
    chain_trace,
    constant_work,
    in_turn,
    nodes,
    rate,
    start,
    start_chain,
)
from tests.emulator.test_overflow import SMALL, mains


def test_rings_of_2_x_turn_from_a_full_target_while_the_sender_waits_for_it() -> None:
    """One of two bolts is ten times as slow: it needs half a minute for its full queue, and the spout waits.

    A timer takes ten of its weight of 100 every second from the first report of its load on, after 5 s.
    """
    scene = start_chain((1, 2), 100 * US, SATURATED, nodes(3, cores=4), in_turn(3), version=V2_8_8)
    k = scene.plane.kernel
    bolts = mains(scene, spouts=False)
    k.node["slowdown"][k.thread["node"][bolts[0]]] *= 10
    weights = []
    for second in (4, 30):
        scene.play(second * SECOND)
        weights.append([int(value) % 1000 for value in k.permutation[:2]])
    (spout,) = mains(scene, spouts=True)
    assert k.thread["senders"][bolts[0]] == spout
    assert weights == [[100, 100], [0, 100]]


def test_each_worker_of_2_x_refreshes_its_weights_after_a_second_and_up_to_half_a_second_more() -> None:
    """``StormTimer.scheduleRecurringWithJitter(0, 1, 500)``: a time that is drawn anew each time."""
    scene = start_chain((1, 1), 0, at_times([0]), nodes(2), in_turn(2), version=V2_8_8)
    workers = [i for i, worker in enumerate(scene.plane.kernel.worker) if worker.alive]
    due: dict[int, list[int]] = {i: [] for i in workers}
    for ms in range(0, 20_000, 50):
        scene.play(ms * MS)
        for i in workers:
            at = int(scene.plane.kernel.worker[i].refresh_due)
            if at not in due[i]:
                due[i].append(at)
    first, second = (np.diff(due[i]) for i in workers)
    for waits in (first, second):
        assert len(waits) >= 12
        assert waits.min() >= SECOND
        assert waits.max() < 1.5 * SECOND
        assert len(set(waits.tolist())) == len(waits)
    assert set(due[workers[0]]).isdisjoint(due[workers[1]])


def _one_each(executor: Executor) -> Slot:
    """Place the second bolt of two on a node of its own."""
    return Slot("node1" if executor.start == 2 else "node0", 6700)


def _rings(scene: Scene, until: int) -> list[tuple[int, int, int, bool, bool]]:
    """Return all states of the first ring until a time: scope, and weight and membership of two targets."""
    k = scene.plane.kernel
    seen: list[tuple[int, int, int, bool, bool]] = []
    for ms in range(0, until // MS, 10):
        scene.play(ms * MS)
        own, other = (int(cell) for cell in k.permutation[:2])
        ring = (int(k.shuffle[0].scope), own % 1000, other % 1000, own >= 1000, other >= 1000)
        if ring not in seen:
            seen.append(ring)
    return seen[1:]


def test_a_ring_of_2_x_that_widens_takes_ten_from_its_loaded_target_at_once() -> None:
    """From 9 s on the spout floods the bolt of its own worker, whose queue then is full; another is idle."""
    lines = at_times([0] + [9 * SECOND] * 10_000)
    scene = start_chain((1, 2), 1 * MS, lines, nodes(2, cores=4), _one_each, given=SMALL, version=V2_8_8)
    rings = _rings(scene, 14 * SECOND)
    # Its scope is the worker; then the node, which has no further target; then the rack.
    assert rings[0] == (kinds.IN_PROCESS, 100, 100, True, False)
    assert (kinds.IN_RACK, 90, 100, True, True) in rings


def test_a_target_counts_as_full_until_its_worker_has_reported_its_load() -> None:
    """The bolt of the spout's own worker is full from the start; the idle one reports after 5 s or later."""
    scene = start_chain((1, 2), 1 * MS, SATURATED, nodes(2, cores=4), _one_each, given=SMALL, version=V2_8_8)
    rings = _rings(scene, 5 * SECOND)
    assert rings[-1] == (kinds.IN_CLUSTER, 100, 100, True, True)
    assert (kinds.IN_CLUSTER, 90, 100, True, True) in _rings(scene, 8 * SECOND)


def test_each_worker_reports_its_loads_at_times_of_its_own_five_to_six_and_a_half_seconds_apart() -> None:
    """``WorkerState.refreshLoad`` of 2.8.3: at the first time its timer fires after five seconds."""
    scene = start_chain((1, 1), 0, at_times([0]), nodes(2), in_turn(2), version=V2_8_8)
    k = scene.plane.kernel
    workers = [i for i, worker in enumerate(k.worker) if worker.alive]
    reports: dict[int, list[int]] = {i: [] for i in workers}
    for ms in range(0, 60_000, 50):
        scene.play(ms * MS)
        for i in workers:
            at = int(k.worker[i].report_due) - REPORT_NS
            if at > 0 and at not in reports[i]:
                reports[i].append(at)
    for times in reports.values():
        assert 5 * SECOND < times[0] <= 6.5 * SECOND
        assert all(5 * SECOND < wait <= 6.5 * SECOND for wait in np.diff(times))
    first, second = reports.values()
    assert len(first) >= 9
    assert set(first).isdisjoint(second)


def test_a_spout_that_starts_in_another_worker_begins_with_new_weights() -> None:
    """One of two bolts is too slow for the spout, and has lost all its weight when the worker ends."""
    scene = start_chain((1, 2), 100 * US, SATURATED, nodes(4, cores=4), in_turn(3), version=V2_8_8)
    k = scene.plane.kernel
    (spout,) = mains(scene, spouts=True)
    slow, _ = mains(scene, spouts=False)
    k.node["slowdown"][k.thread["node"][slow]] *= 10
    scene.play(30 * SECOND)
    assert [int(value) % 1000 for value in k.permutation[:2]] == [0, 100]
    old = next(slot for slot, worker in scene.workers.items() if worker == k.thread["worker"][spout])
    scene.plane.stop_worker(scene.workers[old])
    scene.start_again(old, Slot("node3", 6700))
    scene.play(30 * SECOND + 500 * MS)
    assert [int(value) % 1000 for value in k.permutation[:2]] == [100, 100]


@pytest.mark.parametrize(("version", "weights"), [(V1_0_0, (101, 1)), (V2_8_8, (100, 0))])
def test_of_an_executor_with_two_tasks_the_second_counts_as_full(
    version: StormVersion, weights: tuple[int, int]
) -> None:
    """A load is sent for an executor's first task alone (``WorkerState.refreshLoad`` of 2.8.3)."""
    topology = chain((1, 1))
    spout, bolt = topology.components
    topology = replace(topology, components=(spout, replace(bolt, tasks=2)), ackers=0)
    trace = chain_trace([constant_work(0, 10)], 100)
    scene = start(topology, trace, rate(100.0), version=version)
    scene.play(15 * SECOND)
    assert tuple(int(value) % 1000 for value in scene.plane.kernel.permutation[:2]) == weights
