"""What a worker does all the time: heartbeats, waits that end, a spout's empty turns, flush timers."""

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


@pytest.mark.parametrize(("version", "waits"), [(V0_8_2, 8), (V0_9_2, 8), (V1_0_6, 0), (V2_8_8, 0)])
def test_all_consumers_wait_ten_milliseconds_at_most_and_an_idle_spout_one(
    version: StormVersion, waits: int
) -> None:
    # Three threads of the worker, send and main thread of two bolts, send thread of the spout.
    timers = waits * 100 * 5 * US
    turns = 1000 * 5 * US
    assert idle_ns(version, 5, spread=False) == pytest.approx(0.003 * SECOND + timers + turns)


@pytest.mark.parametrize(("version", "connections"), [(V0_8_2, 0), (V0_9_2, 2), (V0_9_7, 0)])
def test_connections_are_flushed_from_thirty_seconds_on(version: StormVersion, connections: int) -> None:
    early, late = (idle_ns(version, second, spread=True) for second in (25, 31))
    assert late - early == pytest.approx(connections * 100 * 10 * US)


@pytest.mark.parametrize(("version", "woken"), [(V0_9_2, 3), (V1_0_6, 2)])
def test_up_to_0_9_each_batch_wakes_the_transfer_thread_even_if_all_of_it_is_local(
    version: StormVersion, woken: int
) -> None:
    # A spout sends 125 tuples a second to a bolt beside it: the spout's send thread and the bolt are woken,
    # and the transfer thread is, for nothing. Their waits never last 10 ms.
    cost = replace(PLAIN, idle_jvm_share=0.0, consumer_wake_us=0.0)
    taken = []
    for wake_us in (0.0, 5.0):
        scene = start(
            chain((1, 1), ackers=0),
            chain_trace([constant_work(0, 10)]),
            SourcePlan(SourceKind.RATE, rate_per_s=125.0, anchored=False),
            nodes(1),
            lambda _: Slot("node0", 6700),
            version=version,
            cost=replace(cost, consumer_wake_us=wake_us),
        )
        scene.plane.run_until(5 * SECOND)
        scene.plane.sample()
        scene.plane.run_until(15 * SECOND)
        taken.append(float(scene.plane.sample().node_cpu_ns["node0"]) / 10)
    # Of the bolt's send thread and the worker's system executor.
    waits = (1 + 2) * 100 if version == V0_9_2 else 0
    # A turn that finds a tuple ends a sleep as well.
    turns = 1000
    assert taken[1] - taken[0] == pytest.approx((waits + turns + woken * 125) * 5 * US, rel=0.02)


@pytest.mark.parametrize(("rate", "ends"), [(125.0, 0), (40.0, 2), (10.0, 9)])
def test_a_wait_that_a_tuple_ends_had_only_its_whole_ten_milliseconds(rate: float, ends: int) -> None:
    # Every 8 ms, every 25 and every 100: the bolt and the spout's send thread wait, and so does the transfer
    # thread, which is woken for nothing. A tuple comes a little later than its time, and is at work a little.
    taken = []
    for wake_us in (0.0, 5.0):
        scene = start(
            chain((1, 1), ackers=0),
            chain_trace([constant_work(0, 10)]),
            SourcePlan(SourceKind.RATE, rate_per_s=rate, anchored=False),
            nodes(1),
            lambda _: Slot("node0", 6700),
            version=V0_9_2,
            cost=replace(PLAIN, idle_jvm_share=0.0, consumer_wake_us=wake_us, timer_slack_us=60.0),
        )
        scene.plane.run_until(5 * SECOND)
        scene.plane.sample()
        scene.plane.run_until(25 * SECOND)
        taken.append(float(scene.plane.sample().node_cpu_ns["node0"]) / 20)
    woken = 3 * (1 + ends) * rate
    assert taken[1] - taken[0] == pytest.approx((300 + 1e6 / 1060 + woken) * 5 * US, rel=0.02)


def test_compiling_is_counted_while_it_goes_on() -> None:
    # Two thousand calls leave seconds to compile, beside a bolt that wants the whole core.
    scene = start(
        chain((1, 1), ackers=0),
        chain_trace([constant_work(0, 10)]),
        SourcePlan(SourceKind.RATE, rate_per_s=5000.0, anchored=False),
        nodes(1, cores=1),
        lambda _: Slot("node0", 6700),
        version=V1_0_6,
        cost=replace(PLAIN, warm_up_factor=4.0, warm_up_calls=1000.0, compile_s=4.0),
    )
    taken = []
    for second in range(1, 13):
        scene.plane.run_until(second * SECOND)
        taken.append(scene.plane.sample().node_cpu_ns["node0"] / SECOND)
    assert max(taken) < 1.15
    assert sum(taken) > 4.0
