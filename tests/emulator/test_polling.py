"""Storm 2.x: idle threads poll their queues, and polling takes CPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scene import MS, PLAIN, SECOND, US, Scene, chain, chain_trace, constant_work, nodes, start

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.model import Executor, Slot, StormVersion
from storm_lab.model.version import V0_9_7, V2_8_8

ONE = Slot("node0", 6700)
QUIET = replace(PLAIN, idle_jvm_share=0.0)
POLLS = replace(QUIET, look_us=10.0, look_beside=1.0, timer_slack_us=55.0)


def apart(executor: Executor) -> Slot:
    """The spout on a node of its own."""
    return Slot("node0" if executor.component == "spout" else "node1", 6700)


def played(
    cost: CostModel,
    seconds: float,
    per_s: float,
    *,
    version: StormVersion = V2_8_8,
    place: Callable[[Executor], Slot] = lambda _: ONE,
    cores: int = 4,
    ackers: int = 0,
    work: int = 0,
) -> Scene:
    """A spout and a bolt; two nodes."""
    scene = start(
        chain((1, 1), ackers=ackers),
        chain_trace([constant_work(work, 10)]),
        SourcePlan(SourceKind.RATE, rate_per_s=per_s, anchored=ackers > 0),
        nodes(2, cores=cores),
        place,
        version=version,
        cost=cost,
    )
    scene.plane.run_until(round(seconds * SECOND))
    return scene


def share_of(scene: Scene, component: str, seconds: float) -> float:
    """Cores that a component's executors took, when nothing was sampled before."""
    found = scene.plane.sample().executor_cpu_ns.items()
    return sum(cpu for (_, executor), cpu in found if executor.component == component) / (seconds * SECOND)


def spans(scene: Scene, first: str, last: str) -> np.ndarray:
    """Times between two instants of each execution, ns."""
    scene.plane.finish()
    return np.asarray(scene.tape.column("executions", last) - scene.tape.column("executions", first))


def test_a_bolt_that_gets_nothing_polls_a_thousand_times_and_then_every_millisecond() -> None:
    # The one tuple comes right after the start.
    polls = share_of(played(POLLS, 1.0, 0.001, place=apart), "bolt0", 1.0) * SECOND / (10 * US)
    assert polls == pytest.approx(1000 + (1000 - 55) / 1.055, rel=0.02)


def test_a_tuple_waits_for_the_next_look() -> None:
    waited = spans(played(POLLS, 2.0, per_s=101.0, place=apart), "enqueue_ns", "start_ns")
    assert len(waited) > 190
    assert 0 <= waited.min() <= waited.max() <= 55 * US
    assert len(set(waited.tolist())) > 3, "phases differ"


def test_looking_takes_most_at_light_load_and_less_as_load_rises() -> None:
    beside_work = []
    for per_s in (1.0, 50.0, 20_000.0):
        scene = played(POLLS, 2.0, per_s, work=20 * US)
        beside_work.append(share_of(scene, "bolt0", 2.0) - per_s * 24e-6)
    idle, light, heavy = beside_work
    # 10 us each 55 us.
    assert light == pytest.approx(10 / 55, rel=0.05)
    assert idle < 0.3 * light
    assert heavy < 0.6 * light


def test_threads_that_look_slow_down_those_that_work_on_the_same_core() -> None:
    woken, beside = (
        float(
            np.median(spans(played(cost, 3.0, 20.0, cores=1, ackers=1, work=10 * MS), "start_ns", "end_ns"))
        )
        for cost in (QUIET, POLLS)
    )
    # While the bolt works the acker polls each 55 us, and the spout each 1.055 ms.
    assert woken == pytest.approx(10 * MS, rel=5e-3)
    assert beside == pytest.approx(woken / (1 - 10 / 55 - 10 / 1055), rel=0.01)


def idle(*, bolts: int, cores: int, cost: CostModel) -> Scene:
    """A spout and so many bolts with next to nothing to do, in one worker of 2.8.8."""
    return start(
        chain((1, bolts), ackers=0),
        chain_trace([constant_work(0, 10)]),
        SourcePlan(SourceKind.RATE, rate_per_s=0.001),
        nodes(1, cores=cores),
        lambda _: ONE,
        version=V2_8_8,
        cost=cost,
    )


def test_looks_come_later_where_they_would_take_more_than_there_is() -> None:
    # Three idle bolts would poll for 40 us each 55 us, on one core; the spout each 1.055 ms.
    scene = idle(bolts=3, cores=1, cost=replace(POLLS, look_us=40.0))
    scene.plane.run_until(100 * MS)
    wanted, others = 3 * 40 / 55, 40 / 1055
    assert share_of(scene, "bolt0", 0.1) == pytest.approx(wanted / (wanted + others), rel=0.02)
    # A thousand polls have not been had after 60 ms, nor after 100.
    assert scene.plane.kernel.node["poll_load"][0] > 2 * 1024


def test_looks_are_cheaper_on_a_core_that_others_keep_awake() -> None:
    # Four idle bolts poll each 55 us. Alone each would take 10 us; by four, the part that can be shared is.
    def taken(cores: int) -> float:
        scene = idle(bolts=4, cores=cores, cost=replace(POLLS, look_beside=0.4))
        scene.plane.run_until(50 * MS)
        return share_of(scene, "bolt0", 0.05) * 55 / 4

    # The spout polls each 1.055 ms.
    by_rate = {1: 4 + 55 / 1055, 4: 1.0}
    assert taken(4) == pytest.approx(10 * (0.4 + 0.6 / (by_rate[1] / 4)), rel=0.02)
    assert taken(1) == pytest.approx(10 * (0.4 + 0.6 / by_rate[1]), rel=0.02)


def test_the_looks_of_others_cut_a_cores_sleep_short() -> None:
    scene = idle(bolts=4, cores=1, cost=POLLS)
    scene.plane.run_until(50 * MS)
    threads = scene.plane.kernel.thread
    slept = sorted(threads["poll_slept"][threads["poll_every"] == 55 * US], reverse=True)
    # The spout starts second; by the time that the last bolt becomes idle it polls each 1.055 ms only.
    assert slept == pytest.approx([55 * US / max(1, others) for others in (0, 2, 3, 3 + 55 / 1055)], rel=1e-3)


def test_looks_that_fall_due_together_on_a_full_core_are_had() -> None:
    # Fine polls of 24 bolts end at different instants, and want twelve times the core that they have.
    scene = start(
        chain((1, 24), ackers=1),
        chain_trace([constant_work(30 * US, 10)]),
        SourcePlan(SourceKind.RATE, rate_per_s=40.0, anchored=True),
        nodes(1, cores=1),
        lambda _: ONE,
        version=V2_8_8,
        cost=replace(POLLS, look_us=23.0),
    )
    scene.plane.run_until(SECOND)
    assert len(spans(scene, "start_ns", "end_ns")) >= 40
    assert scene.plane.events < 3000


def test_only_who_sends_to_other_workers_has_a_transfer_thread_that_looks() -> None:
    def polls_each(place: Callable[[Executor], Slot]) -> int:
        scene = played(POLLS, 1.0, per_s=10.0, place=place)
        k = scene.plane.kernel
        return int(k.thread["poll_every"][k.worker["transfer_thread"][scene.workers[ONE]]])

    assert polls_each(lambda _: ONE) == 0
    assert polls_each(apart) == 1055 * US


def test_a_worker_that_is_gone_looks_no_more() -> None:
    scene = played(POLLS, 1.0, per_s=10.0)
    assert scene.plane.kernel.node["poll_load"][0] > 0
    scene.plane.stop_worker(scene.workers[ONE])
    assert scene.plane.kernel.node["poll_load"].tolist() == [0, 0]


@pytest.mark.parametrize(("version", "cost"), [(V0_9_7, POLLS), (V2_8_8, QUIET)])
def test_other_versions_are_woken_and_so_are_these_without_looks(
    version: StormVersion, cost: CostModel
) -> None:
    scene = played(cost, 1.0, per_s=10.0, version=version)
    assert scene.plane.kernel.node["poll_load"].tolist() == [0, 0]
    assert set(spans(scene, "enqueue_ns", "start_ns").tolist()) == {30 * US}


def test_no_look_is_an_event() -> None:
    polling, woken = (played(cost, 2.0, per_s=5.0).plane.events for cost in (POLLS, QUIET))
    # Some for the ends of fine polls, no 36,000 for the polls themselves.
    assert polling <= woken + 40
