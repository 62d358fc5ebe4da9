"""Nodes that are containers on one machine: how they share its cores, computed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from storm_lab.errors import UserError
from storm_lab.model import Cluster, Executor, Node, Slot
from storm_lab.model.version import V0_9_7
from tests.emulator.scene import MS, SATURATED, SECOND, US, rate, start_chain

SECONDS = 4


def machine(
    spouts: Sequence[int], shared: float | None, cores: int = 4, quota: float | None = None
) -> Cluster:
    """A node for each number of spouts, and one more for the bolt."""
    given = {"cores": cores, "core_mhz": 2000.0, "memory_mb": 65536.0, "ports": (6700,), "cpu_quota": quota}
    nodes = [Node(f"node{number}", quota_period_ms=20.0, **given) for number in range(len(spouts) + 1)]
    return Cluster(tuple(nodes), shared)


def cores_used(spouts: Sequence[int], cluster: Cluster) -> list[float]:
    """Cores that the spouts of each node use; every spout always wants a core (1 ms a tuple)."""
    home = [node for node, count in enumerate(spouts) for _ in range(count)]

    def place(executor: Executor) -> Slot:
        # Tasks are numbered by the component's name, so the bolt's comes first.
        node = len(spouts) if executor.component == "bolt0" else home[executor.start - 2]
        return Slot(f"node{node}", 6700)

    scene = start_chain((len(home), 1), 0, SATURATED, cluster, place, version=V0_9_7, ideal=True)
    scene.plane.kernel.cost["poll"] = MS
    scene.play(SECONDS * SECOND)
    component, task = (scene.tape.column("counts", name) for name in ("component", "task"))
    emitted = scene.tape.column("counts", "emitted")
    used = [0.0] * len(spouts)
    for number, node in enumerate(home):
        own = (component == "spout") & (task == number + 2)
        used[node] += float(emitted[own].sum()) / 1000 / SECONDS
    return used


@pytest.mark.parametrize(
    ("spouts", "shared", "used"),
    [
        ((1, 1, 1), None, (1.0, 1.0, 1.0)),
        ((3,), 2.0, (2.0,)),
        ((1, 1, 1), 2.0, (2 / 3, 2 / 3, 2 / 3)),
        ((3, 1), 2.0, (1.0, 1.0)),
        ((3, 1), 3.0, (2.0, 1.0)),
        ((2, 1), 4.0, (2.0, 1.0)),
        ((4, 3, 1), 5.0, (2.0, 2.0, 1.0)),
        ((6, 1), 6.0, (4.0, 1.0)),
        ((2, 2), 1.5, (0.75, 0.75)),
    ],
)
def test_nodes_share_cores_equally_and_unused_shares_go_to_other_nodes(
    spouts: tuple[int, ...], shared: float | None, used: tuple[float, ...]
):
    """A node has at most four cores, however many the machine has."""
    assert cores_used(spouts, machine(spouts, shared)) == pytest.approx(used, rel=0.01)


def test_a_node_that_has_used_up_its_quota_leaves_its_cores_to_the_others():
    """node0 may use half a core, so the two spouts of node1 get the other one and a half."""
    free = machine((2, 2), 2.0)
    held = Cluster((machine((2, 2), 2.0, quota=0.5).nodes[0], *free.nodes[1:]), 2.0)
    assert cores_used((2, 2), free) == pytest.approx([1.0, 1.0], rel=0.01)
    assert cores_used((2, 2), held) == pytest.approx([0.5, 1.5], rel=0.02)


def test_nodes_with_quotas_take_turns_at_all_cores():
    """Each node may use 18 ms of CPU in 20 ms and wants two cores: it has both for 9 ms, then none for 11."""
    cluster = Cluster(machine((0, 0), 2.0, cores=2, quota=0.9).nodes[:2], 2.0)
    scene = start_chain((1, 1), 0, rate(1.0), cluster, version=V0_9_7, ideal=True)
    scene.plane.set_starting(cluster.nodes[0], 2)
    scene.plane.run_until(10 * MS)
    scene.plane.set_starting(cluster.nodes[1], 2)
    granted = []
    for ms in range(100, 500):
        scene.plane.run_until(ms * MS + MS // 2)
        granted.append([int(cores) for cores in scene.plane.kernel.node["granted"]])
    assert set(map(tuple, granted)) == {(2, 0), (0, 2), (0, 0)}
    for node in range(2):
        changes = np.flatnonzero(np.diff([cores[node] for cores in granted]))
        assert set(np.diff(changes)) == {9, 11}


@pytest.mark.parametrize(("shared", "apart_ms"), [(1.0, [0, 0, 0, 4]), (None, [1, 1, 1, 1])])
def test_a_node_waits_for_the_end_of_another_nodes_turn(shared: float | None, apart_ms: list[int]):
    """A tuple every ms beside a node that always wants the only core: four tuples run every 4 ms."""
    cluster = machine((1, 1), shared, cores=1)
    scene = start_chain(
        (1, 1),
        US,
        rate(1000.0),
        cluster,
        lambda executor: Slot("node0" if executor.component == "bolt0" else "node1", 6700),
        version=V0_9_7,
        ideal=True,
        sample_every=1,
    )
    scene.plane.kernel.cost["turn"] = 4 * MS
    scene.plane.set_starting(cluster.nodes[2], 1)
    scene.play(SECONDS * SECOND)
    is_bolt = scene.tape.column("executions", "component") == "bolt0"
    began = np.sort(scene.tape.column("executions", "start_ns")[is_bolt])[1000:1100]
    assert sorted(np.diff(began)[:4] / MS) == pytest.approx(apart_ms, abs=0.01)
    assert began[-1] - began[0] == pytest.approx(99 * MS, abs=4 * MS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shared_cores": 0.0}, "shared_cores = 0.0.*0.1 to 4096"),
        ({"shared_cores": float("nan")}, "shared_cores"),
        ({"shared_cores": "two"}, "shared_cores"),
        ({"threads_per_core": 2}, "threads_per_core = 2.*count each thread as a core"),
    ],
)
def test_invalid_shared_cores_are_refused_with_the_field(change: dict[str, object], message: str):
    node = Node("node", threads_per_core=int(change.get("threads_per_core", 1)))  # type: ignore[call-overload]
    with pytest.raises(UserError, match=message):
        Cluster((node,), change.get("shared_cores", 2.0))  # type: ignore[arg-type]
