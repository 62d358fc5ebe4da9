"""``storm-lab schedule`` and ``storm-lab explain``, and what notebooks use of them."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner

from storm_lab.errors import StormLabError, UserError
from storm_lab.model import Assignment, Slot, StormVersion
from storm_lab.schedulers import (
    NoParameters,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
    make_scheduler,
    registry,
    scheduler_names,
)
from storm_lab.schedulers.cases.commands import explain, schedule
from storm_lab.schedulers.explain import COLUMNS, explained, explanation
from storm_lab.schedulers.graph.graphs import (
    PLACEMENT_COLUMNS,
    executor_graph,
    placement_graph,
    placement_table,
    topology_graph,
    traffic_matrix,
)
from storm_lab.schedulers.scheduler_file import scheduler_of
from tests.schedulers.clusters import chain, cluster, even_load

CASES = Path(__file__).parent / "cases" / "even-default.jsonl"
SUPERVISORS = [{"id": f"n{i}", "host": f"h{i}", "ports": [6700, 6701]} for i in (1, 2)]
TWO_BY_TWO = {
    "id": "t-1-1",
    "workers": 2,
    "ackers": 0,
    "components": [{"id": "a", "par": 2}, {"id": "b", "par": 2, "inputs": [{"from": "a"}]}],
}
SMALL = {
    "name": "small",
    "input": {
        "supervisors": SUPERVISORS,
        "topologies": [TWO_BY_TWO],
        "traffic": {"t-1-1": [[1, 4, 9.0], [2, 3, 5.0]]},
        "cpu": {"t-1-1": [[task, 100.0] for task in (1, 2, 3, 4)]},
    },
}


def invoke(*arguments: str, given: dict[str, Any] | None = SMALL, command: Any = schedule) -> str:
    text = None if given is None else json.dumps(given)
    result = CliRunner().invoke(command, list(arguments), input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_schedule_prints_one_json_object_per_line() -> None:
    line = invoke("-", "--scheduler", "tstorm", "--storm-version", "0.8.2", "--param", "gamma=1")
    assert json.loads(line) == {
        "name": "small",
        "assignments": {
            "t-1-1": {"n1:6700": [[1, 1, "a"], [4, 4, "b"]], "n2:6700": [[2, 2, "a"], [3, 3, "b"]]}
        },
        "status": {"t-1-1": "Scheduled by T-Storm, gamma 1"},
    }


def test_schedule_answers_every_case_of_a_file_and_always_the_same() -> None:
    first = invoke(str(CASES), "--scheduler", "default", "--storm-version", "0.9.7", given=None)
    again = invoke(str(CASES), "--scheduler", "default", "--storm-version", "0.9.7", given=None)
    assert first == again
    assert len(first.splitlines()) == len(CASES.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("name", scheduler_names())
def test_every_policy_answers_and_explains_its_choices(name: str) -> None:
    answer = json.loads(invoke("-", "--scheduler", name))
    assert answer["status"]["t-1-1"]
    text = invoke("-", "--scheduler", name, command=explain)
    assert "t-1-1 a[1,1] -> n" in text


def test_explain_shows_candidates_scores_and_constraints() -> None:
    text = invoke("-", "--scheduler", "tstorm", "--param", "gamma=1", command=explain)
    assert "cap of 2 executors per node" in text
    assert "added inter-node traffic" in text
    rows = invoke("-", "--scheduler", "tstorm", "--csv", command=explain).splitlines()
    assert rows[0] == ",".join(["case", *COLUMNS])
    (case,) = json.loads(invoke("-", "--scheduler", "tstorm", "--json", command=explain))
    assert len(case["decisions"]) == len(rows) - 1
    assert {row["slot"] for row in case["decisions"] if row["chosen"]} == {"n1:6700", "n2:6700"}
    assert case["status"]["t-1-1"]["scheduled"]
    with pytest.raises(UserError, match="only one of the two formats is possible"):
        invoke("-", "--scheduler", "tstorm", "--json", "--csv", command=explain)


def test_a_refused_case_gets_an_answer_and_does_not_end_the_batch() -> None:
    strategy = {"topology.scheduler.strategy": "org.example.Unheard"}
    topology = SMALL["input"]["topologies"][0]
    unheard = {"name": "unheard", "input": {**SMALL["input"], "topologies": [{**topology, "conf": strategy}]}}
    slotless = {"name": "slotless", "input": {**SMALL["input"], "supervisors": []}}
    lines = [json.dumps(SMALL), "{oops", json.dumps(unheard), json.dumps(slotless), json.dumps(SMALL)]
    for command in (schedule, explain):
        result = CliRunner().invoke(command, ["-", "--scheduler", "ras"], input="\n".join(lines))
        assert result.exit_code == 0
        assert result.stderr.splitlines()[-1].startswith("3 of 5 cases were refused, first")
    result = CliRunner().invoke(schedule, ["-", "--scheduler", "ras"], input="\n".join(lines))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["name"] for answer in answers] == ["small", "line 2", "unheard", "slotless", "small"]
    assert ["refused" in answer for answer in answers] == [False, True, True, True, False]
    assert answers[0] == answers[4] != answers[3]
    assert "is not JSON" in answers[1]["refused"]
    assert "'Unheard': topology 't-1-1' asks for a strategy that is not supported" in answers[2]["refused"]
    assert "no slots" in answers[3]["refused"]
    assert all(not a["assignments"] and not a["status"] for a in answers[1:4])


def test_the_command_fails_if_all_cases_are_refused() -> None:
    slotless = {"name": "slotless", "input": {**SMALL["input"], "supervisors": []}}
    for command in (schedule, explain):
        result = CliRunner().invoke(command, ["-", "--scheduler", "even"], input=json.dumps(slotless))
        assert isinstance(result.exception, UserError)
        assert "case 'slotless': " in str(result.exception)


def test_half_a_surrogate_pair_in_a_name_is_printed_as_valid_json() -> None:
    odd = json.dumps({**SMALL, "name": "n"}).replace('"n"', '"\\ud800"')
    result = CliRunner().invoke(schedule, ["-", "--scheduler", "even"], input=odd)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["name"] == "\ud800"


def test_an_unknown_case_is_refused() -> None:
    arguments = ["-", "--scheduler", "even", "--case", "nix"]
    result = CliRunner().invoke(explain, arguments, input=json.dumps(SMALL))
    assert result.exit_code == 2
    assert "nix" in result.output


def test_a_negative_number_of_candidates_is_refused() -> None:
    arguments = ["-", "--scheduler", "even", "--candidates", "-3"]
    result = CliRunner().invoke(explain, arguments, input=json.dumps(SMALL))
    assert result.exit_code == 2
    assert "-3 is not in the range" in result.stderr


def test_the_explanation_is_a_table_with_one_choice_per_executor() -> None:
    topology = chain("t", [2, 3], workers=2)
    view = SchedulingView((topology,), cluster(3))
    table = explanation(explained(make_scheduler("rstorm"), view))
    assert tuple(table.columns) == COLUMNS
    assert table.loc[table["chosen"]].groupby("executor").size().tolist() == [1] * 5
    assert table.loc[table["chosen"], "ruled_out_by"].isna().all()


# --- finding policies ---


class Crowded(Scheduler[NoParameters]):
    """A policy that puts everything into the first slot, even if that is taken."""

    name = "crowded"
    version = "1"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        slot = view.usable_slots[0]
        executors = [e for group in view.executors.values() for e in group]
        status = {t.id: TopologyStatus(True, "there") for t in view.topologies}
        return SchedulingResult(Assignment.of((e, slot) for e in executors), status)


def offered(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    """Make outside packages offer these policies (name and class); a trailing ``_`` allows equal names."""
    found = [EntryPoint(name.rstrip("_"), place, registry.GROUP) for name, place in points.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: found)


def test_an_outside_package_adds_a_policy_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, crowded=f"{__name__}:Crowded")
    assert {"crowded", "even", "tstorm"} <= set(scheduler_names())
    monkeypatch.setattr(EntryPoint, "load", lambda self: Crowded)
    assert json.loads(invoke("-", "--scheduler", "crowded"))["status"] == {"t-1-1": "there"}


def test_two_policies_of_one_name_are_refused_with_both_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, mine="one.package:Even", mine_="other.package:Even")
    with pytest.raises(UserError, match=r"one\.package:Even and other\.package:Even"):
        make_scheduler("mine")


def test_an_outside_package_cannot_take_the_name_of_a_built_in_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered(monkeypatch, even="one.package:Even")
    with pytest.raises(UserError, match=r"storm\.even:EvenScheduler and one\.package:Even"):
        make_scheduler("even")


def test_the_same_policy_offered_twice_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "storm_lab.schedulers.storm.even:EvenScheduler"
    offered(monkeypatch, even=place, even_=place)
    assert make_scheduler("even").name == "even"


def test_an_entry_point_that_is_not_a_scheduler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, odd="json:dumps", gone="nowhere:X")
    with pytest.raises(UserError, match="not a subclass"):
        make_scheduler("odd")
    with pytest.raises(UserError, match="cannot be imported"):
        make_scheduler("gone")


class Unfinished(Scheduler[NoParameters]):
    name, version = "unfinished", "1"


class Nameless(Crowded):
    name = None  # type: ignore[assignment]


class Broken(Crowded):
    def __init__(self, parameters: NoParameters) -> None:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Unfinished, "the class has no method schedule; add schedule"),
        (Nameless, 'the class has no name; add name = "..."'),
        (Broken, r"it cannot be created: ZeroDivisionError \(test_commands\.py, line \d+\)"),
    ],
)
def test_an_installed_scheduler_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: type, said: str
) -> None:
    offered(monkeypatch, odd=f"{__name__}:Odd")
    monkeypatch.setattr(EntryPoint, "load", lambda self: kind)
    with pytest.raises(UserError, match=said):
        scheduler_of("odd")


def test_an_installed_scheduler_that_fails_at_its_import_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(point: EntryPoint) -> None:
        raise ZeroDivisionError

    offered(monkeypatch, odd="odd.place:Odd")
    monkeypatch.setattr(EntryPoint, "load", load)
    with pytest.raises(UserError, match="'odd': it cannot be imported: ZeroDivisionError"):
        scheduler_of("odd")


def test_an_invalid_assignment_is_refused_with_executor_and_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, crowded=f"{__name__}:Crowded")
    monkeypatch.setattr(EntryPoint, "load", lambda self: Crowded)
    two = json.loads(json.dumps(SMALL))
    two["input"]["topologies"].append({**two["input"]["topologies"][0], "id": "u-2-2"})
    result = CliRunner().invoke(schedule, ["-", "--scheduler", "crowded"], input=json.dumps(two))
    assert isinstance(result.exception, StormLabError)
    assert "n1:6700" in str(result.exception)
    assert "a[1,1]" in str(result.exception)


# --- graphs and tables ---


def test_graphs_show_topology_executors_and_placement() -> None:
    version = StormVersion.parse("0.9.7")
    topology = chain("t", [2, 3], workers=2)
    view = SchedulingView((topology,), cluster(2), version, load=even_load([topology], version))
    assignment = make_scheduler("tstorm").schedule(view).assignment
    components = topology_graph(topology)
    assert components.nodes["c0"]["kind"] == "spout"
    assert list(components.edges(keys=True)) == [("c0", "c1", "default")]
    executors = executor_graph(topology, version, view.load)
    assert executors.number_of_edges() == 6
    assert {rate for _, _, rate in executors.edges(data="rate")} == {10.0}
    placed = placement_graph(view.cluster, assignment)
    assert nx.is_forest(placed)
    assert sum(kind == "executor" for _, kind in placed.nodes(data="kind")) == 5


def test_executor_graphs_without_load_have_estimated_rates() -> None:
    graph = executor_graph(chain("t", [2, 4]), StormVersion.parse("0.9.7"))
    assert {rate for _, _, rate in graph.edges(data="rate")} == {0.25}


def test_the_placement_table_and_the_traffic_matrix_are_ordered_by_machine() -> None:
    version = StormVersion.parse("0.9.7")
    topology = chain("t", [2, 2])
    view = SchedulingView((topology,), cluster(2), version, load=even_load([topology], version))
    first, second, third, fourth = view.executors["t"]
    here, there = Slot("n1", 6700), Slot("n2", 6700)
    places = {first: there, second: Slot("n1", 6701), third: here, fourth: there}
    assignment = Assignment.of(places.items())
    table = placement_table(view.cluster, assignment)
    assert tuple(table.columns) == PLACEMENT_COLUMNS
    assert table["node"].tolist() == ["n1", "n1", "n2", "n2"]
    assert table["start_task"].tolist() == [3, 2, 1, 4]
    assert view.load is not None
    matrix = traffic_matrix(view.cluster, assignment, view.load)
    assert matrix.index.get_level_values("node").tolist() == ["n1", "n1", "n2", "n2"]
    assert matrix.to_numpy().sum() == 40.0
    assert matrix.to_numpy()[1, 0] == 10.0


def test_an_executor_may_stay_on_a_port_that_is_hidden_for_the_round() -> None:
    case = json.loads(json.dumps(SMALL))
    case["input"]["existing"] = {"t-1-1": [["n1", 6709, 1, 1]]}
    answer = json.loads(invoke("-", "--scheduler", "even", given=case))
    assert answer["assignments"]["t-1-1"]["n1:6709"] == [[1, 1, "a"]]


def test_explain_says_what_each_node_lacks_if_a_topology_asks_for_too_much() -> None:
    """Storm's quick check refuses such a topology without a search, so the reasons are added here."""
    case = json.loads(json.dumps(SMALL))
    for node, memory in zip(case["input"]["supervisors"], (300.0, 1000.0), strict=True):
        node["resources"] = {"supervisor.cpu.capacity": 100.0, "supervisor.memory.capacity.mb": memory}
    for component in case["input"]["topologies"][0]["components"]:
        component |= {"cpu": 60.0, "mem": 200.0}
    text = invoke("-", "--scheduler", "ras", "--storm-version", "2.8.8", command=explain, given=case)
    assert "Additional CPU Required: 240.0% CPU" in text
    assert text.count("would fit into") == 2
    assert text.count("fits nowhere: n") == 2
    for reason in ("n1 has 40 of 60 CPU points", "n2 has 40 of 60 CPU points"):
        assert text.count(reason) == 2
