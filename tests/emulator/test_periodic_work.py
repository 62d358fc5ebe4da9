"""Periodic work of a worker: heartbeats, waits that time out, a spout's empty turns, flush timers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.model import Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_2, V0_9_6, V0_9_7, V0_10_0, V1_0_6, V2_8_8
from tests.emulator.scene import MS, PLAIN, SECOND, US, apart, nodes, rate, start_chain

COST = replace(PLAIN, idle_jvm_share=0.003, consumer_wake_us=5.0, flush_us=10.0)


def idle_ns(version: StormVersion, second: float, spread: bool) -> float:
    """CPU of the spout's node in a second almost without tuples; executors on one node, or on one each."""
    scene = start_chain(
        (1, 2),
        0,
        rate(0.001),
        nodes(3),
        lambda e: Slot(f"node{e.start - 1 if spread else 0}", 6700),
        version=version,
        cost=COST,
    )
    (spout,) = (worker for executor, worker in scene.view.items() if executor.component == "spout")
    (node,) = (slot.node for slot, worker in scene.workers.items() if worker == spout)
    scene.plane.run_until(round((second + 0.05) * SECOND))
    scene.plane.sample()
    scene.plane.run_until(round((second + 1.05) * SECOND))
    return float(scene.plane.sample().node_cpu_ns[node])


@pytest.mark.parametrize(
    ("version", "per_s"),
    [
        (V0_8_2, 100),
        (V0_9_2, 100),
        (StormVersion((0, 9, 5)), 100),
        (V0_9_6, 1),
        (V0_10_0, 1),
        (V1_0_6, 0),
        (V2_8_8, 0),
    ],
)
def test_consumers_wait_ten_milliseconds_or_a_second_at_most_and_an_idle_spout_one(
    version: StormVersion, per_s: int
) -> None:
    # Three threads of the worker, send and main thread of two bolts, send thread of the spout.
    timers = 8 * per_s * 5 * US
    turns = 1000 * 5 * US
    # Housekeeping rounds do not divide a second evenly.
    assert idle_ns(version, 5, spread=False) == pytest.approx(0.003 * SECOND + timers + turns, rel=0.005)


@pytest.mark.parametrize(("version", "connections"), [(V0_8_2, 0), (V0_9_2, 2), (V0_9_7, 0)])
def test_connections_of_0_9_2_are_flushed_from_thirty_seconds_on(
    version: StormVersion, connections: int
) -> None:
    early, late = (idle_ns(version, second, spread=True) for second in (25, 31))
    assert late - early == pytest.approx(connections * 100 * 10 * US, rel=0.02)


def wake_ups(version: StormVersion, per_s: float, seconds: int, **cost: float) -> float:
    """Waits a second that end in a worker with a spout and a bolt, by the CPU that they cost from 5 s on."""
    taken = []
    for wake_us in (0.0, 5.0):
        given = replace(PLAIN, idle_jvm_share=0.0, consumer_wake_us=wake_us, **cost)
        scene = start_chain((1, 1), 0, rate(per_s), version=version, cost=given)
        scene.plane.run_until(5 * SECOND)
        scene.plane.sample()
        scene.plane.run_until((5 + seconds) * SECOND)
        taken.append(scene.plane.sample().node_cpu_ns["node0"] / seconds)
    return (taken[1] - taken[0]) / (5 * US)


@pytest.mark.parametrize(("version", "woken"), [(V0_9_2, 3), (V1_0_6, 2)])
def test_up_to_0_9_each_batch_wakes_the_transfer_thread_even_if_all_of_it_is_local(
    version: StormVersion, woken: int
) -> None:
    # A spout sends 125 tuples a second to a bolt in its own worker. The spout's send thread and the bolt are
    # woken, and so is the transfer thread, without need. Their waits never last 10 ms.
    # Waits of the bolt's send thread and of the worker's system executor.
    waits = (1 + 2) * 100 if version == V0_9_2 else 0
    # A turn that finds a tuple also ends a sleep.
    turns = 1000
    assert wake_ups(version, 125.0, 10) == pytest.approx(waits + turns + woken * 125, rel=0.02)


@pytest.mark.parametrize(("per_s", "ends"), [(125.0, 0), (40.0, 2), (10.0, 9)])
def test_a_wait_for_a_tuple_times_out_after_every_full_ten_milliseconds(per_s: float, ends: int) -> None:
    # Tuples come every 8, 25 or 100 ms. The bolt and the spout's send thread wait for them, and so does the
    # transfer thread, which is woken without need. Tuples come slightly late and take some time to process.
    ended = wake_ups(V0_9_2, per_s, 20, timer_slack_us=60.0)
    assert ended == pytest.approx(300 + 1e6 / 1060 + 3 * (1 + ends) * per_s, rel=0.02)


def test_housekeeping_begins_its_next_period_when_its_work_is_done() -> None:
    # 10 % of a core: 10 ms after the first 100 ms, then a tenth of each period (100 ms plus the last work).
    scene = start_chain((1, 1), 0, rate(0.001), version=V1_0_6, cost=replace(PLAIN, idle_jvm_share=0.1))
    ends, due, work = [], 0.0, 0.0
    for _ in range(5):
        due += 100 * MS + work
        work = 0.1 * (100 * MS + work)
        scene.plane.run_until(round(due) + MS)
        ends.append((scene.plane.kernel.worker["housekept_at"][0], due))
    assert [at for at, _ in ends] == [pytest.approx(due, abs=10 * US) for _, due in ends]
    scene.plane.sample()
    scene.plane.run_until(100 * SECOND)
    assert scene.plane.sample().node_cpu_ns["node0"] == pytest.approx(9.95 * SECOND, rel=0.02)


@pytest.mark.parametrize(("cores", "speed"), [(1, 0.9), (2, 1.0)])
def test_housekeeping_slows_down_a_busy_thread_on_a_single_core(cores: int, speed: float) -> None:
    # A bolt gets 1 ms of work every 2 ms, and its worker's housekeeping takes 10 % of a core.
    scene = start_chain(
        (1, 1),
        1 * MS,
        rate(500.0),
        nodes(2, cores=cores),
        apart,
        version=V1_0_6,
        cost=replace(PLAIN, idle_jvm_share=0.1),
    )
    scene.play(3 * SECOND)
    taken = scene.tape.spans("start_ns", "end_ns")
    # Includes 4 us of dispatch; one call in a hundred shares its core with the thread that receives a tuple.
    assert taken[500:].mean() * speed == pytest.approx(1 * MS + 4 * US, rel=0.005)


def test_a_transfer_thread_that_is_already_awake_is_not_woken_again() -> None:
    # On a core filled by a flood, the thread runs 500 us after its wake-up at the earliest, so it is woken at
    # most 20,000 times in 10 s, for 5 us each; send threads have four batches in 500 us. In addition, waits
    # time out 300 times a second, for 5 us each.
    scene = start_chain(
        (1, 1),
        0,
        rate(50_000.0),
        nodes(1, cores=1),
        version=V0_9_2,
        cost=replace(PLAIN, idle_jvm_share=0.0, consumer_wake_us=5.0, slice_us=500.0),
    )
    scene.plane.run_until(10 * SECOND)
    scene.plane.sample()
    thread, cpu_ms = scene.tape.column("cpu", "thread"), scene.tape.column("cpu", "cpu_ms")
    assert 20.0 < cpu_ms[thread == "housekeeping"].sum() < 115.0


def test_cpu_of_compilers_is_counted_while_they_run() -> None:
    # Two thousand calls leave seconds of compilation to do, beside a bolt that wants the complete core.
    scene = start_chain(
        (1, 1),
        0,
        rate(5000.0),
        nodes(1, cores=1),
        version=V1_0_6,
        cost=replace(PLAIN, warm_up_factor=4.0, warm_up_calls=1000.0, compile_s=4.0),
    )
    taken = []
    for second in range(1, 13):
        scene.plane.run_until(second * SECOND)
        taken.append(scene.plane.sample().node_cpu_ns["node0"] / SECOND)
    assert max(taken) < 1.15
    assert sum(taken) > 4.0
