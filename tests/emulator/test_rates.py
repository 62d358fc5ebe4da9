"""Sources with a rate: over long times, when it changes, and before the topology is submitted."""

from __future__ import annotations

import pytest

from storm_lab.emulator.source import TopologyPlan
from tests.emulator.scene import (
    MS,
    SECOND,
    US,
    Scene,
    chain,
    chain_trace,
    constant_work,
    nodes,
    plane_of,
    rate,
    start_chain,
)


def test_a_source_keeps_its_rate_after_more_lines_than_64_bits_of_arithmetic_hold() -> None:
    # 10**12 times ten million lines, or times 100 s in ns and 10**8 lines in 1,000 s, is beyond 2**63.
    scene = _fast_source(begun_at=SECOND - 100 * SECOND, taken=10_000_000)
    scene.plane.run_until(2 * SECOND)
    assert scene.plane.kernel.source[0].taken == pytest.approx(10_100_000, abs=1)


def test_lines_that_wait_stay_when_the_rate_changes_after_a_long_time() -> None:
    scene = _fast_source(begun_at=SECOND - 100 * SECOND, taken=10_000_000 - 5)
    scene.plane.activate(next(iter(scene.workers.values())), False)
    scene.plane.set_load("t", "spout", 1000.0)
    # Those five, the one that is just arriving, and from then on one a millisecond.
    assert scene.plane.kernel.source[0].origin == SECOND + MS - 6 * MS


def _fast_source(begun_at: int, taken: int) -> Scene:
    """100,000 lines a second, of which ``taken`` have been taken when the scene is at 1 s."""
    scene = start_chain([1, 1], US, rate(100_000.0), ideal=True, sample_every=1 << 40)
    worker = next(iter(scene.workers.values()))
    scene.plane.activate(worker, False)
    scene.plane.run_until(SECOND)
    scene.plane.kernel.source[0].origin, scene.plane.kernel.source[0].taken = begun_at, taken
    scene.plane.activate(worker, True)
    return scene


def test_a_rate_that_is_set_before_the_submission_holds_from_the_submission_on() -> None:
    trace = chain_trace([constant_work(10 * US)])
    plan = TopologyPlan(chain([1, 1]), trace, {"spout": rate(100.0)}, submit_s=30.0)
    plane = plane_of(nodes(1), [plan])
    plane.run_until(SECOND)
    plane.set_load("t", "spout", 200.0)
    assert plane.kernel.source[0].origin == 30 * SECOND
