"""A thread that wakes while all cores are busy waits until one becomes free, or for a time slice."""

from __future__ import annotations

import numpy as np
import pytest

from storm_lab.emulator.state.kinds import NETWORK
from storm_lab.model.version import V0_9_7
from tests.emulator.scene import MS, SECOND, US, Scene, at_times, bolts_apart, nodes, rate, start_chain

SLICE = 750 * US


def two_calls(first_ns: int, *, cores: int = 1, slice_ns: int = SLICE) -> Scene:
    """Two bolts on a node get a tuple each, 10 us apart; the first one's call takes ``first_ns``."""
    scene = start_chain(
        (1, 2),
        [np.array([first_ns, US])],
        at_times([100 * MS, 100 * MS + 10 * US]),
        nodes(2, cores=cores),
        bolts_apart,
        version=V0_9_7,
        ideal=True,
    )
    scene.plane.kernel.cost["slice"] = slice_ns
    scene.play(SECOND)
    return scene


def waits_us(scene: Scene) -> list[float]:
    """Waits in us from each tuple's emit to the start of its execute, in the order of emits."""
    began = np.sort(scene.tape.column("executions", "start_ns"))
    return [float(ns) / US for ns in began - 100 * MS - np.array([0, 10 * US])]


def test_a_waking_thread_waits_for_the_time_slice_of_the_running_thread() -> None:
    # Three threads wait one after another: the network thread, the receive thread, and the bolt's own.
    assert waits_us(two_calls(10 * MS)) == [0, 3 * 750]


def test_a_core_that_becomes_free_earlier_is_taken_at_once() -> None:
    assert waits_us(two_calls(200 * US)) == [0, 190]


def test_no_thread_waits_while_a_core_is_free() -> None:
    assert waits_us(two_calls(10 * MS, cores=2)) == [0, 0]


def test_without_time_slices_a_waking_thread_runs_at_once() -> None:
    assert waits_us(two_calls(10 * MS, slice_ns=0)) == [0, 0]


def reads_per_tuple(slice_ns: int) -> float:
    """Read calls per tuple of a node's network thread, beside a bolt that is always busy."""
    scene = start_chain(
        (1, 1),
        [np.full(1000, 200 * US)],
        rate(6000.0),
        nodes(2, cores=1),
        bolts_apart,
        version=V0_9_7,
        ideal=True,
    )
    scene.plane.kernel.cost["read"] = 10 * US
    scene.plane.kernel.cost["slice"] = slice_ns
    scene.plane.run_until(5 * SECOND)
    threads = scene.plane.kernel.thread
    before = int(threads["cpu"][(threads["kind"] == NETWORK) & (threads["node"] == 0)].sum())
    scene.plane.run_until(9 * SECOND)
    threads = scene.plane.kernel.thread
    after = int(threads["cpu"][(threads["kind"] == NETWORK) & (threads["node"] == 0)].sum())
    return (after - before) / (10 * US) / (4 * 6000)


def test_arriving_tuples_are_read_in_batches_on_a_full_core() -> None:
    assert reads_per_tuple(0) == pytest.approx(1.0, rel=0.01)
    # Four to five tuples arrive in 0.75 ms and the time of the read itself.
    assert reads_per_tuple(SLICE) == pytest.approx(1 / 4.6, rel=0.1)
