"""Storm 2.x: idle threads poll their queues, and polling takes CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.state import kinds
from storm_lab.model import Cluster, Executor, Slot, StormVersion
from storm_lab.model.version import V0_9_7, V2_8_8
from tests.emulator.scene import (
    MS,
    PLAIN,
    SATURATED,
    SECOND,
    US,
    Scene,
    apart,
    nodes,
    rate,
    start_chain,
    together,
)

ONE = Slot("node0", 6700)
QUIET = replace(PLAIN, idle_jvm_share=0.0)
POLLS = replace(QUIET, look_us=10.0, look_beside=1.0, park_us=55.0, timer_slack_us=55.0)
"""A parked thread polls every 65 us: it parks for 55 and polls for 10."""


def played(
    cost: CostModel,
    seconds: float,
    per_s: float,
    *,
    version: StormVersion = V2_8_8,
    place: Callable[[Executor], Slot] = together,
    cores: int = 4,
    ackers: int = 0,
    work: int = 0,
) -> Scene:
    """Play a spout and a bolt on two nodes."""
    scene = start_chain(
        (1, 1),
        work,
        rate(per_s, anchored=ackers > 0),
        nodes(2, cores=cores),
        place,
        ackers=ackers,
        version=version,
        cost=cost,
    )
    scene.plane.run_until(round(seconds * SECOND))
    return scene


def bolt_share(scene: Scene) -> float:
    """Cores that the bolts' executors used since the start, if nothing was sampled before."""
    found = scene.plane.sample().executor_cpu_ns.items()
    return sum(cpu for (_, executor), cpu in found if executor.component == "bolt0") / scene.plane.now_ns


def spans(scene: Scene, first: str, last: str) -> np.ndarray:
    """Times between two instants of each execution, ns."""
    scene.plane.finish()
    return scene.tape.spans(first, last)


def test_an_idle_bolt_polls_a_thousand_times_and_then_every_millisecond() -> None:
    # The one tuple comes right after the start.
    polls = bolt_share(played(POLLS, 1.0, 0.001, place=apart)) * SECOND / (10 * US)
    assert polls == pytest.approx(1000 + (1000 - 65) / 1.055, rel=0.02)


def test_a_tuple_waits_for_the_next_poll() -> None:
    waited = spans(played(POLLS, 2.0, per_s=101.0, place=apart), "enqueue_ns", "start_ns")
    assert len(waited) > 190
    assert 0 <= waited.min() <= waited.max() <= 65 * US
    assert len(set(waited.tolist())) > 3, "phases differ"


def test_polls_cost_most_at_light_load_and_less_when_idle_or_under_heavy_load() -> None:
    beside_work = []
    for per_s in (1.0, 50.0, 20_000.0):
        scene = played(POLLS, 2.0, per_s, work=20 * US)
        beside_work.append(bolt_share(scene) - per_s * 24e-6)
    idle, light, heavy = beside_work
    # 10 us every 65 us.
    assert light == pytest.approx(10 / 65, rel=0.05)
    assert idle < 0.3 * light
    assert heavy < 0.6 * light


def test_polling_threads_slow_down_working_threads_on_the_same_core() -> None:
    woken, beside = (
        float(
            np.median(spans(played(cost, 3.0, 20.0, cores=1, ackers=1, work=10 * MS), "start_ns", "end_ns"))
        )
        for cost in (QUIET, POLLS)
    )
    # While the bolt works, the acker polls every 65 us and the spout every 1.055 ms.
    assert woken == pytest.approx(10 * MS, rel=5e-3)
    assert beside == pytest.approx(woken / (1 - 10 / 65 - 10 / 1055), rel=0.01)


def idle(
    *,
    bolts: int,
    cores: int,
    cost: CostModel,
    cluster: Cluster | None = None,
    place: Callable[[Executor], Slot] = together,
) -> Scene:
    """A spout and ``bolts`` bolts of 2.8.8 with almost nothing to do, in one worker if ``place`` says so."""
    cluster = cluster or nodes(1, cores=cores)
    return start_chain((1, bolts), 0, rate(0.001, anchored=True), cluster, place, version=V2_8_8, cost=cost)


def test_polls_are_delayed_if_they_need_more_cpu_than_the_core_has() -> None:
    # On one core, three idle bolts would poll for 40 us every 95 us, and the spout every 1.055 ms.
    scene = idle(bolts=3, cores=1, cost=replace(POLLS, look_us=40.0))
    scene.plane.run_until(100 * MS)
    wanted, others = 3 * 40 / 95, 40 / 1055
    assert bolt_share(scene) == pytest.approx(wanted / (wanted + others), rel=0.02)
    # The thousand polls are not done after 95 ms, nor after 100 ms.
    assert scene.plane.kernel.node["poll_load"][0] > 1.2 * 1024


def test_polls_cost_less_on_a_core_that_other_threads_keep_awake() -> None:
    # Four idle bolts poll every 65 us. A poll alone takes 10 us, a part of which polls on one core share.
    def taken(cores: int) -> float:
        scene = idle(bolts=4, cores=cores, cost=replace(POLLS, look_beside=0.4))
        scene.plane.run_until(50 * MS)
        return bolt_share(scene) * 65 / 4

    # The spout polls every 1.055 ms.
    by_rate = {1: 4 + 55 / 1055, 4: 1.0}
    assert taken(4) == pytest.approx(10 * (0.4 + 0.6 / (by_rate[1] / 4)), rel=0.02)
    assert taken(1) == pytest.approx(10 * (0.4 + 0.6 / by_rate[1]), rel=0.02)


def alternately(executor: Executor) -> Slot:
    """Odd tasks on node0, even ones on node1."""
    return Slot(f"node{(executor.start + 1) % 2}", 6700)


def on_one_machine(quota: float | None = None) -> Cluster:
    """Two nodes, which share one core."""
    given = [replace(node, cpu_quota=quota) for node in nodes(2, cores=1).nodes]
    return Cluster(tuple(given), shared_cores=1.0)


def test_polls_of_all_nodes_that_share_a_core_keep_it_awake() -> None:
    # Four idle bolts poll every 65 us, and the spout every 1.055 ms, on one core: as if on one node.
    cost = replace(POLLS, look_beside=0.4)

    def taken(cluster: Cluster, place: Callable[[Executor], Slot]) -> float:
        scene = idle(bolts=4, cores=1, cost=cost, cluster=cluster, place=place)
        scene.plane.run_until(50 * MS)
        return bolt_share(scene) * 65 / 4

    one_node = 10 * (0.4 + 0.6 / (4 + 55 / 1055))
    assert taken(nodes(1, cores=1), together) == pytest.approx(one_node, rel=0.02)
    assert taken(on_one_machine(), alternately) == pytest.approx(one_node, rel=0.03)
    assert taken(on_one_machine(quota=0.9), alternately) == pytest.approx(one_node, rel=0.03)
    # On nodes of their own two bolts poll on each core.
    two_bolts = 10 * (0.4 + 0.6 / 2)
    assert taken(nodes(2, cores=1), alternately) == pytest.approx(two_bolts, rel=0.02)


def test_polls_of_a_node_that_its_quota_holds_back_no_longer_make_those_of_others_cheaper() -> None:
    # Two idle bolts poll on each node. The second has used up its quota of 2 ms after some 12 ms.
    first, second = on_one_machine(quota=0.9).nodes
    cluster = Cluster((first, replace(second, cpu_quota=0.02)), shared_cores=1.0)
    cost = replace(POLLS, look_beside=0.4)
    scene = idle(bolts=4, cores=1, cost=cost, cluster=cluster, place=alternately)
    parts = []
    for time in (8 * MS, 40 * MS):
        scene.plane.run_until(time)
        parts.append(scene.plane.kernel.node["poll_cost_part"][0] / 1024)
    assert parts == pytest.approx([0.4 + 0.6 / (4 + 55 / 1055), 0.4 + 0.6 / 2], rel=0.02)


@pytest.mark.parametrize(
    ("cluster", "place"),
    [(nodes(1, cores=1), together), (on_one_machine(), alternately)],
    ids=["node", "machine"],
)
def test_polls_of_other_threads_on_a_core_shorten_its_sleep_between_polls(
    cluster: Cluster, place: Callable[[Executor], Slot]
) -> None:
    scene = idle(bolts=4, cores=1, cost=POLLS, cluster=cluster, place=place)
    scene.plane.run_until(100 * MS)
    threads = scene.plane.kernel.thread
    bolts = threads["poll_every"] == 1055 * US
    slept = sorted(threads["poll_slept"][bolts & (threads["role"] != kinds.SPOUT)])
    # The first bolt that no longer parks is beside three that do, the last one beside none; the spout polls
    # every 1.055 ms as well.
    beside = [parking + (4 - parking) * 55 / 1055 for parking in (3, 2, 1, 0)]
    assert slept == pytest.approx([55 * US / each for each in beside], rel=1e-2)


def test_polls_that_are_due_together_on_a_full_core_do_not_stop_the_bolts() -> None:
    # Fine polls of 24 bolts end at different instants and need twelve times the core that they have.
    scene = start_chain(
        (1, 24),
        30 * US,
        rate(40.0, anchored=True),
        nodes(1, cores=1),
        ackers=1,
        version=V2_8_8,
        cost=replace(POLLS, look_us=23.0),
    )
    scene.plane.run_until(SECOND)
    assert len(spans(scene, "start_ns", "end_ns")) >= 40
    assert scene.plane.events < 3000


def test_a_transfer_thread_polls_only_if_its_worker_sends_to_other_workers() -> None:
    def polls_each(place: Callable[[Executor], Slot]) -> int:
        scene = played(POLLS, 1.0, per_s=10.0, place=place)
        k = scene.plane.kernel
        return int(k.thread["poll_every"][k.worker["transfer_thread"][scene.workers[ONE]]])

    assert polls_each(together) == 0
    assert polls_each(apart) == 1055 * US


def test_a_stopped_worker_does_not_poll() -> None:
    scene = played(POLLS, 1.0, per_s=10.0)
    assert scene.plane.kernel.node["poll_load"][0] > 0
    scene.plane.stop_worker(scene.workers[ONE])
    assert scene.plane.kernel.node["poll_load"].tolist() == [0, 0]


@pytest.mark.parametrize(("version", "cost"), [(V0_9_7, POLLS), (V2_8_8, QUIET)])
def test_threads_are_woken_in_other_versions_and_with_polls_switched_off(
    version: StormVersion, cost: CostModel
) -> None:
    scene = played(cost, 1.0, per_s=10.0, version=version)
    assert scene.plane.kernel.node["poll_load"].tolist() == [0, 0]
    assert set(spans(scene, "enqueue_ns", "start_ns").tolist()) == {30 * US}


def test_polls_are_not_events() -> None:
    polling, woken = (played(cost, 2.0, per_s=5.0).plane.events for cost in (POLLS, QUIET))
    # A few events for the ends of fine polls, but not 36,000 for the polls themselves.
    assert polling <= woken + 40


def test_polls_on_a_slowed_node_take_no_more_than_its_cores() -> None:
    cost = replace(PLAIN, look_us=15.0, timer_slack_us=55.0)
    scene = start_chain((5, 1), 100 * MS, SATURATED, nodes(1, cores=1), version=V0_9_7, cost=cost)
    used = []
    for second in range(1, 9):
        if second == 5:
            scene.plane.set_node_speed("node0", 0.1)
        scene.plane.run_until(second * SECOND)
        used.append(sum(scene.plane.sample().executor_cpu_ns.values()) / SECOND)
    assert max(used) < 1.1


def test_slowing_a_node_does_not_make_its_earlier_polls_dearer() -> None:
    used = []
    for factor in (1.0, 0.1):
        scene = played(replace(PLAIN, look_us=15.0), 20.0 - 0.001, 0.001)
        scene.plane.set_node_speed("node0", factor)
        scene.plane.run_until(20 * SECOND)
        used.append(bolt_share(scene))
    assert used[1] == pytest.approx(used[0], rel=0.01)


def test_polls_until_the_end_of_a_run_are_counted() -> None:
    scene = played(replace(PLAIN, look_us=15.0), 20.0, 0.001)
    scene.plane.sample()
    scene.plane.run_until(25 * SECOND)
    scene.plane.finish()
    starts, ends, cpu = (scene.tape.column("cpu", name) for name in ("start_ns", "end_ns", "cpu_ms"))
    main = scene.tape.column("cpu", "thread") == "main"
    shares = [
        float(cpu[main & (ends == end)].sum()) / (end - start)
        for start, end in sorted(set(zip(starts, ends, strict=True)))
    ]
    assert shares[1] == pytest.approx(shares[0], rel=0.05)
