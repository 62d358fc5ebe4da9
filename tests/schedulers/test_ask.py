"""Wrong answers and exceptions of a user's own policy become one line that names the policy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from storm_lab.errors import UserError
from storm_lab.model import Assignment, Cluster, Component, Executor, Node, Slot, Subscription, Topology
from storm_lab.schedulers import Scheduler, SchedulingResult, SchedulingView, TopologyStatus, make_scheduler
from storm_lab.schedulers.ask import ask
from storm_lab.schedulers.contract import NoParameters

TOPOLOGY = Topology(
    "wc", (Component("spout"), Component("count", 2, inputs=(Subscription("spout"),))), ackers=0
)
VIEW = SchedulingView((TOPOLOGY,), Cluster((Node("n1", ports=(6700, 6701)),)))
SPLIT, *COUNTS = VIEW.executors["wc"]
HERE = Slot("n1", 6700)
GOOD = {"wc": TopologyStatus(True, "placed")}


class Mine(Scheduler[NoParameters]):
    """A policy that answers with the result of a function of the view."""

    name, version = "mine", "1"

    def __init__(self, answer: Callable[[SchedulingView], Any]) -> None:
        super().__init__()
        self._answer = answer

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        result: SchedulingResult = self._answer(view)
        return result


def placed(slots: Mapping[Any, Any], status: Any = None) -> SchedulingResult:
    return SchedulingResult(Assignment(slots), GOOD if status is None else status)


def all_in(slot: Any) -> dict[Executor, Any]:
    return dict.fromkeys(VIEW.executors["wc"], slot)


def divide(view: SchedulingView) -> SchedulingResult:
    raise ZeroDivisionError(f"{len(view.topologies)} over nothing")


WRONG: dict[str, tuple[Callable[[SchedulingView], Any], str]] = {
    "None": (lambda view: None, "schedule returned None, not a SchedulingResult"),
    "an int": (lambda view: 7, "schedule returned of type int, not a SchedulingResult"),
    "a dictionary": (lambda view: SchedulingResult(all_in(HERE), GOOD), "of type dict, not an Assignment"),  # type: ignore[arg-type]
    "a list of slots": (lambda view: placed([HERE]), "not an Assignment"),  # type: ignore[arg-type]
    "a slot as tuple": (
        lambda view: placed(all_in(("n1", 6700))),
        r"executor .*\[1,1\] of 'wc' is placed in \('n1', 6700\), which is of type tuple, not a Slot",
    ),
    "a port as a float": (
        lambda view: placed(all_in(Slot("n1", 6700.0))),  # type: ignore[arg-type]
        "the port of slot n1:6700.0 is of type float, not a whole number",
    ),
    "a message that is no text": (
        lambda view: SchedulingResult(Assignment(all_in(HERE)), {"wc": TopologyStatus(True, 3)}),  # type: ignore[arg-type]
        "status message of topology 'wc' is of type int, not text",
    ),
    "an executor as text": (lambda view: placed({"count": HERE}), "'count' is of type str, not an Executor"),
    "a status as text": (
        lambda view: placed(all_in(HERE), {"wc": "fine"}),
        "status of topology 'wc' is of type str, not a TopologyStatus",
    ),
    "no status": (lambda view: placed(all_in(HERE), {}), "topology 'wc' has no status"),
    "an executor left out": (
        lambda view: placed({SPLIT: HERE}),
        r"executor .*\[2,2\] of 'wc' has no slot, but the topology is reported as scheduled",
    ),
    "an unknown slot": (lambda view: placed(all_in(Slot("n9", 1))), r"in slot n9:1, which the cluster"),
    "it exits": (lambda view: sys.exit(3), r"it raised SystemExit: 3 \(test_ask\.py, line \d+\)"),
    "it raises": (divide, r"it raised ZeroDivisionError: 1 over nothing \(test_ask\.py, line \d+\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_refused_with_policy_case_and_reason(case: str) -> None:
    answer, message = WRONG[case]
    with pytest.raises(UserError, match=message) as refusal:
        ask(Mine(answer), VIEW, case="round at 10 s")
    text = str(refusal.value)
    assert text.startswith("scheduler = 'mine': ")
    assert "round at 10 s" in text
    assert "\n" not in text


def test_a_valid_answer_is_returned_unchanged() -> None:
    answer = placed(all_in(HERE))
    assert ask(Mine(lambda view: answer), VIEW) is answer


def test_an_infeasible_schedule_is_a_valid_answer() -> None:
    answer = placed({}, {"wc": TopologyStatus(False, "no room")})
    assert ask(Mine(lambda view: answer), VIEW) is answer


def test_a_defect_in_a_built_in_policy_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    even = make_scheduler("even")
    monkeypatch.setattr(type(even), "schedule", lambda self, view: divide(view))
    with pytest.raises(ZeroDivisionError):
        ask(even, VIEW)
