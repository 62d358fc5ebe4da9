"""A JVM that starts beside workers: its duration and the CPU it takes from them, computed by hand."""

from __future__ import annotations

import pytest

from storm_lab.emulator.control.clock import Rank, SteppedPlane, VirtualClock, ns
from storm_lab.emulator.control.worker import CORES_PER_START, START_THREADS, JvmStarts
from storm_lab.model import Cluster, Node
from tests.emulator.scene import PLAIN, SECOND, Scene, nodes, rate, start_chain

BUSY_S = 100.0


def one_busy_thread(cluster: Cluster) -> Scene:
    """A worker in which a single thread wants CPU, and wants it all the time."""
    scene = start_chain((1, 1), 0, rate(0.001), cluster, cost=PLAIN, ideal=True)
    scene.plane.charge(0, ns(BUSY_S))
    return scene


def starter(scene: Scene, node: Node) -> tuple[VirtualClock, JvmStarts]:
    """A clock and what starts JVMs on ``node``, each of which needs 7 s of CPU."""
    clock = VirtualClock()
    return clock, JvmStarts(clock, SteppedPlane(scene.plane, clock), node, ns(5.0), ns(7.0))


def started(scene: Scene, node: Node, at_s: float) -> float:
    """Second at which a JVM is up that starts on ``node`` at ``at_s``."""
    clock, starts = starter(scene, node)
    up: list[float] = []
    clock.at(ns(at_s), Rank.PROCESS, "test", lambda: starts.begin(0, lambda: up.append(clock.now_ns / 1e9)))
    clock.run_until(ns(60.0))
    (second,) = up
    return second


def used_s(scene: Scene, until_s: float) -> float:
    """Seconds of CPU that the node's threads have used since the last sample."""
    scene.plane.run_until(ns(until_s))
    return scene.plane.sample().node_cpu_ns["node0"] / SECOND


def test_a_starting_jvm_shares_a_core_with_the_thread_that_runs_there():
    """Beside a thread, its two threads take 10.5 s for 7 s of CPU; with spare cores, as long as alone."""
    cluster = nodes(2, cores=1)
    assert started(one_busy_thread(cluster), cluster.nodes[0], 2.0) == pytest.approx(12.5, abs=0.02)
    assert started(one_busy_thread(cluster), cluster.nodes[1], 2.0) == pytest.approx(9.0, abs=0.02)
    spare = nodes(1, cores=3)
    assert started(one_busy_thread(spare), spare.nodes[0], 2.0) == pytest.approx(
        2.0 + 7.0 / CORES_PER_START, abs=1e-6
    )


def test_a_thread_gets_its_share_of_the_core_during_a_jvm_start_and_all_of_it_later():
    cluster = nodes(1, cores=1)
    scene = one_busy_thread(cluster)
    worker = scene.plane.kernel.worker
    spent = []
    clock, starts = starter(scene, cluster.nodes[0])
    starts.begin(0, lambda: None)
    for second in (9.0, 20.0):
        clock.run_until(ns(second))
        scene.plane.run_until(ns(second))
        spent.append(BUSY_S - worker["backlog"][0] / SECOND)
    # A third of 9 s; then a third of 10.5 s and all of 9.5 s. Bursts of 100 ms are counted when they begin.
    assert spent == [pytest.approx(3.0, abs=0.11), pytest.approx(13.0, abs=0.11)]


def test_cpu_of_a_starting_jvm_counts_for_the_node_and_for_no_worker():
    cluster = nodes(1, cores=1)
    scene = one_busy_thread(cluster)
    clock, starts = starter(scene, cluster.nodes[0])
    starts.begin(0, lambda: None)
    clock.run_until(ns(6.0))
    # A burst of 100 ms may have begun that is not counted yet.
    assert used_s(scene, 6.0) == pytest.approx(6.0, abs=0.11)
    thread, worker, cpu_ms = (scene.tape.column("cpu", name) for name in ("thread", "worker", "cpu_ms"))
    assert cpu_ms[thread == "starting"].sum() == pytest.approx(4000.0, abs=1.0)
    assert set(worker[thread == "starting"]) == {-1}
    assert cpu_ms[thread == "housekeeping"].sum() == pytest.approx(2000.0, abs=110.0)


def test_a_jvm_that_is_killed_while_it_starts_wants_no_more_cpu():
    cluster = nodes(1, cores=1)
    scene = one_busy_thread(cluster)
    clock, starts = starter(scene, cluster.nodes[0])
    starts.begin(0, lambda: None)
    clock.run_until(ns(1.0))
    assert scene.plane.kernel.node["starting"][0] == START_THREADS
    starts.end(0)
    assert scene.plane.kernel.node["starting"][0] == 0
