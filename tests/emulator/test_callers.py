"""Callers whose spout dies with their call: they are not told, and call again when they give up."""

from __future__ import annotations

import numpy as np
import pytest

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan
from storm_lab.model import Slot
from tests.emulator.scene import MS, SECOND, apart, chain, chain_trace, constant_work, in_turn, nodes, start

SPOUTS = Slot("node0", 6700)


def _emitted_s(patience_s: float, *, on_fail: FailurePolicy) -> list[float]:
    """Emits of one caller whose calls take a minute; its spout is killed after 1 s and back after 1.5 s."""
    source = SourcePlan(
        SourceKind.CLOSED_LOOP, calls=1, patience_ns=round(patience_s * SECOND), on_fail=on_fail
    )
    topology = chain([1, 1], ackers=1, message_timeout_s=600.0)
    scene = start(topology, chain_trace([constant_work(60 * SECOND)]), source, nodes(2), apart)
    scene.plane.run_until(SECOND)
    scene.plane.stop_worker(scene.workers[SPOUTS])
    scene.plane.run_until(1500 * MS)
    scene.start_again(SPOUTS, SPOUTS)
    scene.play(10 * SECOND)
    return [float(ns) / SECOND for ns in np.sort(scene.tape.column("roots", "emit_ns"))]


@pytest.mark.parametrize("on_fail", FailurePolicy)
@pytest.mark.parametrize(("patience_s", "again_s"), [(0.0, 1.5), (0.7, 1.5), (4.0, 4.0)])
def test_a_caller_calls_again_when_it_gives_up_and_a_spout_is_there(
    patience_s: float, again_s: float, on_fail: FailurePolicy
) -> None:
    first, second = _emitted_s(patience_s, on_fail=on_fail)
    assert first == pytest.approx(0.0, abs=0.1)
    assert second == pytest.approx(again_s, abs=0.1), "patience counts from the call, not from the death"


def test_callers_that_wait_do_not_hold_up_the_calls_of_others() -> None:
    """Two callers, two spouts on two nodes. One spout dies with a call, whose caller waits for a minute."""
    source = SourcePlan(SourceKind.CLOSED_LOOP, calls=2, answer_ns=5 * MS, patience_ns=60 * SECOND)
    trace = chain_trace([constant_work(10 * MS)])
    scene = start(chain([2, 1], ackers=1), trace, source, nodes(3), in_turn(3))
    worker = scene.workers[SPOUTS]
    at = SECOND
    scene.plane.run_until(at)
    while not scene.plane.kernel.executor["pending"][scene.plane.kernel.executor["worker"] == worker].any():
        at += MS
        scene.plane.run_until(at)
    scene.plane.stop_worker(worker)
    scene.play(at + 2 * SECOND)
    alone = (scene.tape.column("roots", "emit_ns") > at).sum()
    assert alone == pytest.approx(2000 / 16, rel=0.15), "a call takes 10 ms, the pause 5, the ways 1"
