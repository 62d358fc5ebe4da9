"""The papers' policies on examples small enough to solve by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from storm_lab.errors import UserError
from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Executor,
    MeasuredLoad,
    Node,
    Resources,
    Slot,
    StormVersion,
    Subscription,
    Topology,
)
from storm_lab.schedulers import SchedulingResult, SchedulingView, make_scheduler
from storm_lab.schedulers.baselines.placement_problem import PlacementProblem
from storm_lab.schedulers.graph.cuts import cut_weight, parts_of_equal_size
from storm_lab.schedulers.graph.traffic import inter_node_traffic
from storm_lab.schedulers.papers.mfstorm import minimum_cut, recursive_bisection
from storm_lab.schedulers.papers.rstorm import breadth_first, task_selection
from storm_lab.schedulers.papers.tstorm import TStormParameters, fewest_nodes
from tests.schedulers.clusters import chain, cluster, even_load

STORM_082 = StormVersion.parse("0.8.2")


def exchanging(view: SchedulingView, *rates: tuple[int, int, float]) -> SchedulingView:
    """Add load: traffic between executors of the first topology, numbered from 1 in order of their tasks."""
    executors = view.executors[view.topologies[0].id]
    traffic = {(executors[a - 1], executors[b - 1]): rate for a, b, rate in rates}
    return replace(view, load=MeasuredLoad(cpu_mhz=dict.fromkeys(executors, 100.0), traffic=traffic))


def evenly_loaded(view: SchedulingView) -> SchedulingView:
    return replace(view, load=even_load(view.topologies, view.version))


def traffic_between_nodes(view: SchedulingView, result: SchedulingResult) -> float:
    assert view.load is not None
    return inter_node_traffic(result.assignment.slots, view.load.traffic)


def nodes_of(view: SchedulingView, assignment: Assignment, topology: str) -> list[str]:
    return [assignment.slots[e].node for e in view.executors[topology]]


# --- T-Storm ---


def test_tstorm_puts_the_busiest_pair_together() -> None:
    #  1 --9-- 4,  2 --5-- 3,  cap 2 per node
    view = exchanging(SchedulingView((chain("t", [2, 2]),), cluster(2), STORM_082), (1, 4, 9.0), (2, 3, 5.0))
    result = make_scheduler("tstorm", ["gamma=1"]).schedule(view)
    assert nodes_of(view, result.assignment, "t") == ["n1", "n2", "n2", "n1"]


def test_tstorm_places_an_executor_on_another_node_when_cpu_is_short() -> None:
    bare = SchedulingView((chain("t", [1, 1]),), cluster(2, cores=1, mhz=150.0), STORM_082)
    result = make_scheduler("tstorm", ["gamma=2", "capacity_fraction=1"]).schedule(
        exchanging(bare, (1, 2, 9.0))
    )
    assert nodes_of(bare, result.assignment, "t") == ["n1", "n2"]


def test_tstorm_keeps_the_present_assignment_when_one_executor_fits_nowhere() -> None:
    bare = SchedulingView((chain("t", [1, 1]),), cluster(2, cores=1, mhz=50.0), STORM_082)
    present = Assignment.of((e, Slot("n2", 6700)) for e in bare.executors["t"])
    view = replace(exchanging(bare, (1, 2, 9.0)), present=present)
    result = make_scheduler("tstorm").schedule(view)
    assert result.assignment == present
    assert "2 lack CPU" in result.status["t"].message


def test_tstorm_stays_in_the_slot_that_a_topology_has_on_the_chosen_node() -> None:
    bare = SchedulingView((chain("t", [1, 1]),), cluster(2), STORM_082)
    present = Assignment.of((e, Slot("n1", 6702)) for e in bare.executors["t"])
    view = replace(exchanging(bare, (1, 2, 9.0)), present=present)
    assert make_scheduler("tstorm", ["gamma=4"]).schedule(view).assignment == present


@pytest.mark.parametrize(("reading", "cap"), [("floor", 7), ("ceil", 8), ("round", 8), ("at-least-even", 7)])
def test_each_reading_of_the_cap_rounds_in_its_own_way(reading: str, cap: int) -> None:
    assert TStormParameters(gamma=1.7, cap=reading).executors_per_node(45, 10) == cap


def test_the_at_least_even_cap_leaves_no_executor_without_a_node() -> None:
    assert TStormParameters(gamma=1.0, cap="floor").executors_per_node(45, 10) == 4
    assert TStormParameters(gamma=1.0, cap="at-least-even").executors_per_node(45, 10) == 5


def test_without_load_tstorm_returns_its_initial_assignment() -> None:
    view = SchedulingView((chain("t", [4, 4], workers=6),), cluster(3), STORM_082)
    cold = make_scheduler("tstorm").schedule(view)
    assert cold.assignment == make_scheduler("tstorm-initial").schedule(view).assignment
    assert len(cold.assignment.workers()) == 3


# --- R-Storm ---


def diamond() -> Topology:
    return Topology(
        "d",
        (
            Component("spout", 2),
            Component("left", 1, inputs=(Subscription("spout"),)),
            Component("right", 2, inputs=(Subscription("spout"),)),
            Component("sink", 1, inputs=(Subscription("left"), Subscription("right"))),
        ),
        workers=4,
        ackers=0,
    )


def test_rstorm_traverses_breadth_first_and_takes_tasks_of_components_in_turn() -> None:
    assert breadth_first(diamond()) == ["spout", "left", "right", "sink"]
    executors = SchedulingView((diamond(),), cluster(1)).executors["d"]
    order = [e.component for e in task_selection(diamond(), executors)]
    assert order == ["spout", "left", "right", "sink", "spout", "right"]


def test_rstorm_visits_siblings_in_the_order_of_a_java_7_map_or_as_declared() -> None:
    """Buckets of a Java 7 map: "bolt_1" 10, "bolt_2" 5."""
    topology = Topology(
        "t",
        (
            Component("spout", 1),
            Component("bolt_1", 1, inputs=(Subscription("spout"),)),
            Component("bolt_2", 1, inputs=(Subscription("spout"),)),
        ),
    )
    assert breadth_first(topology) == ["spout", "bolt_2", "bolt_1"]
    assert breadth_first(topology, "declared") == ["spout", "bolt_1", "bolt_2"]


def demanding(executors: int, cpu: float, memory: float) -> Topology:
    resources = Resources(cpu_points=cpu, memory_mb=memory)
    return Topology("t", (Component("s", executors, resources=resources),), workers=4, ackers=0)


def offering(*offers: tuple[float, float, str]) -> Cluster:
    return Cluster(
        tuple(
            Node(f"n{i + 1}", rack=rack, offer=Resources(cpu_points=cpu, memory_mb=memory))
            for i, (cpu, memory, rack) in enumerate(offers)
        )
    )


def test_rstorm_starts_on_the_richest_node_of_the_richest_rack() -> None:
    cluster_ = offering((100, 4096, "a"), (400, 4096, "b"), (300, 4096, "b"))
    view = SchedulingView((demanding(1, 10, 100),), cluster_)
    assert make_scheduler("rstorm").schedule(view).assignment.nodes_used() == ("n2",)


def test_rstorm_offers_the_slots_of_a_failed_topology_in_declared_order_again() -> None:
    cluster_ = Cluster((Node("n1", ports=(6703, 6700), offer=Resources(cpu_points=400, memory_mb=1000)),))
    too_large, small = replace(demanding(4, 10, 300), id="large"), demanding(1, 10, 100)
    result = make_scheduler("rstorm").schedule(SchedulingView((too_large, small), cluster_))
    assert [status.scheduled for status in result.status.values()] == [False, True]
    assert set(result.assignment.slots.values()) == {Slot("n1", 6703)}


def test_rstorm_continues_in_the_same_rack_when_the_cpu_of_a_node_is_full() -> None:
    cluster_ = offering((100, 4096, "a"), (100, 4096, "b"), (100, 4096, "a"))
    view = SchedulingView((demanding(4, 50, 100),), cluster_)
    assert make_scheduler("rstorm").schedule(view).assignment.nodes_used() == ("n1", "n3")


def test_rstorm_overcommits_cpu_only_when_no_node_has_enough() -> None:
    view = SchedulingView((demanding(5, 50, 100),), offering((100, 4096, "a"), (100, 4096, "a")))
    result = make_scheduler("rstorm").schedule(view)
    assert result.status["t"].scheduled
    hard = make_scheduler("rstorm", ["cpu=hard"]).schedule(view)
    assert not hard.status["t"].scheduled
    assert not hard.assignment.slots


def test_rstorm_places_a_topology_completely_or_not_at_all() -> None:
    view = SchedulingView((demanding(5, 1, 1000),), offering((100, 2000, "a"), (100, 2000, "a")))
    result = make_scheduler("rstorm").schedule(view)
    assert not result.assignment.slots
    assert "1000 MB" in result.status["t"].message


def test_rstorm_uses_one_worker_per_node() -> None:
    view = SchedulingView((demanding(8, 50, 100),), offering((100, 4096, "a"), (300, 4096, "a")))
    assignment = make_scheduler("rstorm").schedule(view).assignment
    assert len(assignment.nodes_used()) == len(assignment.workers()) == 2


# --- cuts, MF-Storm, partitioning ---


def test_the_minimum_cut_goes_through_the_thin_edge() -> None:
    # 0 -9-> 1 -1-> 2 -9-> 3
    out = [{1: 9.0}, {2: 1.0}, {3: 9.0}, {}]
    assert minimum_cut(out, [0, 1, 2, 3]) == ([0, 1], [2, 3])


@pytest.mark.parametrize("last", [0, 1])
def test_executors_that_measured_traffic_joins_to_a_circle_are_cut_in_halves(last: int) -> None:
    out: list[dict[int, float]] = [{1: 5.0}, {2: 5.0}, {last: 5.0}]
    assert minimum_cut(out, [0, 1, 2]) == ([0, 1], [2])


def test_the_even_cut_of_a_shuffle_has_parts_of_equal_size() -> None:
    edges = {(a, b): 1.0 for a in range(4) for b in range(4, 8)}
    even = recursive_bisection(8, edges, 2, even=True)
    assert sorted(map(len, even)) == [4, 4]
    assert sorted(v for group in even for v in group) == list(range(8))


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_bisection_gives_exactly_the_required_number_of_parts(parts: int, even: bool) -> None:
    edges = {(a, b): 1.0 + (a * b) % 3 for a in range(4) for b in range(4, 8)}
    groups = recursive_bisection(8, edges, parts, even)
    assert len(groups) == parts
    assert all(groups)
    assert not even or max(map(len, groups)) - min(map(len, groups)) <= 1


def test_mfstorm_puts_the_busiest_part_on_the_strongest_node() -> None:
    nodes = Cluster((Node("weak", cores=2), Node("strong", cores=8)))
    topologies = (chain("t", [2, 2], workers=2),)
    bare = exchanging(SchedulingView(topologies, nodes), (1, 3, 1.0), (2, 4, 50.0))
    result = make_scheduler("mfstorm").schedule(bare)
    by_node = {e.start: s.node for e, s in result.assignment.slots.items()}
    assert by_node == {2: "strong", 4: "strong", 1: "strong", 3: "strong"}
    one_slot = Cluster((Node("weak", cores=2, ports=(6700,)), Node("strong", cores=8, ports=(6700,))))
    result = make_scheduler("mfstorm").schedule(replace(bare, cluster=one_slot))
    by_node = {e.start: s.node for e, s in result.assignment.slots.items()}
    assert by_node == {2: "strong", 4: "strong", 1: "weak", 3: "weak"}


def place_of(parts: list[list[int]]) -> list[int]:
    number = {vertex: i for i, part in enumerate(parts) for vertex in part}
    return [number[vertex] for vertex in sorted(number)]


def test_parts_follow_the_clusters_of_a_graph() -> None:
    # Four cliques of five, one weak edge between neighbouring ones.
    near: list[dict[int, float]] = [{} for _ in range(20)]
    for a, b in itertools.combinations(range(20), 2):
        weight = 10.0 if a // 5 == b // 5 else (1.0 if b == a + 5 and a % 5 == 0 else 0.0)
        if weight:
            near[a][b] = near[b][a] = weight
    parts = parts_of_equal_size(near, 4)
    assert cut_weight(near, place_of(parts)) == 3.0
    assert sorted(parts) == [[*range(c * 5, c * 5 + 5)] for c in range(4)]


def test_large_graphs_are_cut_along_their_seams() -> None:
    near: list[dict[int, float]] = [{} for _ in range(400)]
    for a in range(400):
        for step in (1, 2, 3):
            b = a // 100 * 100 + (a % 100 + step) % 100
            near[a][b] = near[b][a] = 5.0
        if a % 100 == 0:
            b = (a + 100) % 400
            near[a][b] = near[b][a] = 1.0
    parts = parts_of_equal_size(near, 4)
    assert [len(part) for part in parts] == [100] * 4
    assert cut_weight(near, place_of(parts)) <= 4.0


def test_partitioning_uses_one_part_per_node_and_cuts_little() -> None:
    view = exchanging(SchedulingView((chain("t", [2, 2], workers=4),), cluster(2)), (1, 4, 9.0), (2, 3, 5.0))
    result = make_scheduler("partition").schedule(view)
    assert len(result.assignment.nodes_used()) == len(result.assignment.workers()) == 2
    assert traffic_between_nodes(view, result) == 0.0


# --- Aniello et al. ---


def test_aniello_offline_keeps_consecutive_components_together() -> None:
    view = SchedulingView((chain("t", [2, 2, 2], workers=2),), cluster(2, slots=1))
    slots = make_scheduler("aniello-offline", ["beta=0"]).schedule(view).assignment.workers()
    assert [sorted(e.component for e in worker) for worker in slots.values()] == [["c0", "c1", "c2"]] * 2


def test_aniello_offline_uses_every_slot_it_asked_for() -> None:
    view = SchedulingView((chain("t", [3, 3], workers=4),), cluster(4, slots=1))
    for alpha in ("0", "0.5", "1"):
        result = make_scheduler("aniello-offline", [f"alpha={alpha}", "beta=1"]).schedule(view)
        assert len(result.assignment.workers()) == 4


def test_aniello_online_puts_the_pairs_with_most_traffic_together() -> None:
    view = exchanging(SchedulingView((chain("t", [2, 2], workers=2),), cluster(2)), (1, 4, 9.0), (2, 3, 5.0))
    result = make_scheduler("aniello-online", ["spread=0"]).schedule(view)
    assert traffic_between_nodes(view, result) == 0.0


@pytest.mark.parametrize(
    ("name", "parameters"), [("aniello-online", []), ("partition", ["one_part_per_node=false"])]
)
def test_two_workers_of_a_node_do_not_change_places_when_nothing_has_changed(
    name: str, parameters: list[str]
) -> None:
    bare = SchedulingView((chain("t", [2, 2], workers=2),), cluster(1), STORM_082)
    present = Assignment.of((executor, Slot("n1", 6702)) for executor in bare.executors["t"])
    view = exchanging(replace(bare, present=present), (1, 4, 9.0), (2, 3, 5.0))
    policy = make_scheduler(name, parameters)
    first = policy.schedule(view).assignment
    assert len(first.workers()) == 2
    assert policy.schedule(replace(view, present=first)).assignment == first


# --- the optimum ---


def brute_force(problem: PlacementProblem) -> float:
    best = float("inf")
    for place in itertools.product(range(problem.nodes), repeat=problem.executors):
        fits = all(
            place.count(n) <= problem.cap
            and sum(problem.load[i] for i, p in enumerate(place) if p == n) <= problem.capacity[n]
            for n in range(problem.nodes)
        )
        if fits:
            best = min(best, problem.cost(place))
    return best


def exact(*parameters: str) -> list[str]:
    return ["exact_executors=20", "restarts=0", *parameters]


@pytest.mark.parametrize("parallelism", [[2, 4], [2, 2, 2], [3, 3]])
@pytest.mark.parametrize("uneven", [False, True])
def test_the_optimum_equals_that_of_a_brute_force_search(parallelism: list[int], uneven: bool) -> None:
    bare = SchedulingView((chain("t", parallelism),), cluster(3), STORM_082)
    load = even_load(bare.topologies, STORM_082)
    if uneven:
        traffic = {pair: rate + 7 * i % 5 for i, (pair, rate) in enumerate(load.traffic.items())}
        load = MeasuredLoad(cpu_mhz=load.cpu_mhz, traffic=traffic)
    view = replace(bare, load=load)
    result = make_scheduler("optimal", exact("gamma=1")).schedule(view)
    problem = PlacementProblem.of(view, TStormParameters(gamma=1.0))
    assert result.notes["proven"] == "yes"
    assert result.notes["inter-node traffic"] == pytest.approx(brute_force(problem))
    assert traffic_between_nodes(view, result) == pytest.approx(brute_force(problem))


def test_the_optimum_proves_that_nothing_fits() -> None:
    bare = SchedulingView((chain("t", [3]),), cluster(2, cores=1, mhz=150.0), STORM_082)
    result = make_scheduler("optimal", exact()).schedule(exchanging(bare))
    assert "no placement satisfies all constraints" in result.status["t"].message


def test_no_heuristic_beats_the_optimum_or_its_bound() -> None:
    view = evenly_loaded(SchedulingView((chain("t", [3, 4, 4], workers=4),), cluster(4), STORM_082))
    best = make_scheduler("optimal", exact("gamma=1.3")).schedule(view)
    greedy = make_scheduler("tstorm", ["gamma=1.3"]).schedule(view)
    assert float(best.notes["lower bound"]) <= float(best.notes["inter-node traffic"]) + 1e-6
    assert float(best.notes["inter-node traffic"]) <= traffic_between_nodes(view, greedy) + 1e-6


def test_large_instances_are_marked_as_best_found() -> None:
    view = evenly_loaded(SchedulingView((chain("t", [20, 20, 20], workers=4),), cluster(6), STORM_082))
    result = make_scheduler("optimal", ["restarts=1"]).schedule(view)
    assert result.status["t"].message.startswith("Best found")
    assert result.notes["proven"] == "no"
    assert 0 < float(result.notes["lower bound"]) <= float(result.notes["inter-node traffic"])


# --- random placement ---


def test_random_placement_depends_on_the_seed_and_on_nothing_else() -> None:
    def draw(seed: int) -> dict[Executor, Slot]:
        view = SchedulingView((chain("t", [8, 8], workers=4),), cluster(4), seed=seed)
        return dict(make_scheduler("random").schedule(view).assignment.slots)

    assert draw(1) == draw(1)
    assert len({str(draw(seed)) for seed in range(10)}) > 5


def test_random_placement_leaves_slots_that_no_executor_has_drawn_to_the_next_topology() -> None:
    view = SchedulingView((chain("a", [1], workers=2), chain("b", [1])), cluster(1, slots=2))
    result = make_scheduler("random").schedule(view)
    assert {name: status.scheduled for name, status in result.status.items()} == {"a": True, "b": True}


def test_a_placed_executor_of_a_missing_component_is_refused_by_name() -> None:
    ghost = Executor("t", 9, 9, "ghost")
    view = SchedulingView((chain("t", [1]),), cluster(1), present=Assignment.of([(ghost, Slot("n1", 6700))]))
    with pytest.raises(UserError, match="ghost"):
        make_scheduler("even").schedule(view)


@pytest.mark.parametrize(
    ("nodes_by_cap", "fewest", "chosen"),
    [
        # Nodes that Algorithm 1 uses under each cap (None if it fails), the bound, and the cap to be chosen.
        ({5: 4, 4: 3, 3: 3, 2: 5}, 2, 4),
        ({5: 3, 4: 3, 3: 3, 2: 5}, 2, 5),
        ({5: None, 4: None, 3: 6, 2: 5}, 2, 2),
        ({5: 4, 4: 3, 3: 2, 2: 2}, 4, 5),
        ({5: None, 4: None, 3: None, 2: None}, 2, 5),
    ],
)
def test_tstorm_takes_the_schedule_of_a_smaller_cap_only_if_it_needs_fewer_nodes(
    nodes_by_cap: dict[int, int | None], fewest: int, chosen: int
) -> None:
    def attempt(cap: int, most: int | None) -> Any:
        count = nodes_by_cap[cap]
        failed = "an executor" if count is None or (most is not None and count > most) else None
        return SimpleNamespace(cap=cap, failed=failed, used_count=count, next_cap=cap - 1)

    caps: Any = SimpleNamespace(smallest=2, min_nodes=lambda cap: fewest)
    assert fewest_nodes(attempt(5, None), caps, attempt).cap == chosen
