"""The documentation page on schedulers agrees with the code."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from storm_lab.model import StormVersion
from storm_lab.schedulers import SchedulingView, check_result, scheduler_class
from storm_lab.schedulers.cases.case_format import read_case
from tests.schedulers.clusters import OWN, chain, cluster

PAGE = (Path(__file__).parents[2] / "docs" / "schedulers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("name", OWN)
def test_every_policy_and_parameter_is_listed(name: str) -> None:
    assert f"| `{name}` |" in PAGE
    for field in dataclasses.fields(scheduler_class(name).Parameters):
        assert f"`{field.name}`" in PAGE


def test_the_example_case_on_the_page_can_be_read() -> None:
    case = json.loads(next(text for kind, text in BLOCKS if kind == "json"))
    view = read_case(case, StormVersion.parse("0.9.7"))
    assert view.load is not None
    assert [str(a) for pair in view.load.traffic for a in pair] == ["spout[5,5]", "count[2,2]"]


def test_the_example_policy_on_the_page_works() -> None:
    names: dict[str, object] = {}
    code = next(text for kind, text in BLOCKS if kind == "python" and "FirstSlots" in text)
    exec(compile(code, "docs/schedulers.md", "exec"), names)
    first_slots = names["FirstSlots"]
    assert isinstance(first_slots, type)
    view = SchedulingView((chain("a", [2, 2]), chain("b", [1])), cluster(1, slots=2))
    result = first_slots().schedule(view)
    check_result(view, result)
    assert all(status.scheduled for status in result.status.values())
