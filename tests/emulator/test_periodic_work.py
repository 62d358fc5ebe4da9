"""What a worker does all the time: heartbeats, waits that end every 10 ms, connections' flush timers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scene import PLAIN, SECOND, US, chain, chain_trace, constant_work, nodes, start

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.model import Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_6, V2_8_8

V0_9_2 = StormVersion((0, 9, 2))
COST = replace(PLAIN, idle_jvm_share=0.003, consumer_wake_us=5.0, flush_us=10.0)


def idle_ns(version: StormVersion, second: float, spread: bool) -> float:
    """CPU that the spout's node takes in a second, with hardly a tuple: all on one node, or one on each."""
    scene = start(
        chain((1, 2), ackers=0),
        chain_trace([constant_work(0, 10)]),
        SourcePlan(SourceKind.RATE, rate_per_s=0.001, anchored=False),
        nodes(3),
        lambda e: Slot(f"node{e.start - 1 if spread else 0}", 6700),
        version=version,
        cost=COST,
    )
    (spout,) = (worker for executor, worker in scene.view.items() if executor.component == "spout")
    (node,) = (slot.node for slot, worker in scene.workers.items() if worker == spout)
    # Between two rounds of housekeeping.
    scene.plane.run_until(round((second + 0.05) * SECOND))
    scene.plane.sample()
    scene.plane.run_until(round((second + 1.05) * SECOND))
    return float(scene.plane.sample().node_cpu_ns[node])


@pytest.mark.parametrize(("version", "waits"), [(V0_8_2, 9), (V0_9_2, 9), (V1_0_6, 0), (V2_8_8, 0)])
def test_three_threads_a_worker_and_two_an_executor_wait_ten_milliseconds_at_most(
    version: StormVersion, waits: int
) -> None:
    assert idle_ns(version, 5, spread=False) == pytest.approx(0.003 * SECOND + waits * 100 * 5 * US)


@pytest.mark.parametrize(("version", "connections"), [(V0_8_2, 0), (V0_9_2, 2), (V0_9_7, 0)])
def test_connections_are_flushed_from_thirty_seconds_on(version: StormVersion, connections: int) -> None:
    early, late = (idle_ns(version, second, spread=True) for second in (25, 31))
    assert late - early == pytest.approx(connections * 100 * 10 * US)
