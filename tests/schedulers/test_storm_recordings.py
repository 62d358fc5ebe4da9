"""Storm's own schedulers, case by case: recorded answers of the real classes, and the project's cases.

The project's cases were generated. Those in `OF_THE_REAL_CLASSES` have the answers that the real classes of
that version gave. The answers of the others were computed with the policies here, after these had been
compared with Storm's classes on many more random clusters. "settings" are resource-aware cases with heap
limits, pools of users, existing workers, blacklisted hosts and the settings of ``topology.ras``. "fractions"
ask for amounts such as 33.3, so that the order of additions shows. "wide" ones have dead executors, hidden
and missing ports, unequal nodes and up to a dozen topologies, in four versions. "ras-wide" ones vary every
key: no rack, nodes with nothing to offer, components without demands, all hosts blacklisted, up to eight
topologies. "strategies" have a strategy for each topology.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, MutableSequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from storm_lab.schedulers.contract import SchedulingView
from tests.schedulers.golden import (
    Workers,
    answer,
    cases,
    components_per_slot,
    every_executor,
    without_numbers,
    worker_contents_per_node,
)

FILES: dict[str, Callable[[Workers], object]] = {
    "even-default.jsonl": every_executor,
    "resource-aware-1.0.6.jsonl": worker_contents_per_node,
    "resource-aware-2.8.8.jsonl": components_per_slot,
}
OF_THE_REAL_CLASSES: dict[str, Callable[[Workers], object]] = {
    "even-default-2.8.3.jsonl": every_executor,
    "even-default-wide.jsonl": every_executor,
    "ras-wide-1.0.6.jsonl": worker_contents_per_node,
    "ras-wide-2.8.3.jsonl": components_per_slot,
    "settings-2.8.3.jsonl": components_per_slot,
    "settings-1.0.6.jsonl": worker_contents_per_node,
    "fractions-1.0.6.jsonl": worker_contents_per_node,
    "fractions-2.8.3.jsonl": components_per_slot,
    "strategies-2.8.3.jsonl": components_per_slot,
}
OWN_CASES = Path(__file__).parent / "cases"


def differences(path: Path, view_of: Callable[[Workers], object], *, exact_status: bool) -> list[str]:
    wrong = []
    for version, name, case in cases(path):
        found = answer(case, version)
        for topology, expected in case["expected"][version].items():
            got = found[topology]
            same = view_of(got["slots"]) == view_of(expected["slots"])
            if "status" in expected:
                text = str if exact_status else without_numbers
                same = same and text(got["status"]) == text(expected["status"])
            if not same:
                wrong.append(f"{name}, Storm {version}, {topology}")
    return wrong


@pytest.mark.parametrize("file", FILES)
def test_the_projects_cases_are_answered_as_recorded(file: str) -> None:
    path = OWN_CASES / file
    assert sum(1 for _ in cases(path)) >= 40
    assert differences(path, every_executor, exact_status=True) == []


@pytest.mark.parametrize("file", OF_THE_REAL_CLASSES)
def test_the_projects_cases_are_answered_as_by_storms_own_classes(file: str) -> None:
    path = OWN_CASES / file
    assert sum(1 for _ in cases(path)) >= 20
    assert differences(path, OF_THE_REAL_CLASSES[file], exact_status=False) == []


def test_isolation_is_answered_as_by_storm_if_neither_shuffles_the_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Storm shuffles the hosts without a seed; the real classes ran with a shuffle that moves nothing."""

    class NoDraw(Random):
        def shuffle(self, x: MutableSequence[Any]) -> None:
            """Leave the hosts in Storm's order: most slots first."""

    monkeypatch.setattr(SchedulingView, "random", lambda view, purpose: NoDraw(purpose))
    path = OWN_CASES / "isolation.jsonl"
    assert Counter(version for version, _, _ in cases(path)).keys() == {"0.8.2", "0.9.7", "1.0.6", "2.8.3"}
    assert sum(1 for _ in cases(path)) >= 80
    assert differences(path, every_executor, exact_status=True) == []


@pytest.mark.shared
@pytest.mark.parametrize("file", FILES)
def test_recorded_cases_of_real_storm_are_answered_as_recorded(file: str, shared_dir: Path) -> None:
    assert differences(shared_dir / "golden" / file, FILES[file], exact_status=False) == []


def test_a_wrong_answer_would_be_noticed(tmp_path: Path) -> None:
    case = json.loads((OWN_CASES / "even-default.jsonl").read_text(encoding="utf-8").splitlines()[0])
    topology, expected = next(iter(case["expected"]["0.9.7"].items()))
    slot, rows = next(iter(expected["slots"].items()))
    rows.pop()
    path = tmp_path / "spoilt.jsonl"
    path.write_text(json.dumps(case), encoding="utf-8")
    assert differences(path, every_executor, exact_status=True) == [
        f"{case['name']}, Storm 0.9.7, {topology}"
    ], slot
