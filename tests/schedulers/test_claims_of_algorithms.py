"""Printed claims that follow from the algorithms alone: node counts, filling order, memory."""

from __future__ import annotations

import pytest

from storm_lab.model import (
    Assignment,
    Cluster,
    Component,
    Node,
    Resources,
    StormVersion,
    Subscription,
    Topology,
)
from storm_lab.schedulers import SchedulingView, check_memory, make_scheduler
from storm_lab.schedulers.measures import measure, nodes_used
from storm_lab.schedulers.papers.mfstorm import processing_power
from storm_lab.schedulers.papers.rstorm import RStormParameters, RStormScheduler
from tests.schedulers.clusters import chain, cluster, even_load

STORM_082 = StormVersion.parse("0.8.2")

# --- T-Storm, sections IV-C and V ---

BLADES = cluster(10, slots=4)


def throughput_test() -> Topology:
    return chain("throughput-test", [5, 15, 15], workers=40, ackers=10)


def word_count(ackers: int = 2) -> Topology:
    return chain("word-count", [2, 5, 5, 5], workers=20, ackers=ackers)


def log_stream(ackers: int = 1) -> Topology:
    """Spout and rules in a row, then indexer and counter side by side, each with its own store."""
    return Topology(
        "log-stream",
        (
            Component("log", 5),
            Component("rules", 5, inputs=(Subscription("log"),)),
            Component("indexer", 5, inputs=(Subscription("rules"),)),
            Component("counter", 5, inputs=(Subscription("rules"),)),
            Component("index-store", 2, inputs=(Subscription("indexer"),)),
            Component("count-store", 2, inputs=(Subscription("counter"),)),
        ),
        workers=20,
        ackers=ackers,
        name="log-stream",
    )


def loaded(topology: Topology, cluster_: Cluster = BLADES) -> SchedulingView:
    return SchedulingView((topology,), cluster_, STORM_082, load=even_load([topology], STORM_082))


@pytest.mark.parametrize(
    ("topology", "gamma", "nodes"),
    [
        (throughput_test(), 1.7, 7),
        (throughput_test(), 6.0, 2),
        (word_count(), 1.8, 7),
        (word_count(), 2.2, 5),
        (log_stream(), 1.7, 7),
        (log_stream(), 2.0, 5),
    ],
    ids=lambda value: value.id if isinstance(value, Topology) else str(value),
)
def test_tstorm_uses_as_many_nodes_as_printed(topology: Topology, gamma: float, nodes: int) -> None:
    result = make_scheduler("tstorm", [f"gamma={gamma}"]).schedule(loaded(topology))
    assert result.status[topology.id].scheduled
    assert nodes_used(result.assignment) == nodes


def test_tstorm_word_count_with_the_default_acker_does_not_give_the_printed_counts() -> None:
    view = loaded(word_count(ackers=1))
    counts = [
        nodes_used(make_scheduler("tstorm", [f"gamma={g}"]).schedule(view).assignment) for g in (1.8, 2.2)
    ]
    assert counts == [6, 6]


def test_without_counting_ackers_the_word_count_does_not_give_the_printed_counts() -> None:
    view = loaded(word_count())
    policies = (make_scheduler("tstorm", [f"gamma={g}", "count_ackers=false"]) for g in (1.8, 2.2))
    assert [nodes_used(policy.schedule(view).assignment) for policy in policies] == [6, 6]


def test_preferring_empty_nodes_does_not_consolidate() -> None:
    view = loaded(throughput_test())
    policies = (make_scheduler("tstorm", [f"gamma={g}", "ties=emptiest"]) for g in (1.7, 6.0))
    counts = [nodes_used(policy.schedule(view).assignment) for policy in policies]
    assert counts[0] > 7
    assert counts[1] > 2


def test_tstorm_at_gamma_1_has_no_schedule_for_the_throughput_test_and_all_ten_nodes_stay_in_use() -> None:
    view = loaded(throughput_test())
    first = make_scheduler("tstorm-initial").schedule(view)
    assert measure(view, first.assignment).workers == 10
    assert nodes_used(first.assignment) == 10
    again = SchedulingView(view.topologies, view.cluster, view.version, first.assignment, view.load)
    result = make_scheduler("tstorm", ["gamma=1"]).schedule(again)
    assert not result.status["throughput-test"].scheduled
    assert "no new schedule" in result.status["throughput-test"].message
    assert dict(result.assignment.slots) == dict(first.assignment.slots)


@pytest.mark.parametrize("topology", [throughput_test(), word_count(), log_stream()], ids=lambda t: t.id)
def test_gamma_1_spreads_almost_evenly_where_it_is_feasible(topology: Topology) -> None:
    view = loaded(topology)
    result = make_scheduler("tstorm", ["gamma=1", "cap=at-least-even"]).schedule(view)
    figures = measure(view, result.assignment)
    executors = len(view.executors[topology.id])
    assert figures.most_executors == -(-executors // 10)


@pytest.mark.parametrize("topology", [throughput_test(), word_count(), log_stream()], ids=lambda t: t.id)
def test_nodes_in_use_never_grow_with_gamma(topology: Topology) -> None:
    view = loaded(topology)
    counts = []
    for tenths in range(10, 100, 3):
        result = make_scheduler("tstorm", [f"gamma={tenths / 10}"]).schedule(view)
        if result.status[topology.id].scheduled:
            counts.append(nodes_used(result.assignment))
    assert len(counts) > 20
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("topology", [throughput_test(), word_count(), log_stream()], ids=lambda t: t.id)
def test_the_default_scheduler_uses_all_ten_nodes(topology: Topology) -> None:
    assert nodes_used(make_scheduler("default").schedule(loaded(topology)).assignment) == 10


# --- MF-Storm, Tables 3 and 4 ---


def desktops(slots: int) -> Cluster:
    """The four supervisors, weakest first, so that their order of declaration does not help."""
    figures = [("B", 4, 3200.0), ("A", 4, 3400.0), ("C", 6, 3400.0), ("D", 8, 3400.0)]
    ports = tuple(range(6700, 6700 + slots))
    return Cluster(tuple(Node(n, host=n, ports=ports, cores=c, core_mhz=mhz) for n, c, mhz in figures))


SCENARIOS = [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]


def starter(kind: str, workers: int) -> Topology:
    parallelism = {"word-count": [5, 8, 12], "exclamation": [10, 3, 2]}[kind]
    return chain(kind, parallelism, workers=workers, ackers=None)


def used(scheduler: str, kind: str, slots: int, required: int) -> int:
    topology = starter(kind, required)
    view = SchedulingView((topology,), desktops(slots), isolated={kind: min(required, 4)})
    result = make_scheduler(scheduler).schedule(view)
    assert result.status[kind].scheduled
    return nodes_used(result.assignment)


@pytest.mark.parametrize(
    ("node", "cores", "ghz", "factor", "printed"),
    [
        ("D", 8, 3.4, 6816, 185395),
        ("C", 6, 3.4, 6816, 139046),
        ("A", 4, 3.4, 6816, 92698),
        ("B", 4, 3.2, 6385, 81728),
    ],
)
def test_processing_power_is_the_printed_product(
    node: str, cores: int, ghz: float, factor: float, printed: int
) -> None:
    assert processing_power(cores, ghz, factor) == pytest.approx(printed, abs=1)


@pytest.mark.parametrize("kind", ["word-count", "exclamation"])
def test_mfstorm_uses_as_many_nodes_as_printed(kind: str) -> None:
    assert [used("mfstorm", kind, *scenario) for scenario in SCENARIOS] == [1, 2, 3, 1, 2, 1]


@pytest.mark.parametrize("kind", ["word-count", "exclamation"])
@pytest.mark.parametrize("baseline", ["default", "isolation"])
def test_the_baselines_of_mfstorm_use_as_many_nodes_as_printed(kind: str, baseline: str) -> None:
    assert [used(baseline, kind, *scenario) for scenario in SCENARIOS] == [1, 2, 3, 2, 3, 3]


def test_mfstorm_needs_some_thirty_percent_fewer_nodes() -> None:
    ours = sum(used("mfstorm", "word-count", *scenario) for scenario in SCENARIOS)
    theirs = sum(used("default", "word-count", *scenario) for scenario in SCENARIOS)
    assert 28 <= 100 * (1 - ours / theirs) <= 31


def test_mfstorm_fills_the_strongest_nodes_first() -> None:
    topology = starter("word-count", 3)
    result = make_scheduler("mfstorm").schedule(SchedulingView((topology,), desktops(1)))
    assert result.assignment.nodes_used() == ("A", "C", "D")


def test_the_resource_aware_scheduler_takes_five_slots_for_word_count_and_three_for_exclamation() -> None:
    slots = {}
    for kind in ("word-count", "exclamation"):
        view = SchedulingView(
            (chain(kind, [5, 8, 12] if kind == "word-count" else [10, 3, 2], ackers=0),), desktops(3)
        )
        slots[kind] = measure(view, make_scheduler("ras").schedule(view).assignment).workers
    assert slots == {"word-count": 5, "exclamation": 3}


# --- R-Storm, Fig. 9 ---


def emulab() -> Cluster:
    offer = Resources(cpu_points=100.0, memory_mb=20480.0)
    return Cluster(
        tuple(
            Node(f"pc{i + 1:02d}", host=f"pc{i + 1:02d}", rack=f"vlan{i // 6}", offer=offer)
            for i in range(12)
        )
    )


def component(name: str, executors: int, cpu: float, *sources: str) -> Component:
    inputs = tuple(Subscription(source) for source in sources)
    return Component(name, executors, inputs=inputs, resources=Resources(cpu_points=cpu, memory_mb=150.0))


def layout(name: str) -> Topology:
    """CPU demands of the authors' public layouts: 560, 640 and 560 points."""
    shapes = {
        "linear": (
            component("spout", 4, 50),
            component("bolt1", 6, 20, "spout"),
            component("bolt2", 6, 20, "bolt1"),
            component("bolt3", 6, 20, "bolt2"),
        ),
        "diamond": (
            component("spout", 2, 50),
            component("left", 4, 20, "spout"),
            component("middle1", 4, 20, "spout"),
            component("middle2", 4, 20, "spout"),
            component("right", 4, 30, "spout"),
            component("output", 6, 30, "left", "middle1", "middle2", "right"),
        ),
        "star": (
            component("spout1", 2, 50),
            component("spout2", 2, 50),
            component("centre", 6, 20, "spout1", "spout2"),
            component("output1", 6, 20, "centre"),
            component("output2", 6, 20, "centre"),
        ),
    }
    return Topology(name, shapes[name], workers=12, ackers=0, name=name)


@pytest.mark.parametrize("scale", ["capacity", "unit"])
@pytest.mark.parametrize(("name", "machines"), [("linear", 6), ("diamond", 7), ("star", 6)])
def test_rstorm_uses_as_many_machines_as_printed(name: str, machines: int, scale: str) -> None:
    view = SchedulingView((layout(name),), emulab())
    result = make_scheduler("rstorm", [f"scale={scale}"]).schedule(view)
    assert nodes_used(result.assignment) == machines


@pytest.mark.parametrize("name", ["linear", "diamond", "star"])
def test_rstorm_violates_no_hard_constraint(name: str) -> None:
    view = SchedulingView((layout(name),), emulab())
    result = make_scheduler("rstorm").schedule(view)
    check_memory(view, result)
    assert measure(view, result.assignment).nodes_over_memory == 0


@pytest.mark.parametrize("name", ["linear", "diamond", "star"])
def test_rstorm_as_printed_overcommits_cpu_and_uses_fewer_machines(name: str) -> None:
    view = SchedulingView((layout(name),), emulab())
    result = RStormScheduler(RStormParameters.literal()).schedule(view)
    assert 1 <= nodes_used(result.assignment) <= 4


def test_the_default_scheduler_uses_all_twelve_machines() -> None:
    view = SchedulingView((layout("linear"),), emulab(), present=Assignment())
    assert nodes_used(make_scheduler("default").schedule(view).assignment) == 12
