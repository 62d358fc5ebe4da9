"""Shuffle follows the load of its targets; in 2.x each worker refreshes its weights by a timer."""

from __future__ import annotations

import numpy as np

from storm_lab.emulator.state import kinds
from storm_lab.model import Executor, Slot
from storm_lab.model.version import V2_8_8
from tests.emulator.scene import MS, SATURATED, SECOND, US, at_times, in_turn, nodes, start_chain
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


def test_a_ring_of_2_x_that_widens_takes_ten_from_its_loaded_target_at_once() -> None:
    """The spout floods the bolt of its own worker, whose queue then counts as full; another bolt is idle."""

    def place(executor: Executor) -> Slot:
        return Slot("node1" if executor.start == 2 else "node0", 6700)

    scene = start_chain((1, 2), 1 * MS, SATURATED, nodes(2, cores=4), place, given=SMALL, version=V2_8_8)
    k = scene.plane.kernel
    seen = []
    for ms in range(0, 5_000, 10):
        scene.play(ms * MS)
        ring = (int(k.shuffle[0].scope), *(int(cell) for cell in k.permutation[:2]))
        if ring not in seen:
            seen.append(ring)
    rows = [(scope, own % 1000, other % 1000, own >= 1000, other >= 1000) for scope, own, other in seen[1:]]
    # Its scope is the worker; then the node, which has no further target; then the rack.
    assert rows[0] == (kinds.IN_PROCESS, 100, 100, True, False)
    assert (kinds.IN_RACK, 90, 100, True, True) in rows
