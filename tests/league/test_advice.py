"""What follows from what was measured: the choice, the page and the document."""

import json
import math
from dataclasses import replace

from storm_lab.league.advice import Advice, Choice, Interval, Measured, NodeLoss, Sensitivity, best_of


def measured(latency: float, *, half: float = 0.1, nodes: float = 1.0, **facts: object) -> Measured:
    known = {
        "offered_per_s": 100.0,
        "acked_per_s": Interval(100.0, 0.5),
        "latency_ms": Interval(latency, half),
        "p99_ms": Interval(3 * latency, half),
        "failed_per_s": 0.0,
        "nodes": nodes,
        "busiest": "the cores of n1",
        "utilisation": 0.3,
    }
    return Measured(**(known | facts))  # type: ignore[arg-type]


def test_an_interval_is_students() -> None:
    found = Interval.of([1.0, 2.0, 3.0])
    assert (found.mean, round(found.half, 3)) == (2.0, 2.484)
    assert math.isnan(Interval.of([5.0]).half)
    assert Interval.of([5.0]).text("ms") == "5 ms"


def test_the_quickest_is_chosen_of_those_that_keep_up() -> None:
    behind = Choice("quick", 1, measured(1.0, acked_per_s=Interval(50.0, 1.0)))
    full = Choice("full", 1, measured(2.0, utilisation=0.95))
    good = Choice("good", 2, measured(5.0))
    assert best_of([behind, full, good]).policy == "good"
    assert best_of([behind, full]).policy == "full"
    assert best_of([behind]).policy == "quick"


def test_of_those_that_cannot_be_told_apart_the_smallest_is_chosen() -> None:
    wide = Choice("wide", 4, measured(5.0, half=0.5, nodes=4))
    narrow = Choice("narrow", 1, measured(5.4, half=0.5, nodes=1))
    slow = Choice("slow", 1, measured(9.0, half=0.5, nodes=1))
    assert best_of([wide, narrow, slow]) is narrow


def advice() -> Advice:
    choice = Choice("default", 1, measured(5.0))
    return Advice(
        topology="wc",
        load_per_s=100.0,
        choices=(choice,),
        nodes=1,
        nodes_twice=None,
        machines=4,
        capacity_per_s=Interval(150.0, 1.0),
        saturates="the thread of an executor of count",
        curve=((1.0, measured(20.0)),),
        losses=(NodeLoss("n1", 40.0, 30.0, 6.0, True), NodeLoss("n2", 9.0, 360.0, math.nan, False)),
        sensitivity=(Sensitivity("costs of messages", 2.0, 140.0, 1),),
        assumed=("count: cost of a call 100 us (a default; give cost_us)",),
        seeds=(1, 2, 3),
    )


def test_the_page_answers_every_question() -> None:
    page = advice().text()
    for said in (
        "Take the policy default with 1 worker",
        "fits on 1 node, twice the load on more machines than there are",
        "First to saturate: the thread of an executor of count, at 150 ± 1 lines/s",
        "Loss of n1: 40 lines fail, 30 s without full service; latency then 6 ms.",
        "Loss of n2: 9 lines fail, 360 s without full service; it does not keep up then.",
        "95 % over 3 seeds",
        "None of these changes the number of nodes",
        "count: cost of a call 100 us",
    ):
        assert said in page


def test_it_says_when_the_answer_depends_on_an_assumption() -> None:
    more = replace(advice(), sensitivity=(Sensitivity("the assumed costs of count", 2.0, 140.0, 3),))
    assert more.depends == ("with the assumed costs of count times 2, 3 nodes would be needed",)
    less = replace(advice(), sensitivity=(Sensitivity("the assumed costs of count", 2.0, 75.0, 1),))
    assert "75 instead of 150 lines/s" in less.depends[0]
    assert "The answer depends on an assumption: with the assumed costs" in less.text()


def test_the_document_is_json_without_nan() -> None:
    text = json.dumps(advice().document(), allow_nan=False)
    assert json.loads(text)["advice"] == {"policy": "default", "workers": 1}
    assert json.loads(text)["losses"][1]["latency_after_ms"] is None
