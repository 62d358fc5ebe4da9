"""Advice on a topology whose best setting and limit are known by hand."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pandas as pd
import pytest

from storm_lab.advice.advise import advise_site
from storm_lab.advice.bracket import fewest, highest, run_together
from storm_lab.advice.measure import Measurer, Setting, _busiest
from storm_lab.cli import main
from storm_lab.emulator.source import SourceKind, SourcePlan
from storm_lab.errors import UserError
from storm_lab.league.field import field
from storm_lab.league.reader_site import Site
from storm_lab.model import Cluster, Component, Node, Subscription, Topology
from storm_lab.workloads.usercode import Cost, Emit, SteadyBolt, SteadySpout, Values

WORK_US = 10_000.0
"""CPU of a line in the one executor of the bolt: it can do 100 a second, less what the framework takes."""


class Work(SteadyBolt):
    def execute(self, values: Values, emit: Emit) -> None:
        return


def site(source: float | SourcePlan, *, cores: int = 4, nodes: int = 3, executors: int = 1) -> Site:
    topology = Topology(
        "one-bolt",
        (
            Component("lines", 1, outputs={"default": ("line",)}),
            Component("work", executors, inputs=(Subscription("lines"),)),
        ),
        workers=nodes,
    )
    ports = (6700, 6701)
    machines = Cluster(tuple(Node(f"n{number + 1}", cores=cores, ports=ports) for number in range(nodes)))
    code = {"lines": SteadySpout(Cost(10.0), [("line",)]), "work": Work(Cost(WORK_US))}
    return Site.of(topology, code, machines, sources={"lines": source})


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))


@pytest.mark.slow
@pytest.mark.spark
def test_one_worker_on_one_node_is_best_where_nothing_is_gained_by_more() -> None:
    found = advise_site(site(30.0), seeds=(1, 2), entrants=field((), ("default",)))
    # In one process nothing is serialised, and an executor is one thread whatever cores there are.
    assert found.best.workers == 1
    assert found.fit.nodes == found.fit_twice.nodes == 1
    assert found.fit.utilisation == pytest.approx(30.0 * WORK_US / 1e6, rel=0.1)
    assert (found.saturates, found.saturated > 0.95) == ("an executor of work", True)
    assert 93.0 < found.capacity_per_s.mean < 100.0
    latencies = [measured.latency_ms.mean for share, measured in found.curve if share <= 0.9]
    assert latencies == sorted(latencies)
    assert latencies[0] == pytest.approx(WORK_US / 1000.0, rel=0.1)
    overloaded = dict(found.curve)[1.2]
    assert not overloaded.keeps_up
    (loss,) = found.losses
    # Nimbus hears nothing for its task timeout of 30 s at least; a third of a record is on its way then.
    assert loss.recovers
    assert loss.down_s >= 30.0
    assert loss.failed <= 2
    assert loss.latency_after_ms == pytest.approx(WORK_US / 1000.0, rel=0.1)
    # No message leaves the process.
    assert found.depends == ()


@pytest.mark.slow
@pytest.mark.spark
def test_cores_that_are_full_ask_for_as_many_nodes_as_division_says() -> None:
    # Four executors of 10 ms a line, a core a node. 120 lines/s are 1.2 cores of work, so two nodes at 60 %,
    # and of 2.4 cores one of three nodes would get two executors and 1.2 of them, so it takes four.
    found = advise_site(
        site(120.0, cores=1, nodes=4, executors=4), seeds=(1,), entrants=field((), ("default",))
    )
    assert (found.fit.nodes, found.fit_twice.nodes) == (2, 4)
    assert found.saturates.startswith("the cores of n")
    # A core for each executor, less what messages cost: less a line in a flood, whose threads hardly sleep.
    assert 330.0 < found.capacity_per_s.mean < 400.0
    by_division = 120.0 / found.best.measured.utilisation
    assert by_division < found.capacity_per_s.mean < 1.15 * by_division


@pytest.mark.slow
@pytest.mark.spark
def test_where_one_executor_is_the_limit_no_number_of_nodes_helps() -> None:
    found = advise_site(site(60.0), seeds=(1,), entrants=field((), ("default",)))
    assert (found.fit.nodes, found.fit_twice.nodes) == (1, None)
    assert found.fit_twice.busiest == "an executor of work"
    assert "Twice the load does not fit on all 3 machines: with 25 % more" in found.text()


@pytest.mark.slow
@pytest.mark.spark
def test_the_command_advises_what_is_known_by_hand_of_all_its_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # Thirty lines a second of 10 ms: a third of one executor. Nothing is gained by a second worker or node.
    Path("one.yaml").write_text(
        "storm_lab: topology/1\nname: one-bolt\nworkers: 2\ncomponents:\n"
        "  lines: {rate_per_s: 30, anchored: true, cost_us: 10, emits: {default: {bytes: 80}}}\n"
        f"  work: {{inputs: [{{from: lines}}], cost_us: {WORK_US:.0f}}}\n"
    )
    Path("two.yaml").write_text(
        "storm_lab: machines/1\n"
        "nodes: [{name: n, count: 2, cores: 4, mhz: 2000, memory_mb: 4096, nic_mbps: 1000, slots: 2}]\n"
    )

    def told(*options: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["advise", "one.yaml", "two.yaml", "--seeds", "1-2", *options])
        assert ended.value.code == 0
        return capfd.readouterr().out

    found = json.loads(told("--json"))
    assert {choice["policy"] for choice in found["choices"]} == {"default", "rstorm", "tstorm"}
    assert found["advice"]["workers"] == 1
    (best,) = [
        c for c in found["choices"] if {"policy": c["policy"], "workers": c["workers"]} == found["advice"]
    ]
    assert best["measured"]["nodes"] == 1
    assert (found["fit"]["nodes"], found["fit_twice"]["nodes"]) == (1, 1)
    assert found["saturates"] == "an executor of work"
    assert 93.0 < found["capacity_per_s"]["mean"] < 1e6 / WORK_US

    page = told("--notebook", "advice.ipynb")
    assert "and 1 worker: " in page
    assert page.splitlines()[0] in Path("advice.ipynb").read_text()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (SourcePlan(SourceKind.SATURATED), "has no rate"),
        (SourcePlan(SourceKind.RATE, rate_per_s=10.0, anchored=False), "without message ids"),
    ],
)
def test_a_spout_without_a_rate_or_without_anchors_allows_no_advice(source: SourcePlan, said: str) -> None:
    with pytest.raises(UserError, match=said):
        advise_site(site(source))


def test_a_topology_without_ackers_allows_no_advice() -> None:
    one_bolt = site(30.0)
    silent = replace(one_bolt.plan, topology=replace(one_bolt.plan.topology, ackers=0))
    with pytest.raises(UserError, match=r"ackers of topology one-bolt = 0: .* give at least 1"):
        advise_site(replace(one_bolt, plan=silent))


def test_a_seed_that_is_given_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Sequence[int]] = []

    def stop(measurer: Measurer, settings: Sequence[Setting], seeds: Sequence[int]) -> NoReturn:
        played.append(seeds)
        raise KeyboardInterrupt

    monkeypatch.setattr(Measurer, "with_headroom", stop)
    with pytest.raises(KeyboardInterrupt):
        advise_site(site(30.0), seeds=[1, 1, 2])
    with pytest.raises(KeyboardInterrupt):
        advise_site(site(30.0), seeds=range(1, 3))
    assert played == [(1, 2), (1, 2)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": 1}, "parameter seeds = 1: has the wrong type"),
        ({"seeds": []}, r"parameter seeds = \[\]: is empty"),
        ({"entrants": []}, "policies: there is none to try"),
    ],
)
def test_no_seeds_and_no_policies_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        advise_site(site(30.0), **given)


@pytest.mark.parametrize("most", [8, 50])
@pytest.mark.parametrize("least", [1, 2, 3, 7, 8])
def test_the_fewest_that_fit_are_found(least: int, most: int) -> None:
    searches = {"some": fewest(most), "none": fewest(most)}
    enough = {"some": least, "none": most + 1}
    found = run_together(searches, lambda kinds: [count >= enough[key] for key, count in kinds])
    assert found == {"some": least, "none": None}


@pytest.mark.parametrize("guess", [3.0, 90.0, 97.0, 4000.0])
def test_the_highest_rate_is_found_from_any_guess(guess: float) -> None:
    found = searched(guess, lambda rate: rate <= 97.0)
    assert 97.0 / 1.03 <= found <= 97.0


@pytest.mark.parametrize(
    ("does", "said"), [(False, "nothing is completed"), (True, "every rate is kept up with")]
)
def test_a_limit_that_is_not_there_is_said(does: bool, said: str) -> None:
    with pytest.raises(UserError, match=said):
        searched(100.0, lambda rate: does)


def searched(guess: float, keeps_up: Callable[[float], bool]) -> float:
    return run_together({1: highest(guess)}, lambda kinds: [keeps_up(rate) for _, rate in kinds])[1]


def test_searches_go_on_together_until_the_last_is_over() -> None:
    asked = []

    def ask(kinds: Sequence[tuple[float, float]]) -> list[bool]:
        asked.append(sorted({limit for limit, _ in kinds}))
        return [rate <= limit for limit, rate in kinds]

    found = run_together({limit: highest(100.0) for limit in (97.0, 5000.0)}, ask)
    assert all(limit / 1.03 <= rate <= limit for limit, rate in found.items())
    assert asked[0] == [97.0, 5000.0]
    assert asked[-1] == [5000.0], "the one whose guess was good is over"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["topology.yaml", "nstorm"], "there is no such file"),
        (["own.yaml", "nstrom"], "nstrom"),
        (["own.yaml", "nstorm", "--policies", "defualt"], "defualt"),
        (["own.yaml", "nstorm", "--seeds", "many"], "many"),
        (["own.yaml", "nstorm", "--notebook", "advice.html"], "use a name that ends in .ipynb"),
        (["own.yaml", "nstorm", "--notebook", "nowhere/advice.ipynb"], "the folder does not exist"),
        (["quiet.yaml", "nstorm"], "saturated"),
        (["idle.yaml", "nstorm"], "rate_per_s of s = 0: the rate is zero"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "storm_lab: topology/1\nname: t\ncomponents:\n  s: {rate_per_s: RATE, emits: {default: 1}}\n"
    Path("own.yaml").write_text(text.replace("RATE", "10"))
    Path("quiet.yaml").write_text(text.replace("RATE", "saturated"))
    Path("idle.yaml").write_text(text.replace("RATE", "0"))
    with pytest.raises(SystemExit) as ended:
        main(["advise", *arguments])
    assert ended.value.code == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize(
    ("utilisation", "busiest"), [(0.6, (0.95, "an executor of work")), (0.93, (0.93, "the cores of n1"))]
)
def test_an_executor_that_waits_in_execute_is_busy_only_if_no_cores_are_full(
    utilisation: float, busiest: tuple[float, str]
) -> None:
    at = {"run": ["r"], "t_s": [60.0]}
    thread = {"component": ["work"], "task": [2], "thread": ["main"], "worker": [0], "node": ["n1"]}
    tables: Any = SimpleNamespace(
        runs=pd.DataFrame({"run": ["r"], "warm_up_s": [60.0]}),
        node_cpu_60s=pd.DataFrame({**at, "node": ["n1"], "utilisation": [utilisation]}),
        steady_thread_cpu=pd.DataFrame({**thread, "cores_used": [0.3]}),
        capacity_60s=pd.DataFrame({**at, "component": ["work"], "task": [2], "capacity": [0.95]}),
    )
    assert _busiest(tables, False) == busiest
