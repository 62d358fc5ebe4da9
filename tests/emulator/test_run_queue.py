"""Threads that take turns on a full node, and nodes that take turns at a machine, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from storm_lab.emulator.state.kinds import MAIN
from storm_lab.model.version import V0_9_7
from tests.emulator.scene import MS, SECOND, US, Scene, at_times, bolts_apart, in_turn, nodes, start_chain

TURN = 4 * MS


def calls(bolts: int, cores: int, turn_ns: int) -> Scene:
    """``bolts`` bolts on node 0 get a tuple each, whose call takes a second."""
    scene = start_chain(
        (1, bolts),
        SECOND,
        at_times(np.full(bolts, 100 * MS)),
        nodes(2, cores=cores),
        bolts_apart,
        version=V0_9_7,
        ideal=True,
    )
    scene.plane.kernel.cost["turn"] = turn_ns
    scene.plane.run_until(100 * MS + 500 * US)
    return scene


def threads_on_cores(scene: Scene, steps: int = 200) -> list[set[int]]:
    """Main threads that have a core of node 0, sampled every ms."""
    seen = []
    for _ in range(steps):
        scene.plane.run_until(scene.plane.now_ns + MS)
        k = scene.plane.kernel
        running = k.burst["thread"][: int(k.node["active"][0])]
        seen.append({int(thread) for thread in running if k.thread["kind"][thread] == MAIN})
    return seen


def stretches(seen: list[set[int]], thread: int) -> set[int]:
    """Lengths in ms of the stretches for which a thread had a core."""
    has = np.array([False, *(thread in running for running in seen), False])
    edges = np.flatnonzero(np.diff(has))
    return {int(n) for n in (edges[1::2] - edges[::2])[1:-1]}


def test_without_turns_all_threads_run_at_once() -> None:
    assert all(len(running) == 2 for running in threads_on_cores(calls(2, 1, 0)))


def test_threads_of_a_full_core_run_one_after_another_for_a_turn_each() -> None:
    seen = threads_on_cores(calls(2, 1, TURN))
    first, second = set.union(*seen)
    assert all(len(running) == 1 for running in seen)
    assert stretches(seen, first) == stretches(seen, second) == {4}


@pytest.mark.parametrize(
    ("pollers", "park_ms", "wait_ms", "turn_ms"), [(1, 1, 1, 2), (2, 1, 1, 1), (1, 2, 6, 4), (0, 1, 0, 4)]
)
def test_polls_for_room_end_turns(pollers: int, park_ms: int, wait_ms: int, turn_ms: int) -> None:
    """A thread that polls takes the core of the one that runs, and then the next one gets it."""
    scene = calls(2, 1, TURN)
    scene.plane.kernel.cost["room_poll"] = US
    scene.plane.kernel.cost["fine_poll"] = park_ms * MS
    scene.plane.kernel.cost["poll_wait"] = wait_ms * MS
    scene.plane.kernel.node["poll_rate"][0] = 1024 * pollers
    seen = threads_on_cores(scene)
    first, second = set.union(*seen)
    assert stretches(seen, first) == stretches(seen, second) == {turn_ms}


def test_no_thread_gives_up_its_core_if_every_thread_has_one() -> None:
    assert all(len(running) == 2 for running in threads_on_cores(calls(2, 2, TURN)))


def test_three_threads_get_equal_shares_of_two_cores() -> None:
    seen = threads_on_cores(calls(3, 2, TURN), steps=600)
    assert all(len(running) == 2 for running in seen)
    for thread in set.union(*seen):
        assert sum(thread in running for running in seen) == pytest.approx(400, abs=8)


@pytest.mark.parametrize("late_us", range(0, 1000, 100))
def test_a_line_goes_to_another_spout_while_the_first_waits_for_a_core(late_us: int) -> None:
    """A call has just taken the only core of one spout's node; the other spout's node is free.

    Spouts look for a line once a millisecond. The first to look gets the second line only if it has a core.
    """
    second = 101 * MS + late_us * US
    scene = start_chain(
        (2, 1),
        SECOND,
        at_times([100 * MS, second]),
        nodes(2, cores=1),
        in_turn(2),
        version=V0_9_7,
        ideal=True,
    )
    scene.plane.kernel.cost["turn"] = TURN
    scene.plane.run_until(second - 1)
    assert scene.plane.kernel.source["taken"].tolist() == [1]
    scene.plane.run_until(second + MS)
    assert scene.plane.kernel.source["taken"].tolist() == [2]


def waits_us(work_ns: int, every_ns: int, turn_ns: int) -> NDArray[np.float64]:
    """Waits in us of tuples for a bolt on a node whose only core is also wanted by an endless call.

    In the order of their arrival, beginning after the start of that call.
    """
    arrivals = np.concatenate(([100 * MS], np.arange(110 * MS, SECOND, every_ns)))
    scene = start_chain(
        (1, 1, 1),
        [np.array([work_ns] * len(arrivals)), np.array([10 * SECOND] * len(arrivals))],
        at_times(arrivals),
        nodes(2, cores=1),
        bolts_apart,
        version=V0_9_7,
        ideal=True,
        sample_every=1,
    )
    scene.plane.kernel.cost["turn"] = turn_ns
    scene.play(SECOND)
    mine = scene.tape.column("executions", "component") == "bolt0"
    asked, began = (
        np.sort(scene.tape.column("executions", name)[mine]) for name in ("enqueue_ns", "start_ns")
    )
    return (began - asked)[1:] / US


def test_a_thread_that_has_used_less_than_others_gets_a_core_at_once() -> None:
    """At first all threads have used equally much, so the call keeps its core to the end of its turn.

    By then the bolt and the threads that hand the tuple on have waited, so they have used less and get the
    core at once, until they have caught up.
    """
    waits = waits_us(100 * US, 10 * MS, TURN)
    assert waits[0] == pytest.approx(4000, abs=1)
    assert (waits == 0).mean() > 0.95
    assert waits.max() <= 4001


def test_a_thread_that_has_used_more_than_its_share_waits_for_the_others() -> None:
    """Calls of 2 ms every 3 ms on half a core: one ends every 4 ms, so each waits 1 ms longer."""
    waits = waits_us(2 * MS, 3 * MS, TURN)
    assert np.diff(waits)[50:100].mean() == pytest.approx(1000, rel=0.05)
