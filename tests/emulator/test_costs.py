"""Costs of Storm's own code by processor, version and transport, and costs of wake-ups and waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model import Executor, Grouping, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_6, V2_8_8
from tests.emulator.scene import (
    MS,
    PLAIN,
    SATURATED,
    SECOND,
    US,
    Scene,
    apart,
    at_times,
    chain,
    chain_trace,
    constant_work,
    nodes,
    rate,
    start,
    start_chain,
    together,
)

QUIET = replace(PLAIN, idle_jvm_share=0.0)
ONE_LINE = at_times([10 * MS])


def one_tuple(
    version: StormVersion,
    place: Callable[[Executor], Slot],
    cost: CostModel = QUIET,
    work_per_clock: float = 1.0,
    cores: int = 8,
) -> Scene:
    """Half a second in which a spout sends one tuple to a bolt, which runs 1 ms of user code for it."""
    scene = start_chain(
        (1, 1),
        MS,
        ONE_LINE,
        nodes(2, cores=cores, nic_mbps=1e6, work_per_clock=work_per_clock),
        place,
        version=version,
        cost=cost,
    )
    scene.play(SECOND // 2)
    return scene


def executing_us(scene: Scene) -> float:
    tape = scene.tape
    return float(tape.column("executions", "end_ns")[0] - tape.column("executions", "start_ns")[0]) / US


def enqueued_us(scene: Scene) -> float:
    return float(scene.tape.column("executions", "enqueue_ns")[0]) / US


def cpu_us(scene: Scene) -> float:
    return 1000 * float(sum(scene.tape.column("cpu", "cpu_ms")))


def woken_us(scene: Scene) -> float:
    """CPU of all threads but the spout's own, which sleeps and is not woken."""
    rows = zip(*(scene.tape.column("cpu", name) for name in ("component", "thread", "cpu_ms")), strict=True)
    return 1000 * sum(cpu for component, thread, cpu in rows if (component, thread) != ("spout", "main"))


def added_us(
    version: StormVersion,
    place: Callable[[Executor], Slot],
    cost: CostModel,
    cores: int = 8,
    **constant: float,
) -> float:
    """CPU that a constant, otherwise 0, adds to all threads but the spout's own."""
    without = replace(cost, **dict.fromkeys(constant, 0.0))
    free, priced = (
        woken_us(one_tuple(version, place, each, cores=cores))
        for each in (without, replace(cost, **constant))
    )
    return priced - free


def test_twice_the_work_per_cycle_halves_the_cost_of_storms_own_code_only() -> None:
    # Dispatch takes 4 us in addition to the millisecond of user code.
    assert executing_us(one_tuple(V0_9_7, together)) == pytest.approx(1004)
    assert executing_us(one_tuple(V0_9_7, together, work_per_clock=2.0)) == pytest.approx(1002, abs=0.01)


def test_the_storm_2_factor_makes_storms_own_code_cheaper_in_2_x_only() -> None:
    tenth = replace(QUIET, storm_2_factor=0.1)
    assert executing_us(one_tuple(V2_8_8, together, tenth)) == pytest.approx(1000.4, abs=0.01)
    assert executing_us(one_tuple(V1_0_6, together, tenth)) == pytest.approx(1004)


@pytest.mark.parametrize("version", [V0_9_7, V2_8_8])
def test_the_code_factor_multiplies_the_cost_of_storms_own_code(version: StormVersion) -> None:
    assert executing_us(one_tuple(version, together, replace(QUIET, code_factor=2.5))) == pytest.approx(1010)


@pytest.mark.parametrize("name", ["storm_2_factor", "code_factor"])
def test_a_log_line_costs_the_same_whatever_storms_code_costs(name: str) -> None:
    lines = []
    for factor in (1.0, 0.1):
        scene = start_chain(
            (1, 1),
            MS,
            ONE_LINE,
            nodes(2),
            given={"topology.debug": True},
            version=V2_8_8,
            cost=replace(QUIET, log_receive_us=500.0 / 4, **{name: factor}),
        )
        scene.play(SECOND // 2)
        lines.append(executing_us(scene) - 1000 - 4 * factor)
    assert lines == pytest.approx([125, 125], abs=0.1)


def test_a_bolt_that_fails_its_input_has_logged_it_like_any_other() -> None:
    took = []
    for emissions in (0, -1):
        trace = chain_trace([constant_work(100 * US, 10)])
        trace.records["emissions"][1:] = emissions
        topology = chain((1, 1), ackers=1, settings={"topology.debug": True})
        scene = start(topology, trace, rate(100.0, anchored=True), version=V0_9_7, cost=QUIET)
        scene.play(SECOND)
        took.append(executing_us(scene))
    assert took[1] == pytest.approx(took[0])


@pytest.mark.parametrize(("version", "dearer_us"), [(V0_8_2, 8 + 10), (V0_9_7, 0)])
def test_sending_and_receiving_are_dearer_over_zeromq(version: StormVersion, dearer_us: float) -> None:
    # A transfer takes 8 us and a receipt 10 us; the factor doubles both.
    netty, zeromq = (
        enqueued_us(one_tuple(version, apart, replace(QUIET, zeromq_factor=factor))) for factor in (1.0, 2.0)
    )
    assert zeromq - netty == pytest.approx(dearer_us, abs=0.01)


@pytest.mark.parametrize(
    ("version", "place", "woken"),
    [
        # Send thread and bolt.
        (V1_0_6, together, 2),
        # Send and transfer thread, network and receive thread, bolt.
        (V1_0_6, apart, 5),
        # 2.x has no send thread; no thread polls here, so the bolt is woken.
        (V2_8_8, together, 1),
    ],
)
def test_every_thread_that_is_woken_pays_for_the_wake_up(
    version: StormVersion, place: Callable[[Executor], Slot], woken: int
) -> None:
    assert added_us(version, place, QUIET, consumer_wake_us=7.0) == pytest.approx(7 * woken, abs=0.01)


@pytest.mark.parametrize(("place", "woken"), [(together, 2), (apart, 5 + 1)])
def test_waking_a_thread_from_a_long_sleep_costs_more(place: Callable[[Executor], Slot], woken: int) -> None:
    # The tuple wakes threads that have slept for 10 ms; the event loop that writes it is one more.
    cost = replace(QUIET, write_us=1.0, sleep_half_us=2500.0)
    added = added_us(V1_0_6, place, cost, asleep_us=10.0)
    assert added == pytest.approx(woken * 10 * 10 / (10 + 2.5), rel=0.05)


@pytest.mark.parametrize("wake_us", [5.0, 50.0])
def test_waking_a_sleeping_thread_costs_less_on_a_core_that_was_just_busy(wake_us: float) -> None:
    # The only core works on the tuple before it wakes each thread in turn, and rests during the wake-up.
    cost = replace(QUIET, wake_us=wake_us, sleep_half_us=150.0)
    added = added_us(V1_0_6, together, cost, cores=1, asleep_us=10.0)
    assert added == pytest.approx(2 * 10 * wake_us / (wake_us + 150), abs=0.01)


@pytest.mark.parametrize(
    ("version", "place", "runs"),
    # In 2.x the bolt polls until the tuple is there, so nothing wakes it, but its code is as cold.
    [(V1_0_6, together, 2), (V1_0_6, apart, 5), (V2_8_8, together, 1)],
)
def test_a_thread_that_runs_rarely_pays_for_cold_caches(
    version: StormVersion, place: Callable[[Executor], Slot], runs: int
) -> None:
    # The tuple comes after 10 ms, in 2.x after 11, so a half-time of 30 ms makes it a quarter of 20 us.
    cost = replace(QUIET, look_us=1.0, cold_cache_half_us=30_000.0)
    added = added_us(version, place, cost, cores=2, cold_cache_us=20.0)
    assert added == pytest.approx(runs * 20 / 4, rel=0.08)


def test_a_core_that_others_keep_awake_does_not_warm_a_threads_caches() -> None:
    # As above: the only core works until it wakes each thread in turn, but they have waited for 10 ms.
    cost = replace(QUIET, wake_us=5.0, cold_cache_half_us=30_000.0)
    added = added_us(V1_0_6, together, cost, cores=1, cold_cache_us=20.0)
    assert added == pytest.approx(2 * 20 / 4, rel=0.05)


def test_system_calls_cost_the_same_in_all_versions() -> None:
    for cost in (QUIET, replace(QUIET, storm_2_factor=0.1)):
        none, some = (
            enqueued_us(one_tuple(V2_8_8, apart, replace(cost, write_us=us, read_us=us))) for us in (0.0, 7.0)
        )
        assert some - none == pytest.approx(2 * 7, abs=0.01)


@pytest.mark.parametrize(("cores", "switches"), [(1, 1), (2, 0)])
def test_a_burst_on_a_full_node_pays_for_a_context_switch(cores: int, switches: int) -> None:
    # Both copies leave the send thread together, so both bolts begin at the same time.
    taken = []
    for switch in (0.0, 9.0):
        scene = start_chain(
            (1, 2),
            MS,
            ONE_LINE,
            nodes(1, cores=cores),
            grouping=Grouping.ALL,
            version=V1_0_6,
            cost=replace(QUIET, switch_us=switch),
        )
        scene.play(SECOND // 2)
        taken.append(cpu_us(scene))
    assert taken[1] - taken[0] == pytest.approx(9 * switches, abs=0.01)


def test_a_thread_still_busy_when_tuples_arrive_pays_for_no_wake_up() -> None:
    costs = []
    for wake in (0.0, 7.0):
        scene = start_chain(
            (1, 1), 20 * MS, rate(100.0), version=V2_8_8, cost=replace(QUIET, consumer_wake_us=wake)
        )
        scene.plane.run_until(SECOND + 5 * MS)
        found = scene.plane.sample().executor_cpu_ns
        costs.append(sum(cpu for (_, executor), cpu in found.items() if executor.component == "bolt0"))
    # A tuple arrives every 10 ms and takes 20 ms, so only the first one finds the bolt asleep.
    assert costs[1] - costs[0] == 7 * US


def flooded(version: StormVersion, cost: CostModel) -> Scene:
    """A saturated spout and a bolt that takes 1 ms, in one worker; the bolt's queue fills up in a while."""
    scene = start_chain((1, 1), MS, SATURATED, nodes(1, cores=8), version=version, cost=cost)
    scene.plane.run_until(10 * SECOND)
    return scene


def sending_us(scene: Scene) -> float:
    """CPU time of all send threads in the next four seconds, in us."""
    scene.plane.sample()
    before = len(scene.tape.column("cpu", "cpu_ms"))
    scene.plane.run_until(scene.plane.now_ns + 4 * SECOND)
    scene.plane.sample()
    threads, taken = (scene.tape.column("cpu", name)[before:] for name in ("thread", "cpu_ms"))
    return 1000 * float(taken[threads == "send"].sum())


def test_a_thread_that_waits_for_room_in_a_queue_polls_repeatedly() -> None:
    # The thread parks for a nanosecond, which takes 55 us, and polls for 5 us.
    polls = replace(QUIET, look_us=5.0, park_us=55.0)
    free = replace(polls, look_us=0.0)
    taken = sending_us(flooded(V0_9_7, polls)) - sending_us(flooded(V0_9_7, free))
    assert taken == pytest.approx(4e6 / 60 * 5, rel=0.1)


def test_waiting_for_room_in_a_queue_costs_no_cpu_from_1_0_on() -> None:
    polls = replace(QUIET, look_us=5.0)
    free = replace(polls, look_us=0.0)
    taken = sending_us(flooded(V1_0_6, polls))
    assert taken == pytest.approx(sending_us(flooded(V1_0_6, free)), rel=0.1)


def test_no_thread_waits_for_room_once_the_queue_is_gone() -> None:
    scene = flooded(V0_9_7, replace(QUIET, look_us=5.0))
    assert scene.plane.kernel.node[0].pollers > 0
    for executor in scene.view:
        scene.plane.stop_executor(scene.workers[Slot("node0", 6700)], executor)
    assert scene.plane.kernel.node[0].pollers == 0
