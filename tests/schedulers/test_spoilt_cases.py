"""Corrupted cases: ``storm-lab schedule`` has an answer to each of them, and a refusal is one line."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storm_lab.errors import StormLabError
from storm_lab.schedulers.cases.case_format import read_cases
from storm_lab.schedulers.cases.commands import answer_line, outcomes
from storm_lab.schedulers.contract import DEFAULT_STORM_VERSION
from storm_lab.schedulers.registry import make_scheduler, scheduler_names

FOLDER = Path(__file__).parent / "cases"
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**70, 1.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", "x", "__acker", "default", "\ud800", "org.apache.storm.scheduler.resource.strategies.None", "6700"),
    *([], {}, [[]], [1], [{}], ["a", "a"], {"a": None}, {"": 0}, [[1, 1, 1]], {"t": [["n", 6700, 1, 1]]}),
)
LEFT_TO_THE_SOLVER = "optimal"
"""It takes seconds per case, and reads cases in the same way as all others."""


def originals() -> list[Any]:
    """Small cases of every recorded kind."""
    lines = [line for file in sorted(FOLDER.glob("*.jsonl")) for line in file.open(encoding="utf-8")]
    return [json.loads(line) for line in lines if len(line) < 6000]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with every key or index in it, at any depth."""
    items: Any = ()
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    for key, inner in items:
        yield value, key
        yield from places(inner)


def spoilt(draw: random.Random, case: Any) -> str:
    """Return the case with one to three values removed, doubled, exchanged or replaced by odd ones."""
    case = copy.deepcopy(case)
    for _ in range(draw.randint(1, 3)):
        where = list(places(case["input"])) or [(case, "input")]
        container, key = draw.choice(where)
        other, of_other = draw.choice(where)
        way = draw.randrange(5)
        if way == 0:
            del container[key]
        elif way == 1 and isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        elif way == 2:
            container[key] = copy.deepcopy(other[of_other])
        elif way == 3 and isinstance(container, dict):
            container[draw.choice(("x", "", "par", "conf", "existing"))] = container.pop(key)
        else:
            container[key] = copy.deepcopy(draw.choice(ODD))
        if not isinstance(case.get("input"), dict):
            break
    return json.dumps(case)


def tally(first: int, number: int) -> Counter[str]:
    """Count the answers and refusals to ``number`` corrupted cases; fail if a case has neither."""
    known, schedulers = originals(), [name for name in scheduler_names() if name != LEFT_TO_THE_SOLVER]
    found: Counter[str] = Counter()
    for seed in range(first, first + number):
        draw = random.Random(seed)
        line = spoilt(draw, draw.choice(known))
        scheduler = draw.choice(schedulers)
        try:
            ((name, outcome),) = outcomes(
                read_cases([line], DEFAULT_STORM_VERSION), make_scheduler(scheduler)
            )
            assert "\n" not in answer_line(name, outcome)
            refused = isinstance(outcome, StormLabError)
            assert not refused or "\n" not in str(outcome)
        except Exception as defect:
            raise AssertionError(f"seed {seed}, scheduler {scheduler}: {line}") from defect
        found["refused" if refused else "answered"] += 1
    return found


def test_some_corrupted_cases_are_answered_and_some_refused() -> None:
    found = tally(0, 150)
    assert found["answered"] > 15
    assert found["refused"] > 15


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_corrupted_cases_give_no_traceback(part: int) -> None:
    found = tally(1_000_000 + part * 10_000, 10_000)
    print(f"spoilt cases, part {part}: {found['answered']} answered, {found['refused']} refused")
    assert sum(found.values()) == 10_000
