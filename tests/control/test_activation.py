"""When a worker's executors begin: in which versions they wait until it has connected to all of its peers."""

from __future__ import annotations

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.model import Cluster, Node, Slot, StormVersion
from storm_lab.model.version import V0_8_2, V0_9_3, V0_9_4, V0_9_7, V0_10_0, V1_0_0, V1_0_3, V2_8_8
from tests.control.world import chain, phases_at, run_to, running, seconds_of
from tests.emulator.scene import apart, start_chain
from tests.emulator.scene import nodes as equal_nodes

V1_2_4 = StormVersion((1, 2, 4))
BY_REFRESH = pytest.mark.parametrize("version", [V0_9_4, V0_9_7, V0_10_0, V1_0_0, V1_0_3, V1_2_4], ids=str)


def up_and_begun(version: StormVersion, workers: int = 2) -> list[tuple[float, float]]:
    """When each worker was up, and when its executors began, in s; the cores of the second are slower."""
    cluster = Cluster((Node("node01", cores=2), Node("node02", cores=2, core_mhz=1333.0)))
    topology = chain(workers=workers, executors=2)
    control, plane = running(60, topology, cluster, version=version, cost=CostModel(jvm_start_cpu_s=6.0))
    found = [
        (up_s, round(plane.prepared_ns[process.id] / 1e9, 3))
        for process in control.fleet.processes
        for up_s in seconds_of(control, "worker-ready", process.actor)
    ]
    return sorted(found)


@pytest.mark.parametrize("version", [V0_8_2, V0_9_3], ids=str)
def test_up_to_0_9_3_executors_are_prepared_at_once(version: StormVersion) -> None:
    """On real 0.9.2 a spout was opened 2.0 s before its peer was up (``control``, third play)."""
    (early_up, early_begun), (late_up, late_begun) = up_and_begun(version)
    assert early_up + 1.5 < late_up
    assert (early_begun, late_begun) == (early_up, late_up)


@BY_REFRESH
def test_from_0_9_4_on_a_workers_executors_begin_a_second_after_its_start(version: StormVersion) -> None:
    """The timer that reads the status has just looked at the connections, and sleeps for a second."""
    ((up, begun),) = up_and_begun(version, workers=1)
    assert begun == pytest.approx(up + 1.0, abs=0.002)


@BY_REFRESH
def test_a_worker_whose_peer_comes_later_begins_with_its_next_refresh(version: StormVersion) -> None:
    """On real 1.2.4 one began 11.1 s after its start, as its peer was up 3 s later."""
    (early_up, early_begun), (late_up, late_begun) = up_and_begun(version)
    assert 1.5 < late_up - early_up < 10
    assert early_begun == pytest.approx(early_up + 11.0, abs=0.002)
    assert late_begun == pytest.approx(late_up + 1.0, abs=0.002)


def test_a_worker_reads_its_topologys_status_as_it_looks() -> None:
    """It is up at 8 s, the topology is deactivated at 8.5 s, and its next refresh would be at 18 s."""
    control, plane = running(8.5, chain(workers=1), 1, version=V0_9_7, phases={"node01": phases_at(2.0, 0.5)})
    assert seconds_of(control, "worker-ready") == [8.0]
    control.nimbus.set_active("chain", False, reason="test")
    run_to(control, 17)
    assert not plane.prepared_ns


def test_in_2_x_a_worker_looks_every_second_until_its_peer_is_up() -> None:
    (early_up, early_begun), (late_up, late_begun) = up_and_begun(V2_8_8)
    assert (early_begun - early_up) % 1.0 == pytest.approx(0.0, abs=0.002)
    assert 0 <= early_begun - late_up < 1.5
    assert late_begun == late_up


@pytest.mark.parametrize("version", [V0_9_7, V1_2_4, V2_8_8], ids=str)
def test_what_an_unprepared_bolt_receives_waits_in_its_queue(version: StormVersion) -> None:
    source = SourcePlan(SourceKind.RATE, rate_per_s=100.0)
    scene = start_chain([1, 1], 1000, source, equal_nodes(2), apart, version=version)
    bolts = scene.workers[Slot("node1", 6700)]
    scene.plane.run_until(1_000_000_000)
    moved = [executor for executor, worker in scene.view.items() if worker == bolts]
    scene.plane.stop_worker(bolts)
    again = scene.plane.start_worker(Slot("node1", 6701), "t", moved, prepared=False)
    scene.view.update(dict.fromkeys(moved, again))
    for worker in (scene.workers[Slot("node0", 6700)], again):
        scene.plane.connect(worker, scene.view)
    scene.plane.run_until(2_000_000_000)
    executed = scene.plane.sample().executor_cpu_ns
    scene.plane.run_until(3_000_000_000)
    waiting = scene.plane.sample()
    assert waiting.executor_cpu_ns.get((again, moved[-1]), 0) == executed.get((again, moved[-1]), 0)
    assert waiting.queued[again, moved[-1]] == pytest.approx(200, abs=5)
    scene.plane.prepare(again)
    assert {stay.start_ns for stay in scene.plane.stays if stay.worker == again} == {3_000_000_000}
    scene.plane.run_until(4_000_000_000)
    assert scene.plane.sample().queued[again, moved[-1]] <= 1
