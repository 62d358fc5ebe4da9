"""Storm's even, default and resource-aware schedulers on small examples solved by hand."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from storm_lab.errors import UserError
from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Executor,
    Node,
    Resources,
    Slot,
    StormVersion,
    Subscription,
    Topology,
)
from storm_lab.schedulers import SchedulingResult, SchedulingView, make_scheduler
from storm_lab.schedulers.storm.cluster_state import sort_slots
from storm_lab.schedulers.storm.default import bad_slots
from tests.schedulers.clusters import chain, cluster

NEWEST = StormVersion.parse("2.8.8")


def contents(result: SchedulingResult) -> dict[str, dict[str, int]]:
    """Number of executors of each component, by slot."""
    workers = result.assignment.workers().items()
    return {str(slot): dict(Counter(e.component for e in own)) for slot, own in workers}


def test_slots_are_spread_over_nodes_and_nodes_with_more_free_slots_come_first() -> None:
    free = [Slot("s1", 6700), Slot("s1", 6701)]
    free += [Slot("s2", port) for port in (6700, 6701, 6702)]
    free += [Slot("s3", port) for port in (6700, 6703, 6702, 6701)]
    order = [str(slot) for slot in sort_slots(free, NEWEST)]
    assert order == [
        "s3:6700", "s2:6700", "s1:6700", "s3:6701", "s2:6701", "s1:6701", "s3:6702", "s2:6702", "s3:6703",
    ]  # fmt: skip


def test_before_0_9_3_nodes_are_not_ranked_by_free_slots() -> None:
    free = [Slot("a", 6700), Slot("b", 6700), Slot("b", 6701)]
    old = [str(slot) for slot in sort_slots(free, StormVersion.parse("0.8.2"))]
    new = [str(slot) for slot in sort_slots(free, StormVersion.parse("0.9.7"))]
    assert old == ["a:6700", "b:6700", "b:6701"]
    assert new == ["b:6700", "a:6700", "b:6701"]


def test_only_workers_of_a_size_found_in_an_even_spread_are_kept() -> None:
    def worker(size: int, port: int) -> tuple[Slot, list[Executor]]:
        return Slot("n", port), [Executor("t", port * 10 + i, port * 10 + i, "c") for i in range(size)]

    workers = dict([worker(2, 1), worker(2, 2), worker(5, 3)])
    assert bad_slots(workers, executors=9, total=4) == [Slot("n", 3)]
    assert bad_slots(dict([worker(9, 1)]), executors=9, total=3) == [Slot("n", 1)]
    assert bad_slots({}, executors=9, total=0) == []


def test_round_robin_assigns_executors_in_order_of_their_tasks() -> None:
    view = SchedulingView((chain("t-1-1", [2, 3], workers=2),), cluster(2, slots=1))
    slots = make_scheduler("even").schedule(view).assignment.slots
    assert [slots[e].node for e in view.executors["t-1-1"]] == ["n1", "n2", "n1", "n2", "n1"]


def test_even_adds_nothing_to_a_topology_that_has_all_its_workers_but_default_does() -> None:
    topology = chain("t-1-1", [4], workers=1)
    bare = SchedulingView((topology,), cluster(2, slots=1))
    first = bare.executors["t-1-1"][0]
    view = SchedulingView(
        (topology,), cluster(2, slots=1), present=Assignment.of([(first, Slot("n1", 6700))])
    )
    stuck = make_scheduler("even").schedule(view)
    assert not stuck.status["t-1-1"].scheduled
    assert "3 of 4 executors" in stuck.status["t-1-1"].message
    assert len(stuck.assignment.slots) == 1
    assert len(make_scheduler("default").schedule(view).assignment.slots) == 4


def test_the_first_topology_in_map_order_takes_the_slots_that_later_ones_need() -> None:
    view = SchedulingView(
        (chain("a-1-1", [4], workers=2), chain("b-2-1", [4], workers=2)), cluster(2, slots=1)
    )
    status = make_scheduler("default").schedule(view).status
    assert sorted(s.scheduled for s in status.values()) == [False, True]
    assert any("no free slot" in s.message for s in status.values())


def test_a_dead_slot_and_a_blacklisted_host_get_no_executors() -> None:
    topology = chain("t-1-1", [4], workers=4)
    view = SchedulingView(
        (topology,),
        cluster(3, slots=2),
        blacklisted_hosts=frozenset({"h3"}),
        dead_slots=frozenset({Slot("n1", 6700)}),
    )
    used = {str(slot) for slot in make_scheduler("default").schedule(view).assignment.slots.values()}
    assert used == {"n1:6701", "n2:6700", "n2:6701"}


# --- the resource-aware scheduler ---


def packing_cluster(nodes: int, *, cpu: float = 400.0, memory: float = 4096.0, racks: int = 1) -> Cluster:
    offer = Resources(cpu_points=cpu, memory_mb=memory)
    return Cluster(
        tuple(
            Node(f"node{i + 1:02d}", host=f"host{i + 1:02d}", rack=f"rack-{i * racks // nodes}", offer=offer)
            for i in range(nodes)
        )
    )


def asking(name: str, executors: int, cpu: float, memory: float, *sources: str) -> Component:
    inputs = tuple(Subscription(source) for source in sources)
    return Component(name, executors, inputs=inputs, resources=Resources(cpu, memory))


@pytest.mark.parametrize("version", ["1.0.6", "2.8.8"])
def test_a_blacklisted_host_blocks_new_topologies_in_1_0_but_only_itself_in_2_x(version: str) -> None:
    new, old = (
        Topology(name, (asking("spout", 2, 10.0, 128.0),), ackers=0) for name in ("new-1-1", "old-1-1")
    )
    view = SchedulingView(
        (new, old),
        packing_cluster(2),
        StormVersion.parse(version),
        blacklisted_hosts=frozenset({"host02"}),
    )
    running = {executor: Slot("node02", 6700) for executor in view.executors["old-1-1"]}
    view = dataclasses.replace(view, present=Assignment(running))
    result = make_scheduler("ras").schedule(view)
    of_new = set(result.assignment.of_topology("new-1-1").nodes_used())
    of_old = set(result.assignment.of_topology("old-1-1").nodes_used())
    assert of_old == {"node02"}
    if version == "1.0.6":
        assert of_new == set()
        assert result.status["new-1-1"].message == "Scheduling Attempted but topology is invalid"
        assert result.status["old-1-1"].message == "Fully Scheduled"
    else:
        assert of_new == {"node01"}


def test_a_second_worker_is_added_on_the_same_node_when_the_heap_is_full() -> None:
    topology = Topology(
        "h-1-1",
        (asking("s", 4, 10, 128), asking("b", 4, 10, 128, "s")),
        ackers=0,
        settings={"topology.worker.max.heap.size.mb": 512.0},
    )
    result = make_scheduler("ras").schedule(SchedulingView((topology,), packing_cluster(2)))
    assert contents(result) == {"node01:6703": {"b": 2, "s": 2}, "node01:6702": {"b": 2, "s": 2}}


def test_word_count_with_default_demands_fills_five_workers_and_places_its_acker() -> None:
    topology = Topology(
        "wc-1-1",
        (
            Component("spout", 5),
            Component("split", 8, inputs=(Subscription("spout"),)),
            Component("count", 12, inputs=(Subscription("split"),)),
        ),
        ackers=1,
    )
    result = make_scheduler("ras").schedule(SchedulingView((topology,), packing_cluster(4)))
    assert contents(result) == {
        "node01:6703": {"__acker": 1, "spout": 2, "split": 2, "count": 1},
        "node01:6702": {"spout": 2, "split": 2, "count": 2},
        "node01:6701": {"spout": 1, "split": 2, "count": 3},
        "node01:6700": {"split": 2, "count": 4},
        "node02:6700": {"count": 2},
    }


def test_a_user_within_its_guarantee_evicts_a_less_important_topology() -> None:
    jerry1 = Topology(
        "j-1-1", (asking("s", 2, 100, 500),), ackers=0, owner="jerry", priority=29, launch_time_s=1
    )
    jerry2 = Topology(
        "j-2-2", (asking("s", 2, 100, 500),), ackers=0, owner="jerry", priority=10, launch_time_s=2
    )
    bobby = Topology(
        "b-3-3", (asking("s", 2, 100, 500),), ackers=0, owner="bobby", priority=20, launch_time_s=3
    )
    cluster_ = packing_cluster(2, cpu=200.0, memory=2000.0)
    bare = SchedulingView((jerry1, jerry2, bobby), cluster_)
    held = [(e, Slot("node01", 6700)) for e in bare.executors["j-1-1"]]
    held += [(e, Slot("node02", 6700)) for e in bare.executors["j-2-2"]]
    pool = Resources(cpu_points=200.0, memory_mb=2000.0)
    view = SchedulingView(
        bare.topologies, cluster_, present=Assignment.of(held), user_pools={"jerry": pool, "bobby": pool}
    )
    result = make_scheduler("ras").schedule(view)
    assert result.status["j-2-2"].message == "Fully Scheduled"
    assert result.status["b-3-3"].message.startswith("Running - Fully Scheduled by")
    assert result.status["j-1-1"].message == (
        "Not enough resources to schedule after evicting lower priority topologies. "
        "Additional Memory Required: 1000.0 MB (Available: 2000.0 MB). "
        "Additional CPU Required: 200.0% CPU (Available: 0.0 % CPU)."
    )
    assert result.assignment.of_topology("b-3-3").nodes_used() == ("node01",)


def test_rstorm_as_merged_into_storm_packs_around_the_node_used_last() -> None:
    stages = [asking("spout", 10, 25, 256)]
    stages += [
        asking(f"bolt{i}", 10, 25, 256, stages[-1].id if i == 1 else f"bolt{i - 1}") for i in (1, 2, 3)
    ]
    topology = Topology("linear-1-1", tuple(stages), ackers=0)
    view = SchedulingView(
        (topology,), packing_cluster(12, cpu=100.0, memory=2048.0, racks=2), StormVersion.parse("1.0.6")
    )
    result = make_scheduler("ras").schedule(view)
    workers = contents(result)
    assert {slot.split(":")[0] for slot in workers} == {f"node{i:02d}" for i in (1, *range(4, 13))}
    assert sorted(map(str, workers.values())) == sorted(
        [str({"bolt3": 1})] * 10 + [str({"bolt1": 1, "bolt2": 1, "spout": 1})] * 10
    )


def test_no_executor_is_placed_when_one_cannot_be() -> None:
    topology = Topology(
        "big-1-1", (asking("s", 3, 10, 3000),), ackers=0, settings={"topology.worker.max.heap.size.mb": 9999}
    )
    for version in ("1.0.6", "2.8.8"):
        view = SchedulingView((topology,), packing_cluster(2), StormVersion.parse(version))
        result = make_scheduler("ras").schedule(view)
        assert not result.assignment.slots
        assert not result.status["big-1-1"].scheduled


@pytest.mark.parametrize("version", ["0.9.7", "1.2.4"])
def test_versions_without_an_implemented_resource_aware_scheduler_are_refused(version: str) -> None:
    view = SchedulingView((chain("t", [1]),), cluster(1), StormVersion.parse(version))
    with pytest.raises(UserError, match=version):
        make_scheduler("ras").schedule(view)


# --- the isolation scheduler: hosts are drawn at random, so only counts can be checked ---


@pytest.mark.parametrize("version", ["0.8.2", "0.9.7", "2.8.8"])
@pytest.mark.parametrize("seed", range(4))
def test_isolated_topologies_get_machines_of_their_own(version: str, seed: int) -> None:
    alone, other = chain("alone", [4, 4], workers=5), chain("other", [6], workers=4)
    view = SchedulingView(
        (alone, other), cluster(4, slots=4), StormVersion.parse(version), isolated={"alone": 2}, seed=seed
    )
    result = make_scheduler("isolation").schedule(view)
    nodes = {t: set(result.assignment.of_topology(t).nodes_used()) for t in ("alone", "other")}
    assert len(nodes["alone"]) == 2
    assert not nodes["alone"] & nodes["other"]
    workers = result.assignment.of_topology("alone").workers()
    per_node = sorted(sum(slot.node == node for slot in workers) for node in nodes["alone"])
    assert per_node == [2, 3]
    assert sorted(len(executors) for executors in workers.values()) == [1, 1, 2, 2, 2]


def test_isolation_keeps_hosts_that_are_right_already() -> None:
    topologies = (chain("alone", [4], workers=2), chain("other", [4], workers=2))
    view = SchedulingView(topologies, cluster(3, slots=2), isolated={"alone": 1}, seed=3)
    first = make_scheduler("isolation").schedule(view)
    again = SchedulingView(
        topologies, cluster(3, slots=2), present=first.assignment, isolated={"alone": 1}, seed=4
    )
    assert make_scheduler("isolation").schedule(again).assignment == first.assignment


def test_isolation_with_too_few_machines_leaves_other_topologies_waiting() -> None:
    topologies = (chain("alone", [4], workers=2), chain("other", [4], workers=1))
    view = SchedulingView(topologies, cluster(1, slots=2), isolated={"alone": 2})
    status = make_scheduler("isolation").schedule(view).status
    assert "machines of its own" in status["alone"].message
    assert not status["other"].scheduled


def test_isolation_without_isolated_topologies_is_the_default_scheduler() -> None:
    view = SchedulingView((chain("t", [4, 4], workers=3),), cluster(4))
    isolated, default = (make_scheduler(name).schedule(view) for name in ("isolation", "default"))
    assert isolated.assignment == default.assignment


@pytest.mark.parametrize("version", ["1.0.6", "2.8.8"])
def test_an_executor_that_fits_nowhere_is_explained(version: str) -> None:
    heap = {"topology.worker.max.heap.size.mb": 500.0}
    topology = Topology("big-1-1", (asking("s", 2, 10, 600),), ackers=0, settings=heap)
    view = SchedulingView((topology,), packing_cluster(2), StormVersion.parse(version), explain=True)
    first = make_scheduler("ras").schedule(view).decisions[0]
    assert first.choice is None
    assert len(first.candidates) == 8
    assert all("heap" in str(candidate.ruled_out_by) for candidate in first.candidates)


def test_a_bound_acker_is_explained_with_its_worker_and_counts_for_the_executors_after_it() -> None:
    # Of node01's 100 points the first spout takes 48 and the acker bound to it 10.
    topology = Topology("t-1-1", (asking("s", 2, 48, 128),), ackers=1)
    view = SchedulingView((topology,), packing_cluster(2, cpu=100.0), explain=True)
    first, acker, second = make_scheduler("ras").schedule(view).decisions
    assert [d.executor.component for d in (first, acker, second)] == ["s", "__acker", "s"]
    assert first.choice == acker.choice == Slot("node01", 6703)
    assert acker.note == "acker bound to its worker"
    full = [c.ruled_out_by for c in second.candidates if c.slot.node == "node01"]
    assert second.choice == Slot("node02", 6700)
    assert full == ["node has 42 CPU points, needs 48"] * 4


def test_the_ranks_of_nodes_are_those_of_the_order_that_was_in_force() -> None:
    # The spout fits only on the second node, which an order made anew would now begin with. But nodes are not
    # sorted again for another component, so the bolt goes to the first one.
    first, second = (
        Node(name, ports=(6700,), offer=Resources(cpu, memory))
        for name, cpu, memory in (("first", 400.0, 1000.0), ("second", 100.0, 1500.0))
    )
    heap = {"topology.worker.max.heap.size.mb": 2000.0}
    parts = (asking("a", 1, 50, 1200), asking("b", 1, 50, 100, "a"))
    view = SchedulingView(
        (Topology("t-1-1", parts, ackers=0, settings=heap),), Cluster((first, second)), explain=True
    )
    spout, bolt = make_scheduler("ras").schedule(view).decisions
    assert [(c.slot.node, c.score) for c in spout.candidates] == [("first", None), ("second", 1.0)]
    assert [(c.slot.node, c.score) for c in bolt.candidates] == [("first", 0.0), ("second", 1.0)]
    assert spout.choice == Slot("second", 6700) and bolt.choice == Slot("first", 6700)


def test_a_single_executor_without_a_slot_is_reported_as_running_in_storm_2() -> None:
    one = Topology("one-1-1", (asking("s", 1, 10, 128),), ackers=0)
    filler = chain("fill-2-2", [1], workers=1)
    cluster_ = Cluster((Node("n", ports=(6700,)),))
    held = SchedulingView((filler,), cluster_).executors["fill-2-2"]
    view = SchedulingView(
        (filler, one), cluster_, present=Assignment.of((e, Slot("n", 6700)) for e in held), explain=True
    )
    status = make_scheduler("ras").schedule(view).status["one-1-1"]
    assert status.message.startswith("Running - Fully Scheduled")
    assert not status.scheduled
