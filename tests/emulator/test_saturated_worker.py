"""Mechanisms inside and in front of a worker that cannot keep up (Storm 0.9).

They are behind the recordings of R-Storm's topologies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from storm_lab.emulator.state.kinds import NETWORK
from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_0, V0_9_2, V0_9_7, V2_8_8
from tests.emulator.scene import (
    MS,
    SATURATED,
    SECOND,
    US,
    Scene,
    apart,
    at_times,
    bolts_apart,
    nodes,
    rate,
    start_chain,
)


def executed(scene: Scene, component: str) -> int:
    """Tuples that a component executed since the last counting window began."""
    k = scene.plane.kernel
    index = scene.plane._names.component_index["t", component]
    return int(k.task["executed"][k.task["component"] == index].sum())


def network_cpu(scene: Scene) -> int:
    threads = scene.plane.kernel.thread
    return int(threads["cpu"][(threads["kind"] == NETWORK) & (threads["node"] == 0)].sum())


def test_arriving_tuples_are_read_and_decoded_even_if_they_are_never_executed() -> None:
    scene = start_chain(
        (1, 1), 2 * MS, rate(2500.0), nodes(2, cores=1), bolts_apart, version=V0_9_7, ideal=True
    )
    scene.plane.kernel.cost["receive"] = 40 * US
    # By then the bolt's queue is full and the receive thread is blocked.
    scene.plane.run_until(10 * SECOND)
    read, done = network_cpu(scene), executed(scene, "bolt0")
    scene.plane.run_until(19 * SECOND)
    assert (network_cpu(scene) - read) / (40 * US) == pytest.approx(9 * 2500, rel=0.01)
    assert executed(scene, "bolt0") - done < 0.25 * 9 * 2500


@pytest.mark.parametrize(
    ("version", "size", "lists"),
    [
        pytest.param(V0_9_0, 100, 1 + 13, id="up to 0.9.1, eight tuples at most"),
        pytest.param(V0_9_2, 100, 2, id="from 0.9.2 on, what one read has brought"),
        pytest.param(V0_9_2, 10_000, 1 + 14, id="64 KiB at most, seven tuples of 10 KB"),
    ],
)
def test_places_that_a_receive_thread_fills(version: StormVersion, size: int, lists: int) -> None:
    """A hundred tuples are sent at once. Two are read first; the others arrive meanwhile."""
    arrivals = at_times([0] * 100)
    scene = start_chain((1, 1), 10 * MS, arrivals, nodes(2), apart, size=size, version=version, ideal=True)
    k = scene.plane.kernel
    k.cost["read"] = 1 * MS
    scene.plane.run_until(19 * MS)
    (bolt,) = (e.main_thread for e in k.executor if not k.component[e.component].is_spout)
    assert k.thread["places"][bolt] == lists


def test_zeromq_workers_and_storm_2_have_no_network_thread_of_their_own() -> None:
    for version in (V0_8_2, V2_8_8):
        scene = start_chain((1, 1), 100 * US, rate(500.0), nodes(2), bolts_apart, version=version)
        scene.plane.run_until(2 * SECOND)
        assert executed(scene, "bolt0") > 900
        assert network_cpu(scene) == 0


def emitted_by_half_second(version: StormVersion) -> list[int]:
    """Emits per half second of a spout that floods a bolt in its own worker, which takes 1 ms a tuple."""
    scene = start_chain((1, 1), MS, SATURATED, nodes(1, cores=4), version=version)
    counts = []
    for step in range(80):
        before = scene.plane.kernel.s[0].roots_emitted
        scene.plane.run_until((step + 1) * SECOND // 2)
        counts.append(int(scene.plane.kernel.s[0].roots_emitted - before))
    return counts[30:]


def test_a_disruptor_queue_frees_a_batch_at_once_so_a_blocked_spout_emits_in_bursts() -> None:
    bursts = emitted_by_half_second(V0_9_7)
    assert bursts.count(0) > 10
    assert max(bursts) > 2000
    assert sum(bursts) / (len(bursts) / 2) == pytest.approx(1000, rel=0.25)


def test_a_queue_of_storm_2_frees_its_places_one_by_one() -> None:
    steady = emitted_by_half_second(V2_8_8)
    assert steady.count(0) == 0
    assert max(steady) < 1000


def flooded(
    executors: Sequence[int],
    work: int = 0,
    cores: int = 16,
    place: Callable[[Executor], Slot] = bolts_apart,
    debug: bool = True,
    **cost_ns: int,
) -> Scene:
    """A chain whose spout never sleeps, without costs but these of the kernel, by default with log lines."""
    given = {"topology.debug": debug}
    cluster = nodes(2, cores=cores)
    scene = start_chain(executors, work, SATURATED, cluster, place, given=given, version=V0_9_7, ideal=True)
    for name, ns in cost_ns.items():
        scene.plane.kernel.cost[name] = ns
    return scene


def test_only_one_thread_of_a_worker_writes_into_its_log_at_a_time() -> None:
    free = flooded((1, 2), MS, debug=False, poll=10 * US)
    logging = flooded((1, 2), log_receive=MS, log_emit=10 * US)
    for scene, bolts_at_work in ((free, 2), (logging, 1)):
        scene.plane.run_until(9 * SECOND)
        assert executed(scene, "bolt0") == pytest.approx(bolts_at_work * 9000, rel=0.01)


def test_logging_continues_after_a_writing_and_a_waiting_thread_have_died() -> None:
    scene = flooded((1, 3), log_receive=MS, log_emit=100 * US)
    scene.plane.run_until(2 * SECOND)
    bolts = [executor for executor in scene.view if executor.component == "bolt0"]
    for executor in bolts[:2]:
        scene.plane.stop_executor(scene.view[executor], executor)
    before = executed(scene, "bolt0")
    scene.plane.run_until(4 * SECOND)
    assert executed(scene, "bolt0") - before == pytest.approx(2000, rel=0.01)


def spout_and_bolt_of_one_log(turn: int) -> tuple[int, int]:
    """Emits of a spout (1 ms of logging) and executions of a busy bolt (2 ms), in 9 s on one core."""

    def place(executor: Executor) -> Slot:
        return Slot("node1" if executor.component == "bolt0" else "node0", 6700)

    scene = flooded((1, 1, 1), 0, 1, place, log_receive=2 * MS, log_emit=MS, slice=turn)
    scene.plane.run_until(9 * SECOND)
    return int(scene.plane.kernel.task["emitted"][0]), executed(scene, "bolt1")


def test_threads_that_share_a_log_and_a_core_get_equal_time_only_with_time_slices() -> None:
    # With time slices: half of the time each.
    assert spout_and_bolt_of_one_log(turn=20 * MS) == pytest.approx((4500, 2250), rel=0.02)
    # Without time slices: 3 ms for an emit and an execution, in turn.
    assert spout_and_bolt_of_one_log(turn=0) == pytest.approx((3000, 3000), rel=0.02)


@pytest.mark.parametrize(("version", "lists"), [(V0_9_0, 1 + 13), (V0_9_2, 1 + 2)])
def test_a_list_holds_what_the_read_of_one_connection_has_brought(version: StormVersion, lists: int) -> None:
    """Two spouts in workers of their own emit 50 tuples each; most of them arrive during the first read."""
    scene = start_chain(
        (2, 1),
        100 * MS,
        at_times([0] * 100),
        nodes(3),
        lambda executor: Slot(f"node{min(executor.start, 3) - 1}", 6700),
        version=version,
        ideal=True,
    )
    scene.plane.kernel.cost["read"] = 1 * MS
    scene.plane.run_until(50 * MS)
    k = scene.plane.kernel
    (bolt,) = (e.main_thread for e in k.executor if not k.component[e.component].is_spout)
    assert k.thread["places"][bolt] == lists
