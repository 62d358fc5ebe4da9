"""One behaviour per test: ticks, several tasks and topologies, servers, networks, limits, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.plane import EmulationStoppedError
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.state import kinds
from storm_lab.model import Cluster, Grouping, Node, Slot, Topology, executors_of
from storm_lab.model.version import V0_8_2, V0_9_2, V0_9_7
from tests.emulator.scene import (
    MS,
    PLAIN,
    SATURATED,
    SECOND,
    Scene,
    Tape,
    apart,
    at_times,
    bolts_apart,
    chain,
    chain_trace,
    constant_work,
    nodes,
    plane_of,
    rate,
    start,
    start_chain,
    take_overheads_away,
)


def test_a_tick_tuple_comes_every_period_and_runs_its_record() -> None:
    spout, first, second = chain((1, 1, 1)).components
    topology = Topology("t", (spout, replace(first, tick_seconds=1.0), second), ackers=0)
    trace = chain_trace([constant_work(1 * MS, 1), constant_work(1 * MS, 1)])
    # On a tick bolt0 emits one tuple, as it does for a line.
    trace = replace(trace, ticks={"bolt0": 1})
    scene = start(topology, trace, rate(0.0), ideal=True)
    scene.plane.run_until(10 * SECOND + 1)
    scene.play(11 * SECOND - 1)
    assert scene.tape.total("bolt0") == 0  # ticks are not tuples
    assert scene.tape.total("bolt0", "emitted") == 10
    assert scene.tape.total("bolt1") == 10


def test_an_executor_of_several_tasks_runs_them_in_one_thread() -> None:
    spout, bolt = chain((1, 1)).components
    topology = Topology("t", (spout, replace(bolt, tasks=3)), ackers=0)
    work = constant_work(1 * MS, 9)
    scene = start(topology, chain_trace([work]), rate(300.0), ideal=True)
    scene.play(10 * SECOND)
    tasks = scene.tape.column("executions", "task")
    assert sorted(set(tasks)) == [1, 2, 3]
    assert np.ptp(np.unique(tasks, return_counts=True)[1]) <= 1
    begin, end = scene.tape.column("executions", "start_ns"), scene.tape.column("executions", "end_ns")
    order = np.argsort(begin, kind="stable")
    assert (begin[order][1:] >= end[order][:-1]).all()


def test_two_topologies_share_a_node_and_its_cores() -> None:
    plans = [
        TopologyPlan(
            replace(chain((1, 1), ackers=0), id=name),
            chain_trace([constant_work(2 * MS, 5)]),
            {"spout": SATURATED},
        )
        for name in ("one", "two")
    ]
    tape = Tape()
    plane = plane_of(nodes(1, cores=1), plans, tape)
    take_overheads_away(plane)
    plane.kernel.cost["poll"] = 1 * MS
    for port, plan in enumerate(plans):
        group = executors_of(plan.topology, V0_8_2)
        worker = plane.start_worker(Slot("node0", 6700 + port), plan.topology.id, group)
        plane.connect(worker, dict.fromkeys(group, worker))
        plane.activate(worker, True)
    # Stop before the bolts' queues are full; from then on the spouts wait, and the bolts get more.
    plane.run_until(6 * SECOND)
    plane.finish()
    topology, executed = tape.column("counts", "topology"), tape.column("counts", "executed")
    done = [int(executed[topology == name].sum()) for name in ("one", "two")]
    assert done[0] == pytest.approx(done[1], rel=0.01)
    # Both bolts are busy all the time: the core is shared by two spouts and two bolts, a quarter each.
    assert done[0] == pytest.approx(6 * SECOND / (4 * 2 * MS), rel=0.02)


def test_a_server_with_one_place_serves_one_request_after_another() -> None:
    trace = chain_trace([constant_work(0, 4)])
    trace.records["server"][1::2] = 0
    trace.records["server_ns"][1::2] = 5 * MS
    trace = replace(trace, servers=("store",))
    cost = CostModel(warm_up_factor=1.0, server_places=1, server_latency_us=200)
    scene = start(chain((1, 4), ackers=0), trace, rate(1000.0), cost=cost, ideal=True)
    scene.play(20 * SECOND)
    assert scene.tape.total("bolt0") == pytest.approx(20 * SECOND / (5 * MS), rel=0.01)
    # Waiting costs no CPU.
    assert "cpu" not in scene.tape.rows or scene.tape.column("cpu", "cpu_ms").sum() < 1


def test_a_network_card_sends_one_tuple_after_another() -> None:
    scene = start_chain((1, 1), 0, SATURATED, nodes(2, nic_mbps=100.0), apart, size=125_000 - 90, ideal=True)
    k = scene.plane.kernel
    k.cost["poll"], k.cost["header_bytes"] = 5 * MS, 90
    k.node["nic_ps_per_byte"] = 80_000
    scene.play(20 * SECOND)
    # 1 Mbit at 100 Mbit/s: 10 ms each, half of what the spout offers.
    assert scene.tape.total("bolt0") == pytest.approx(2000, abs=3)


def test_the_uplink_of_a_rack_is_shared_by_its_nodes() -> None:
    cluster = Cluster(
        tuple(Node(f"node{i}", rack="a" if i < 2 else "b", memory_mb=65536.0) for i in range(4))
    )
    scene = start_chain(
        (2, 2),
        0,
        rate(1000.0),
        cluster,
        lambda e: Slot(f"node{e.start % 2 + (0 if e.component == 'spout' else 2)}", 6700),
        size=12_500,
        cost=CostModel(warm_up_factor=1.0, uplink_mbps=50.0),
        ideal=True,
    )
    scene.plane.kernel.cost["uplink_ps_per_byte"] = 160_000  # 50 Mbit/s
    scene.play(20 * SECOND)
    # 0.1 Mbit at 50 Mbit/s: 500 tuples a second for both nodes together.
    assert scene.tape.total("bolt0") == pytest.approx(500 * 20, rel=0.01)


def test_a_second_hardware_thread_adds_its_gain_and_no_more() -> None:
    done = []
    for threads in (1, 2):
        scene = start_chain(
            (1, 8),
            10 * MS,
            SourcePlan(SourceKind.RATE, rate_per_s=2000.0, anchored=False),
            nodes(1, cores=2, threads_per_core=threads),
            cost=CostModel(warm_up_factor=1.0, hyper_thread_gain=0.25),
            ideal=True,
        )
        scene.play(20 * SECOND)
        done.append(scene.tape.total("bolt0"))
    assert done[0] == pytest.approx(2 * 20 * SECOND / (10 * MS), rel=0.01)
    assert done[1] == pytest.approx(1.25 * done[0], rel=0.01)


def test_memory_use_beyond_a_nodes_memory_slows_it_down_by_the_documented_factor() -> None:
    cost = CostModel(process_penalty=0.3, memory_slowdown=2.0, resident_mb=1000.0)
    node = Node("n", cores=1, memory_mb=2048.0, core_mhz=2000.0)
    assert cost.slowdown(node, 1) == 1.0
    assert cost.slowdown(node, 2) == pytest.approx(1.3 * (1 + 2.0 * ((300 + 2 * 1000) / 2048 - 1)))


def test_mostly_empty_heaps_of_four_workers_fit_into_two_gigabytes() -> None:
    node = Node("n", cores=1, memory_mb=2048.0, core_mhz=2000.0)
    assert CostModel(process_penalty=0.0).slowdown(node, 4) == 1.0


def test_processes_on_the_same_core_share_its_cache() -> None:
    cost = CostModel(process_penalty=0.13)
    twelve = Node("n", memory_mb=24576.0, core_mhz=2000.0, cores=12)
    # Ten processes on twelve cores: each shares its core with three quarters of another one on average.
    assert cost.slowdown(twelve, 10) == pytest.approx(1 + 0.13 * 9 / 12)
    assert cost.slowdown(twelve, 1) == 1.0
    # On a single core a second process displaces the complete cache, so a third one changes nothing.
    one = replace(twelve, cores=1)
    assert cost.slowdown(one, 2) == cost.slowdown(one, 3) == pytest.approx(1.13)


def test_queued_tuples_that_fill_a_heap_slow_their_worker_by_the_documented_factor() -> None:
    scene = start_chain(
        (1, 1),
        10 * MS,
        rate(20_000.0),
        nodes(2),
        apart,
        cost=replace(PLAIN, worker_memory_mb=256, queued_tuple_bytes=2000, full_heap_cost=1.0),
    )
    scene.play(10 * SECOND)
    taken = scene.tape.spans("start_ns", "end_ns")
    begin = scene.tape.column("executions", "start_ns")
    assert taken[0] == pytest.approx(10 * MS, rel=0.01)
    # 64,000 tuples of 2,000 bytes are half of 256 MB; they are queued after 3.3 s at 19,900 a second.
    half = taken[np.searchsorted(begin, (8192 + 64_000) * SECOND // 19_900)]
    assert half == pytest.approx(20 * MS, rel=0.03)
    # The heap fills to 98 percent at most: 1003 of 1024 parts are full and 21 free.
    assert taken[-1] == pytest.approx(10 * (1 + 1003 / 21) * MS, rel=0.01)


def _flooded(share: float) -> Scene:
    """A worker with 256 MB that gets 20,000 tuples of 2,000 bytes a second and executes 100 of them."""
    return start_chain(
        (1, 1),
        10 * MS,
        rate(20_000.0),
        nodes(2),
        apart,
        version=V0_9_2,
        cost=replace(PLAIN, worker_memory_mb=256, queued_tuple_bytes=2000, silent_heap_share=share),
    )


def test_a_worker_falls_silent_at_the_check_that_finds_its_heap_full() -> None:
    scene = _flooded(0.6)
    (worker,) = (number for slot, number in scene.workers.items() if slot.node == "node1")
    # An executor's queue takes what a read has brought, a few tuples, in each of its 1,024 places until its
    # first batch is done, and 76,800 more fill 0.6 of the heap. It is checked at intervals of slightly more
    # than 100 ms.
    scene.plane.run_until(3_000 * MS)
    threads = scene.plane.kernel.thread
    queued = int(max((threads["length"] + threads["held"])[threads["kind"] == kinds.MAIN]))
    assert 4 * 1024 < queued < 8 * 1024
    filled_ns = (queued + 76_800) * SECOND // 20_000
    scene.plane.run_until(filled_ns)
    assert scene.plane.full_heaps() == {}
    scene.plane.run_until(10 * SECOND)
    full_ns = scene.plane.full_heaps()[worker]
    assert filled_ns < full_ns < filled_ns + 110 * MS
    loss = scene.plane.stop_worker(worker)
    assert scene.plane.full_heaps() == {}
    scene.plane.finish()
    # A hundred tuples a second are executed until then, and later two, as collections take 98 % of the time.
    begin = scene.tape.column("executions", "start_ns")
    taken = scene.tape.column("executions", "end_ns") - begin
    assert np.all(taken[begin > full_ns] == pytest.approx(50 * 10 * MS, rel=0.01))
    assert len(taken) == pytest.approx(full_ns / (10 * MS) + 11, abs=3)
    assert sum(loss) == pytest.approx(20_000 * 10 - len(taken), rel=0.001)


def test_no_heap_is_ever_full_with_a_silent_heap_share_of_one() -> None:
    scene = _flooded(1.0)
    scene.plane.run_until(10 * SECOND)
    assert scene.plane.full_heaps() == {}


def test_a_direct_grouping_sends_to_the_task_that_the_tuple_names() -> None:
    trace = chain_trace([constant_work(1 * MS, 6)], keys=(2, 0, 0, 2, 1, 2))
    scene = start(chain((1, 3), Grouping.DIRECT, ackers=0), trace, rate(60.0), ideal=True)
    scene.play(10 * SECOND - 1)
    _, counts = np.unique(scene.tape.column("executions", "task"), return_counts=True)
    assert counts.tolist() == [200, 100, 300]


def test_max_spout_pending_bounds_the_roots_in_flight() -> None:
    scene = start_chain((1, 1), 1 * MS, SourcePlan(SourceKind.SATURATED), ackers=1, max_spout_pending=7)
    for second in range(1, 6):
        scene.plane.run_until(second * SECOND)
        assert int((scene.plane.kernel.root["executor"] >= 0).sum()) <= 7


def test_queues_beyond_the_limit_end_the_run_and_keep_what_was_recorded() -> None:
    scene = start_chain((1, 1), 100 * MS, rate(20_000.0), nodes(2), apart, max_messages=50_000)
    with pytest.raises(EmulationStoppedError, match=r"more than 50,000 tuples are queued"):
        scene.plane.run_until(100 * SECOND)
    scene.plane.finish()
    assert scene.tape.total("bolt0") > 0


def test_a_run_ends_before_the_virtual_time_of_a_busy_node_overflows() -> None:
    hour = 3600 * SECOND
    scene = start_chain((1, 1), hour, at_times(range(40)), nodes(2), bolts_apart, ideal=True)
    scene.plane.run_until(29 * hour)
    with pytest.raises(EmulationStoppedError, match="busy for 29 hours"):
        scene.plane.run_until(60 * hour)
    assert scene.plane.now_ns == pytest.approx(29.3 * hour, rel=0.002)


def test_memory_does_not_grow_with_the_length_of_a_run() -> None:
    sizes = []
    for seconds in (20, 200):
        scene = start_chain((1, 2), 1 * MS, rate(200.0, anchored=True), ackers=1)
        scene.plane.run_until(seconds * SECOND)
        k = scene.plane.kernel
        sizes.append((len(k.message), len(k.root), len(k.root_row), len(k.execution_row), len(k.event)))
    assert sizes[0] == sizes[1]


def test_more_executors_and_threads_than_the_first_arrays_hold_are_played() -> None:
    scene = start_chain(
        (2, 120),
        1 * MS,
        rate(200.0, anchored=True),
        nodes(3),
        lambda e: Slot(f"node{e.start % 3}", 6700 + e.start % 4),
        ackers=2,
    )
    scene.play(5 * SECOND)
    assert (scene.tape.column("roots", "outcome") == "acked").sum() > 900


def test_a_slow_card_does_not_keep_an_uplink_from_other_nodes() -> None:
    """A flood through a card of 1 Mbit/s takes a thousandth of the uplink, so another node finds it free."""
    cluster = Cluster(
        tuple(
            Node(
                f"node{i}", rack="a" if i < 2 else "b", memory_mb=65536.0, nic_mbps=1.0 if i == 0 else 1000.0
            )
            for i in range(4)
        )
    )
    trace = chain_trace([constant_work(0, 10)], size=1000)
    topologies = [replace(chain((1, 1)), id=name) for name in ("flood", "light")]
    plans = [
        TopologyPlan(topology, trace, {"spout": rate(per_s)})
        for topology, per_s in zip(topologies, (1000.0, 10.0), strict=True)
    ]
    tape = Tape()
    cost = CostModel(warm_up_factor=1.0, uplink_mbps=1000.0)
    plane = plane_of(cluster, plans, tape, version=V0_9_7, cost=cost)
    for place, topology in enumerate(topologies):
        groups = {
            e: Slot(f"node{place if e.component == 'spout' else place + 2}", 6700)
            for e in executors_of(topology, V0_9_7)
        }
        view = {e: plane.start_worker(slot, topology.id, [e]) for e, slot in groups.items()}
        for worker in view.values():
            plane.connect(worker, view)
            plane.activate(worker, True)
    plane.run_until(10 * SECOND)
    plane.finish()
    light = tape.column("executions", "topology") == "light"
    assert light.sum() == pytest.approx(100, abs=1)
