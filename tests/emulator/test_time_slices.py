"""A thread that wakes while all cores are taken waits for one: until one falls free, or for a time slice."""

from __future__ import annotations

import numpy as np
import pytest
from scene import MS, SECOND, US, Scene, bolts_apart, chain, chain_trace, nodes, start

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.emulator.state.kinds import NETWORK
from storm_lab.model.version import V0_9_7

SLICE = 750 * US


def two_calls(first_ns: int, *, cores: int = 1, slice_ns: int = SLICE) -> Scene:
    """Two bolts on a node get a tuple each, 10 us apart; the first one's call takes ``first_ns``."""
    scene = start(
        chain((1, 2), ackers=0),
        chain_trace([np.array([first_ns, US])]),
        SourcePlan(
            SourceKind.TRACE,
            arrivals_ns=np.array([100 * MS, 100 * MS + 10 * US]),
            arrival_period_ns=3600 * SECOND,
            anchored=False,
        ),
        nodes(2, cores=cores),
        bolts_apart,
        version=V0_9_7,
        ideal=True,
    )
    scene.plane.kernel.cost["slice"] = slice_ns
    scene.plane.run_until(SECOND)
    scene.plane.finish()
    return scene


def waits_us(scene: Scene) -> list[float]:
    """How long after its emit each tuple's execute began, in the order of emits."""
    began = np.sort(scene.tape.column("executions", "start_ns"))
    return [float(ns) / US for ns in began - 100 * MS - np.array([0, 10 * US])]


def test_who_wakes_waits_for_the_slice_of_who_runs() -> None:
    # One after the other: the network thread, the receive thread, and the bolt's own.
    assert waits_us(two_calls(10 * MS)) == [0, 3 * 750]


def test_a_core_that_falls_free_earlier_is_taken_at_once() -> None:
    assert waits_us(two_calls(200 * US)) == [0, 190]


def test_nobody_waits_where_a_core_is_free() -> None:
    assert waits_us(two_calls(10 * MS, cores=2)) == [0, 0]


def test_without_slices_who_wakes_runs_at_once() -> None:
    assert waits_us(two_calls(10 * MS, slice_ns=0)) == [0, 0]


def reads_per_tuple(slice_ns: int) -> float:
    """Of a node's network thread, beside a bolt that always has something to do."""
    scene = start(
        chain((1, 1), ackers=0),
        chain_trace([np.full(1000, 200 * US)]),
        SourcePlan(SourceKind.RATE, rate_per_s=6000.0, anchored=False),
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


def test_on_a_full_core_what_arrives_is_read_in_batches() -> None:
    assert reads_per_tuple(0) == pytest.approx(1.0, rel=0.01)
    # In 0.75 ms and the read itself come four to five tuples.
    assert reads_per_tuple(SLICE) == pytest.approx(1 / 4.6, rel=0.1)
