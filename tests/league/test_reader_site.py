"""A reader's own site: their topology and machines, under any scheduler."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.example_site import example_site
from storm_lab.league.reader_site import Site
from storm_lab.league.stage import stage_runs
from storm_lab.model import Cluster, Component, Node, Subscription, Topology
from storm_lab.runs.digest import identity_of
from storm_lab.runs.execute import play_all
from storm_lab.schedulers import make_scheduler
from storm_lab.tournament.league import League
from storm_lab.tuplelog import open_run
from storm_lab.workloads.usercode import Bolt, Cost, Emit, Spout, Values


class Numbers(Spout):
    def records(self) -> Iterator[tuple[object, ...]]:
        yield from ((number,) for number in range(10))

    def cost(self, record: tuple[object, ...]) -> Cost:
        return Cost(10.0)


class Sink(Bolt):
    def __init__(self, cpu_us: float = 50.0) -> None:
        self.cpu_us = cpu_us

    def execute(self, values: Values, emit: Emit) -> None:
        return

    def cost(self, values: Values) -> Cost:
        return Cost(self.cpu_us)


TOPOLOGY = Topology(
    "mine",
    (
        Component("numbers", 1, outputs={"default": ("n",)}),
        Component("sink", 3, inputs=(Subscription("numbers"),)),
    ),
    workers=2,
)
MACHINES = Cluster((Node("big", cores=16, ports=(6700, 6701)), Node("small", cores=2, ports=(6700,))))


def site(
    topology: Topology = TOPOLOGY,
    cluster: Cluster = MACHINES,
    rate: float | SourcePlan = 20.0,
    cpu_us: float = 50.0,
    **conditions: object,
) -> Site:
    code: dict[str, Spout | Bolt] = {"numbers": Numbers(), "sink": Sink(cpu_us)}
    return Site.of(topology, code, cluster, sources={"numbers": rate}, **conditions)


def run_of(where: Site) -> str:
    (spec,) = stage_runs(where, [Entrant("even", make_scheduler("even"))], {"seeds": [1]})
    return identity_of(spec).run


def test_a_sites_topology_runs_on_its_machines_at_its_rate(tmp_path: Path) -> None:
    entrants = [
        Entrant("default", make_scheduler("default")),
        Entrant("t-storm", make_scheduler("tstorm", ["gamma=2"]), online=True),
    ]
    league = League.of(entrants, site(), {"seeds": [1], "duration_s": 90.0, "generation_s": 40.0})
    specs = stage_runs(league.stage, league.entrants, league.parameters)
    for played in play_all(specs, home=tmp_path, jobs=0):
        run = open_run(played.folder)
        roots = run.table("roots")
        assert {node["node"] for node in run.table("nodes").to_pylist()} == {"big", "small"}
        # 20 lines a second for 90 s; lines that wait while the workers start are emitted afterwards.
        assert 20 * 89 <= roots.num_rows <= 20 * 90
        placed = run.table("placements")
        assert set(placed["component"].to_pylist()) >= {"numbers", "sink"}
        assert set(placed["node"].to_pylist()) <= {"big", "small"}


def trace(at: int) -> SourcePlan:
    """Arrivals at 0 and ``at`` nanoseconds of every second."""
    arrivals = np.array([0, at], dtype=np.int64)
    return SourcePlan(SourceKind.TRACE, arrivals_ns=arrivals, arrival_period_ns=10**9)


def test_any_change_of_a_site_gives_another_run() -> None:
    base = run_of(site())
    assert run_of(site()) == base
    others = [
        site(topology=dataclasses.replace(TOPOLOGY, workers=3)),
        site(cluster=Cluster(MACHINES.nodes[:1])),
        site(cluster=Cluster((dataclasses.replace(MACHINES.nodes[0], cores=8), MACHINES.nodes[1]))),
        site(rate=21.0),
        site(cpu_us=51.0),
        *(site(rate=trace(at)) for at in (5, 6)),
    ]
    assert len({base, *map(run_of, others)}) == len(others) + 1


@pytest.mark.parametrize("nodes", [(), (Node("a", ports=()),)], ids=["no node", "no port"])
def test_machines_without_a_slot_are_refused(nodes: tuple[Node, ...]) -> None:
    with pytest.raises(UserError, match="the cluster has no slots"):
        site(cluster=Cluster(nodes))


def test_a_spout_needs_a_source_and_a_source_its_spout() -> None:
    code: dict[str, Spout | Bolt] = {"numbers": Numbers(), "sink": Sink()}
    with pytest.raises(UserError, match="'numbers': the spout has no source"):
        Site.of(TOPOLOGY, code, MACHINES, sources={})
    with pytest.raises(UserError, match=r"'sink': the topology has no such spout.*numbers"):
        Site.of(TOPOLOGY, code, MACHINES, sources={"numbers": 1.0, "sink": 1.0})
    with pytest.raises(UserError, match="rate_per_s"):
        site(rate=-1.0)


def test_the_parameters_of_word_count_are_refused_for_a_site() -> None:
    with pytest.raises(UserError, match="lines_per_s"):
        League.of([], site(), {"lines_per_s": 3.0})


def test_the_example_site_refuses_an_invalid_number_of_nodes() -> None:
    with pytest.raises(UserError, match="nodes = 'three': the example site needs a whole number"):
        example_site(50.0, nodes="three")  # type: ignore[arg-type]
