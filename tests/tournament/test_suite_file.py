"""A league's file of cases: what is wrong in it is named with its case."""

from __future__ import annotations

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.tournament.suite import suite

OWN = "storm_lab: topology/1\nname: t\ncomponents:\n  s: {rate_per_s: 10, emits: {default: 1}}\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(OWN)
    Path("unknown.yaml").write_text(OWN + "  a: {inputs: [{from: b}]}\n")


def refused(text: str) -> str:
    Path("mine.yaml").write_text(text)
    with pytest.raises(UserError) as error:
        suite("mine.yaml")
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1", "lists no cases"),
        ("cases: [{name: x}]", "case 1 of mine.yaml"),
        (
            "{duration: 300, cases: [{name: x, topology: own.yaml}]}",
            "key = 'duration': mine.yaml has no such key; there are: cases",
        ),
        ("cases: [{name: '', topology: own.yaml}]", "name of case 1 of mine.yaml = '': is not a text; write"),
        ("cases: [{name: 5, topology: own.yaml}]", "name of case 1 of mine.yaml = 5: is not a text; write"),
        (
            "cases: [{name: x, topology: own.yaml, machines: null}]",
            "machines of case 1 of mine.yaml = 'null': is not a text; write a text",
        ),
        (
            "cases: [{name: x, topology: nope.yaml, machines: nstorm}]",
            "there is no such file (case 1 of mine.yaml, x)",
        ),
        (
            "cases: [{name: x, topology: own.yaml}]",
            "machines: no machines are given for the topology t (case 1 of mine.yaml, x); give a machines "
            "file, or the name of a paper's cluster",
        ),
        (
            "cases: [{name: x, topology: unknown.yaml, machines: nstorm}]",
            "no such component; there are: a, s (case 1 of mine.yaml, x); storm-lab import lists all",
        ),
    ],
)
def test_what_is_wrong_in_a_suite_is_named_with_its_case(text: str, said: str) -> None:
    assert said in refused(text)


def test_two_cases_of_one_name_are_refused() -> None:
    row = "{name: NAME, topology: own.yaml, machines: nstorm}"
    text = "cases:\n" + "".join(f" - {row.replace('NAME', name)}\n" for name in ("a", "b", "a"))
    assert "name = 'a': mine.yaml has this name twice; change one" in refused(text)
