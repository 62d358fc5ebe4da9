"""Calls that end with their first result, as in Storm's DRPC server, and calls that need all results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.model import Cluster, Executor, Grouping, Node, Slot, executors_of
from storm_lab.model.version import V0_8_2
from tests.emulator.scene import MS, SECOND, Scene, chain, chain_trace, constant_work, start

FAST, SLOW = Slot("fast", 6700), Slot("slow", 6700)


def _scene(*, first: bool) -> Scene:
    """One caller, whose call goes to two bolts: one takes 10 ms, the other, on a slow node, 100 ms."""
    source = SourcePlan(
        SourceKind.CLOSED_LOOP, calls=1, answer_ns=2 * MS, on_fail=FailurePolicy.REPLAY, first_result=first
    )
    cluster = Cluster(
        (Node("fast", core_mhz=2000.0, memory_mb=4096.0), Node("slow", core_mhz=200.0, memory_mb=4096.0))
    )

    def place(executor: Executor) -> Slot:
        return SLOW if executor == second_bolt else FAST

    topology = chain([1, 2], grouping=Grouping.ALL, ackers=1, message_timeout_s=5.0)
    second_bolt = [e for e in executors_of(topology, V0_8_2) if e.component == "bolt0"][-1]
    return start(topology, chain_trace([constant_work(10 * MS)]), source, cluster, place)


def _latencies_ms(scene: Scene, until_s: float) -> Any:
    scene.play(round(until_s * SECOND))
    done = scene.tape.column("roots", "outcome") == "acked"
    column = scene.tape.column
    return (column("roots", "complete_ns")[done] - column("roots", "emit_ns")[done]) / MS


@pytest.mark.parametrize(("first", "expected_ms"), [(True, 10.0), (False, 100.0)])
def test_a_call_ends_with_its_first_result_or_with_its_last(first: bool, expected_ms: float) -> None:
    """The fast bolt takes 10 ms, the slow one 100 ms, and messages take 1 to 2 ms there and back."""
    latencies = _latencies_ms(_scene(first=first), 2.0)
    assert np.median(latencies) == pytest.approx(expected_ms, abs=4.0)
    assert len(latencies) == pytest.approx(2000 / (expected_ms + 3.0), rel=0.15)


def test_a_lost_tuple_delays_only_calls_that_need_all_results() -> None:
    """The slow bolt dies after a second. Its part of a call is lost, which takes 5 to 10 s to be noticed."""
    answered = {}
    for first in (True, False):
        scene = _scene(first=first)
        scene.plane.run_until(SECOND)
        scene.plane.stop_worker(scene.workers[SLOW])
        answered[first] = len(_latencies_ms(scene, 5.0))
    assert answered[True] == pytest.approx(5000 / 13.0, rel=0.15), "as many as before its death"
    assert answered[False] <= 11, "those of the first second"


def test_later_results_of_an_answered_call_change_nothing() -> None:
    """Every call is answered once, and none fails because the rest of its tree is still in progress."""
    scene = _scene(first=True)
    scene.play(2 * SECOND)
    ids = scene.tape.column("roots", "root_id")
    assert len(set(ids)) == len(ids)
    assert not np.any(scene.tape.column("roots", "outcome") == "failed")
