"""Fault plans: what they do, and which are refused before the run."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import ClassVar

import pytest

from storm_lab.emulator.control.clock import SECOND
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults import Fault, FaultPlan, PlannedWorld, fault_kind
from storm_lab.emulator.control.times import timers_of
from storm_lab.emulator.plane import MOST_LINKS
from storm_lab.errors import UserError
from storm_lab.model import StormVersion
from storm_lab.model.version import V0_8_2
from tests.control import real_world
from tests.control.fake_plane import FakePlane
from tests.control.world import build, chain, cluster, disturbance, fault, run_to, seconds_of


def _world(duration_s: float = 600.0) -> PlannedWorld:
    return PlannedWorld(cluster(4, racks=2), (chain(workers=4),), V0_8_2, duration_s)


def _play(rows: list[dict[str, object]], seconds: float = 600.0) -> tuple[ControlPlane, FakePlane]:
    plan = FaultPlan.of_rows(rows)
    plan.check(_world(seconds))
    control, plane = build(4, racks=2)
    plan.start(control)
    control.nimbus.submit(chain(workers=4))
    run_to(control, seconds)
    return control, plane


BAD = [
    ([fault("kill-node", 10, node="node99")], r"faults\[0\]\.node = 'node99'.*no such node"),
    ([fault("slow-node", 10, node="node99", factor=0.5)], r"faults\[0\]\.node = 'node99'.*no such node"),
    ([fault("kill-worker", 10, node="node99", port=6700)], r"faults\[0\]\.node = 'node99'.*no such node"),
    ([fault("cut-link", 10, node_a="node01", node_b="node99")], r"faults\[0\]\.node_b = 'node99'"),
    ([fault("kill-node", 600, node="node01")], r"faults\[0\]\.at_s = 600.*outside the run"),
    ([fault("kill-node", -1, node="node01")], r"faults\[0\]\.at_s = -1"),
    ([fault("kill-node", "soon", node="node01")], r"faults\[0\]\.at_s = 'soon'"),
    ([fault("revive-node", 10, node="node01")], r"faults\[0\]\.node = 'node01'.*is alive"),
    (
        [fault("revive-node", 20, node="node01"), fault("kill-node", 30, node="node01")],
        r"faults\[0\].*is alive at that time",
    ),
    (
        [fault("kill-node", 20, node="node01"), fault("kill-node", 30, node="node01")],
        r"faults\[1\].*down already",
    ),
    ([fault("kill-rack", 10, rack="r7")], r"faults\[0\]\.rack = 'r7'.*there are: r0, r1"),
    ([fault("revive-rack", 10, rack="r1")], r"faults\[0\]\.rack.*is alive"),
    ([fault("kill-worker", 10, node="node01", port=1)], r"faults\[0\]\.port = 1.*6700"),
    ([fault("revive-worker", 10, node="node01", port=6700)], r"no earlier entry kills"),
    ([fault("kill-executor", 10, topology="x", task=1)], r"faults\[0\]\.topology = 'x'"),
    ([fault("kill-executor", 10, topology="chain", task=99)], r"faults\[0\]\.task = 99"),
    ([fault("revive-nimbus", 10)], r"faults\[0\]: Nimbus is up already"),
    ([fault("kill-zookeeper", 1), fault("kill-zookeeper", 2)], r"faults\[1\]: ZooKeeper is down already"),
    ([fault("slow-node", 1, node="node01", factor=0)], r"faults\[0\]\.factor = 0"),
    ([fault("cut-link", 1, node_a="node01", node_b="node01")], r"faults\[0\]\.node_b"),
    ([fault("restore-link", 1, node_a="node01", node_b="node02")], r"faults\[0\]\.node_b.*undisturbed"),
    ([fault("delay-link", 1, node_a="node01", node_b="node02", extra_ms=0)], r"faults\[0\]\.extra_ms = 0"),
    ([fault("set-load", 1, topology="chain", spout="bolt", rate_per_s=1)], r"\.spout"),
    ([fault("explode", 1)], r"faults\[0\] = 'explode'.*no such fault"),
    ([{"at_s": 1}], r"faults\[0\]\.fault.*names no fault"),
    ([fault("kill-node", 1)], r"faults\[0\]\.node.*needs this parameter"),
    ([fault("kill-node", 1, node="node01", why=3)], r"faults\[0\]\.why = 3: .*no such param"),
    ([fault("kill-topology", 1, topology=["x"])], r"faults\[0\]\.topology = \['x'\]"),
    ([fault("kill-topology", 5, topology="chai")], r"faults\[0\]\.topology = 'chai'"),
    (
        [fault("kill-topology", 5, topology="chain"), fault("activate-topology", 6, topology="chain")],
        r"faults\[1\]\.topology = 'chain': the topology has been killed",
    ),
    ([fault("activate-topology", 5, topology="chain")], "the topology is active"),
    (
        [
            fault("deactivate-topology", 5, topology="chain"),
            fault("deactivate-topology", 6, topology="chain"),
        ],
        r"faults\[1\].*inactive already",
    ),
    (
        [fault("kill-nimbus", 5), fault("rebalance-topology", 6, topology="chain")],
        r"faults\[1\].*Nimbus is down",
    ),
    ([fault("rebalance-topology", 6, topology="chain", workers=0)], r"faults\[0\]\.workers = 0"),
    ([fault("rebalance-topology", 6, topology="chain", wait_s=-1)], r"faults\[0\]\.wait_s = -1"),
    ([fault("kill-topology", 6, topology="chain", wait_s=float("nan"))], r"faults\[0\]\.wait_s = nan"),
]


@pytest.mark.parametrize(("rows", "message"), BAD)
def test_an_invalid_plan_is_refused_with_the_name_of_the_entry(
    rows: list[dict[str, object]], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        FaultPlan.of_rows(rows).check(_world())


def test_each_of_several_submissions_must_find_nimbus_up() -> None:
    world = replace(_world(), submit_s={"first": 30.0, "second": 50.0})
    down = [fault("kill-nimbus", 20), fault("revive-nimbus", 40)]
    with pytest.raises(UserError, match="Nimbus is down when topology 'first' is submitted"):
        FaultPlan.of_rows(down).check(world)


def test_a_node_that_fails_and_comes_back_is_used_again() -> None:
    control, plane = _play([fault("kill-node", 200, node="node02"), fault("revive-node", 210, node="node02")])
    # The node is back before its failure is noticed, so its supervisor restarts its workers.
    assert len(control.log.of("assign")) == 1
    assert plane.running() == set(control.nimbus.present.slots)
    assert list(control.log.lines("kill-node", "revive-node")) == [
        "200.000 fault kill-node node02 (fault plan)",
        "210.000 fault revive-node node02 (fault plan)",
    ]


@pytest.mark.parametrize(("failing", "peers_die"), [("kill-worker", True), ("kill-node", False)])
def test_peers_notice_the_end_of_a_worker_but_not_of_its_node(failing: str, peers_die: bool) -> None:
    """In 0.9.2 a worker whose connection breaks gives up after 28 s. Live, none did when a node was lost."""
    place = {"node": "node02"} | ({"port": 6700} if failing == "kill-worker" else {})
    faults = FaultPlan.of_rows([fault(failing, 30, **place)])
    version = StormVersion((0, 9, 2))
    patient = replace(timers_of(version), worker_timeout_s=60.0, task_timeout_s=60.0)
    play = real_world.spec(faults=faults, version=version, timers=patient, duration_s=65.0)
    decisions = real_world.play(play).outcome.decisions
    reasons = [d.reason for d in decisions if d.action == "worker-crash" and d.time_ns > 31 * SECOND]
    assert ("gave up connecting: Async loop died" in reasons) is peers_die


def test_what_is_sent_to_a_failed_node_is_lost_until_peers_refresh_their_connections() -> None:
    control, plane = _play([fault("kill-node", 200, node="node02")], 201.0)
    lost = {worker for worker, slot in enumerate(plane.slots) if slot.node == "node02"}
    assert all(lost & set(view.values()) for view in plane.views.values())
    run_to(control, 600)
    assert not any(lost & set(view.values()) for view in plane.views.values())


def test_a_failed_node_that_is_back_refuses_what_peers_send_and_one_that_is_not_takes_it() -> None:
    rows = [fault("kill-node", 200, node=node) for node in ("node02", "node03")]
    control, plane = _play([*rows, fault("revive-node", 201, node="node02")], 202.0)
    assert control.nimbus.present.nodes_used() == ("node01", "node02", "node03", "node04")
    at = {slot.node: worker for worker, slot in enumerate(plane.slots)}
    for worker in (at["node01"], at["node04"]):
        assert set(plane.views[worker].values()) == {at["node01"], at["node03"], at["node04"]}


def test_executors_of_a_failed_rack_move_to_the_other_rack() -> None:
    control, plane = _play([fault("kill-rack", 200, rack="r0")])
    assert control.nimbus.present.nodes_used() == ("node02", "node04")
    assert plane.running() == set(control.nimbus.present.slots)


def test_a_node_that_is_up_keeps_its_worker_when_its_rack_is_revived() -> None:
    rows = [fault("kill-node", 200, node="node01"), fault("revive-rack", 201, rack="r0")]
    control, plane = _play(rows, 260.0)
    started = [entry.subject for entry in control.log.of("start-worker")]
    assert (started.count("node01:6700"), started.count("node03:6700")) == (2, 1)
    assert len(plane.alive) == 4


def test_an_executor_that_dies_takes_its_worker_with_it() -> None:
    control, plane = _play([fault("kill-executor", 200, topology="chain", task=3)], 201.0)
    (crash,) = control.log.of("worker-crash")
    assert crash.reason == "an exception escaped from an executor's thread"
    assert all(3 not in executor.tasks for executor in plane.running())


def test_a_killed_worker_is_back_sooner_when_revived() -> None:
    place = {"node": "node01", "port": 6700}
    kill, revive = fault("kill-worker", 200, **place), fault("revive-worker", 203, **place)
    ready = [seconds_of(_play(rows, 300.0)[0], "worker-ready")[-1] for rows in ([kill], [kill, revive])]
    assert ready[1] == 208.0
    assert ready[0] >= 230.0


def test_faults_of_machines_links_and_sources_reach_the_data_plane() -> None:
    _, plane = _play(
        [
            fault("slow-node", 10, node="node01", factor=0.5),
            fault("cut-link", 11, node_a="node01", node_b="node02"),
            fault("restore-link", 12, node_a="node02", node_b="node01"),
            fault("delay-link", 13, node_a="node03", node_b="node02", extra_ms=2.5),
            fault("set-load", 14, topology="chain", spout="spout", rate_per_s=500.0),
        ],
        20.0,
    )
    assert plane.calls == [
        ("speed", "node01", 0.5),
        ("link", "node01", "node02", True, 0),
        ("link", "node02", "node01", False, 0),
        ("link", "node03", "node02", False, 2_500_000),
        ("load", "chain", "spout", 500.0),
    ]


def test_simultaneous_faults_strike_in_the_order_of_the_plan() -> None:
    control, _ = _play(
        [fault("kill-nimbus", 100), fault("revive-nimbus", 100), fault("kill-nimbus", 100)], 101.0
    )
    assert [e.action for e in control.log.entries if e.actor == "fault"] == [
        "kill-nimbus",
        "revive-nimbus",
        "kill-nimbus",
    ]
    assert not control.nimbus.up


@fault_kind
@dataclass(frozen=True, slots=True)
class _Flood(Fault):
    """A fault for this test only: water in the machine room stops the lowest nodes."""

    name: ClassVar[str] = "flood-test-fault"
    at_s: float
    height: int

    def check(self, world: PlannedWorld, entry: str) -> None:
        if self.height > len(world.cluster.nodes):
            raise UserError("that is more than a flood", field=f"{entry}.height", value=self.height)
        world.nodes_down.update(node.id for node in world.cluster.nodes[: self.height])

    def strike(self, control: ControlPlane) -> None:
        control.log.note("fault", self.name, f"{self.height} nodes", "fault plan")
        for node in control.cluster.nodes[: self.height]:
            control.supervisors[node.id].power_off("it is under water")


def test_a_new_fault_is_one_class_that_is_found_by_its_name() -> None:
    control, _ = _play([fault("flood-test-fault", 200, height=2)])
    assert control.nimbus.present.nodes_used() == ("node03", "node04")
    with pytest.raises(UserError, match=r"faults\[0\]\.height = 9"):
        FaultPlan.of_rows([fault("flood-test-fault", 1, height=9)]).check(_world())


def random_plan(rng: random.Random, world: PlannedWorld, most: int = 6) -> FaultPlan:
    """A random plan, not always valid, whose disturbances all end early enough to recover."""
    nodes = [node.id for node in world.cluster.nodes]
    rows: list[dict[str, object]] = []
    end = world.duration_s * 0.4
    for _ in range(rng.randrange(1, most + 1)):
        at = round(rng.uniform(0.0, end), 3)
        back = round(rng.uniform(at, end), 3)
        node, other = rng.sample(nodes, 2)
        during = partial(disturbance, at, back)
        rows.extend(
            rng.choice(
                [
                    during("kill-node", "revive-node", node=node),
                    during("kill-worker", node=node, port=6700),
                    during("kill-executor", topology="chain", task=rng.randrange(1, 8)),
                    during("kill-nimbus", "revive-nimbus"),
                    during("kill-zookeeper", "revive-zookeeper"),
                    during("cut-link", "restore-link", node_a=node, node_b=other),
                ]
            )
        )
    return FaultPlan.of_rows(rows)


def _valid(plan: FaultPlan) -> bool:
    try:
        plan.check(_world())
    except UserError:
        return False
    return True


def recovered(seed: int) -> bool | None:
    """Play a random plan; None if it is refused, else whether all executors run and are connected."""
    plan = random_plan(random.Random(seed), _world())
    if not _valid(plan):
        return None
    control, plane = build(4, racks=2, seed=seed)
    plan.start(control)
    control.nimbus.submit(chain(workers=4))
    run_to(control, 600)
    executors = set(control.nimbus.present.slots)
    whole = plane.running() == executors and sum(map(len, plane.alive.values())) == len(executors)
    linked = all(
        view.keys() == executors and plane.alive.keys() >= set(view.values()) for view in plane.views.values()
    )
    return whole and linked and all(plane.active.values()) and len(executors) == 7


@pytest.mark.parametrize("seed", range(40))
def test_after_all_faults_every_executor_runs_once_and_is_connected(seed: int) -> None:
    assert recovered(seed) in (True, None)


@pytest.mark.slow
def test_a_thousand_random_plans_all_recover() -> None:
    outcomes = [recovered(seed) for seed in range(1000, 2600)]
    tally = {str(kind): outcomes.count(kind) for kind in (True, False, None)}
    print(f"random fault plans: {tally['True']} recovered, {tally['False']} did not, {tally['None']} refused")
    assert tally["False"] == 0
    assert tally["True"] >= 1000


def test_a_rate_for_a_source_without_one_is_refused() -> None:
    rows = [fault("set-load", 1, topology="chain", spout="spout", rate_per_s=1.0)]
    FaultPlan.of_rows(rows).check(_world())
    with pytest.raises(UserError, match=r"faults\[0\]\.spout = 'spout': its source has no rate"):
        FaultPlan.of_rows(rows).check(replace(_world(), unrated=frozenset({("chain", "spout")})))


def test_more_links_than_a_run_can_disturb_are_refused() -> None:
    names = [f"node{i:02}" for i in range(1, 25)]
    rows = [fault("cut-link", 1, node_a=a, node_b=b) for a, b in combinations(names, 2)]
    world = PlannedWorld(cluster(24), (chain(workers=4),), V0_8_2, 100.0)
    FaultPlan.of_rows(rows[:MOST_LINKS]).check(world)
    with pytest.raises(UserError, match=rf"faults\[{MOST_LINKS}\]\.node_b.*{MOST_LINKS} links"):
        FaultPlan.of_rows(rows).check(replace(world, links_disturbed=set(), links_ever_disturbed=set()))
