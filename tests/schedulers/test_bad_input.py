"""Bad input gets one clear line that names it, and exit status 2."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from storm_lab.errors import UserError
from storm_lab.schedulers.cases.commands import schedule
from tests.schedulers.test_commands import SUPERVISORS, TWO_BY_TWO

CASE: dict[str, Any] = {
    "name": "good",
    "input": {"supervisors": SUPERVISORS[:1], "topologies": [TWO_BY_TWO]},
}


def run(case: dict[str, Any], tmp_path: Path, *options: str, scheduler: str = "default") -> str:
    """Return the message of the error with which scheduling the case ends."""
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(case), encoding="utf-8")
    result = CliRunner().invoke(schedule, [str(path), "--scheduler", scheduler, *options])
    assert isinstance(result.exception, UserError), result.output
    assert result.exception.exit_code == 2
    message = str(result.exception)
    assert "\n" not in message
    return message


def spoilt(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    case = copy.deepcopy(CASE)
    change(case["input"])
    return case


def topology(given: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = given["topologies"][0]
    return found


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], tuple[str, ...]]] = {
    "an executor without a component": (
        lambda i: i.update(existing={"t-1-1": [["n1", 6700, 9, 9]]}),
        ("t-1-1", "9", "no component"),
    ),
    "an executor with other tasks": (
        lambda i: i.update(existing={"t-1-1": [["n1", 6700, 1, 2]]}),
        ("[1, 2]", "t-1-1"),
    ),
    "an unknown node in an existing assignment": (
        lambda i: i.update(existing={"t-1-1": [["n7", 6700, 1, 1]]}),
        ("n7", "a[1,1]"),
    ),
    "an executor that is placed twice": (
        lambda i: i.update(existing={"t-1-1": [["n1", 6700, 1, 1], ["n1", 6701, 1, 1]]}),
        ("a[1,1]", "twice", "n1:6701"),
    ),
    "an unknown topology in an existing assignment": (
        lambda i: i.update(existing={"x-9-9": [["n1", 6700, 1, 1]]}),
        ("x-9-9",),
    ),
    "a negative demand": (lambda i: topology(i)["components"][0].update(cpu=-5), ("cpu", "-5", "a")),
    "a negative setting": (
        lambda i: topology(i).update(conf={"topology.component.cpu.pcore.percent": -3}),
        ("topology.component.cpu.pcore.percent", "-3", "t-1-1"),
    ),
    "no slots at all": (lambda i: i["supervisors"][0].update(ports=[]), ("no slots",)),
    "no supervisors": (lambda i: i.update(supervisors=[]), ("no slots",)),
    "an empty topology": (lambda i: topology(i).update(components=[]), ("t-1-1", "executor")),
    "a topology without executors": (
        lambda i: topology(i).update(components=[{"id": "a", "par": 0}]),
        ("t-1-1", "executor"),
    ),
    "a source that does not exist": (
        lambda i: topology(i)["components"][1].update(inputs=[{"from": "ghost"}]),
        ("ghost", "'b'"),
    ),
    "an unknown grouping": (
        lambda i: topology(i)["components"][1].update(inputs=[{"from": "a", "grouping": "fancy"}]),
        ("fancy", "shuffle"),
    ),
    "no workers": (lambda i: topology(i).update(workers=0), ("workers", "t-1-1")),
    "workers that are not a number": (lambda i: topology(i).update(workers="two"), ("workers", "two")),
    "a misspelt key": (lambda i: topology(i).update(wrokers=3), ("wrokers", "t-1-1")),
    "a missing key": (lambda i: i.pop("topologies"), ("topologies",)),
    "two nodes of one name": (lambda i: i["supervisors"].append(i["supervisors"][0]), ("n1", "twice")),
    "a slot with two topologies": (
        lambda i: i.update(
            topologies=[topology(i), {**topology(i), "id": "t-2-2"}],
            existing={"t-1-1": [["n1", 6700, 1, 1]], "t-2-2": [["n1", 6700, 1, 1]]},
        ),
        ("n1:6700", "t-1-1", "t-2-2"),
    ),
    "a negative offer of a supervisor": (
        lambda i: i["supervisors"][0].update(resources={"supervisor.cpu.capacity": -1}),
        ("supervisor.cpu.capacity", "n1", "-1"),
    ),
    "a port twice": (lambda i: i["supervisors"][0].update(ports=[6700, 6700]), ("port", "n1")),
    "half of a surrogate pair in a name": (lambda i: topology(i).update(id="\ud800"), ("\\ud800", "half")),
    "negative traffic": (lambda i: i.update(traffic={"t-1-1": [[1, 3, -1]]}), ("traffic", "-1")),
    "traffic of an unknown task": (lambda i: i.update(traffic={"t-1-1": [[1, 30, 1]]}), ("30", "t-1-1")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_invalid_case_is_refused_in_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    change, parts = CHANGES[name]
    message = run(spoilt(change), tmp_path)
    assert "case 'good'" in message
    for part in parts:
        assert part in message


def test_the_unchanged_case_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(CASE), encoding="utf-8")
    result = CliRunner().invoke(schedule, [str(path), "--scheduler", "default"])
    assert (result.exit_code, result.exception) == (0, None), result.output


@pytest.mark.parametrize("scheduler", ["mfstorm", "aniello-offline", "partition", "optimal"])
def test_a_cycle_is_named_if_the_policy_needs_an_acyclic_topology(scheduler: str, tmp_path: Path) -> None:
    case = spoilt(
        lambda i: topology(i).update(
            components=[
                {"id": "s"},
                {"id": "a", "inputs": [{"from": "s"}, {"from": "b"}]},
                {"id": "b", "inputs": [{"from": "a"}]},
            ]
        )
    )
    message = run(case, tmp_path, scheduler=scheduler)
    assert "t-1-1" in message
    assert "cycle" in message
    assert "a <- b <- a" in message


@pytest.mark.parametrize(
    ("scheduler", "parameter", "parts"),
    [
        ("tstorm", "gamma=0.5", ("gamma", "0.5", "1 or more")),
        ("tstorm", "gamma=nan", ("gamma", "nan", "a number")),
        ("tstorm", "gamma=much", ("gamma", "much", "number")),
        ("tstorm", "gmama=2", ("gmama", "tstorm", "capacity_fraction")),
        ("tstorm", "gamma", ("gamma", "key=value")),
        ("tstorm", "cap=never", ("cap", "never", "floor")),
        ("tstorm", "count_ackers=perhaps", ("count_ackers", "perhaps", "true or false")),
        ("optimal", "restarts=1.5", ("restarts", "1.5", "whole number")),
        ("isolation", "machines=alone", ("machines", "alone")),
        ("even", "gamma=2", ("gamma", "even", "none")),
    ],
)
def test_a_wrong_parameter_is_named(
    scheduler: str, parameter: str, parts: tuple[str, ...], tmp_path: Path
) -> None:
    message = run(CASE, tmp_path, "--param", parameter, scheduler=scheduler)
    for part in parts:
        assert part in message


def test_an_unknown_scheduler_is_refused_with_a_list_of_all(tmp_path: Path) -> None:
    message = run(CASE, tmp_path, scheduler="fastest")
    assert "fastest" in message
    assert "tstorm" in message
    assert "rstorm" in message


def test_a_wrong_version_is_named(tmp_path: Path) -> None:
    assert "two" in run(CASE, tmp_path, "--storm-version", "two")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(schedule, [str(tmp_path / "none.jsonl"), "--scheduler", "even"])
    assert isinstance(result.exception, UserError)
    assert "none.jsonl" in str(result.exception)
