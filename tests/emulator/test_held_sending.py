"""A worker whose table of connections is locked sends nothing meanwhile, and loses nothing."""

from __future__ import annotations

import pytest

from storm_lab.model import Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V2_8_8
from tests.emulator.scene import MS, SECOND, Scene, apart, nodes, rate, start_chain

LINE_EVERY_MS = 10
SENDER = Slot("node0", 6700)


def scene(version: StormVersion) -> Scene:
    """A spout on one node, a bolt on another, 100 lines a second."""
    return start_chain((1, 1), MS // 10, rate(1000 / LINE_EVERY_MS), nodes(2), apart, version=version)


@pytest.mark.parametrize("version", [V0_8_2, V0_9_7, V2_8_8], ids=str)
def test_tuples_produced_during_a_hold_arrive_after_it_and_in_order(version: StormVersion) -> None:
    made = scene(version)
    made.plane.run_until(SECOND)
    made.plane.hold_sending(made.workers[SENDER], 300 * MS)
    made.play(3 * SECOND)
    started = made.tape.column("executions", "start_ns")
    inside = (started > SECOND + 2 * MS) & (started < SECOND + 300 * MS)
    assert not inside.any()
    after = (started >= SECOND + 300 * MS) & (started < SECOND + 310 * MS)
    assert after.sum() >= 300 // LINE_EVERY_MS - 1, "all that waited comes at once"
    assert (started[1:] >= started[:-1]).all()
    assert made.plane.kernel.s[0].lost == 0


def test_a_second_hold_extends_the_first_and_a_shorter_one_does_not_end_it() -> None:
    made = scene(V0_9_7)
    made.plane.run_until(SECOND)
    for length_ms in (100, 300, 50):
        made.plane.hold_sending(made.workers[SENDER], length_ms * MS)
    made.play(2 * SECOND)
    started = made.tape.column("executions", "start_ns")
    assert started[started > SECOND + 2 * MS].min() >= SECOND + 300 * MS


def test_tuples_inside_the_worker_are_not_held() -> None:
    made = start_chain((1, 1), MS // 10, rate(100.0), version=V0_9_7)
    made.plane.run_until(SECOND)
    made.plane.hold_sending(made.workers[SENDER], 300 * MS)
    made.play(2 * SECOND)
    started = made.tape.column("executions", "start_ns")
    assert ((started > SECOND) & (started < SECOND + 300 * MS)).sum() >= 25
