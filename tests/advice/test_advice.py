"""What follows from what was measured: the choice, the page and the document."""

import json
import math
from dataclasses import replace

from storm_lab.advice.advice import Advice, Choice, Fit, Interval, Measured, NodeLoss, Sensitivity, best_of


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
        "measured_s": 150.0,
        "has_room": True,
    }
    return Measured(**(known | facts))  # type: ignore[arg-type]


def test_an_interval_is_students() -> None:
    found = Interval.of([1.0, 2.0, 3.0])
    assert (found.mean, round(found.half, 3)) == (2.0, 2.484)
    assert math.isnan(Interval.of([5.0]).half)
    assert Interval.of([5.0]).text("ms") == "5 ms"


def test_the_quickest_is_chosen_of_those_that_keep_up() -> None:
    behind = Choice("quick", 1, measured(1.0, acked_per_s=Interval(50.0, 1.0)))
    full = Choice("full", 1, measured(2.0, has_room=False))
    good = Choice("good", 2, measured(5.0))
    assert best_of([behind, full, good]).policy == "good"
    assert best_of([behind, full]).policy == "full"
    assert best_of([behind]).policy == "quick"


def test_of_those_that_cannot_be_told_apart_the_smallest_is_chosen() -> None:
    wide = Choice("wide", 4, measured(5.0, half=0.5, nodes=4))
    narrow = Choice("narrow", 1, measured(5.4, half=0.5, nodes=1))
    slow = Choice("slow", 1, measured(9.0, half=0.5, nodes=1))
    assert best_of([wide, narrow, slow]) is narrow


def test_less_than_a_step_of_storms_clocks_is_no_difference() -> None:
    quick = Choice("quick", 4, measured(9.6, half=0.03))
    small = Choice("small", 1, measured(10.0, half=0.03))
    far = Choice("far", 1, measured(11.0, half=0.03, nodes=1))
    assert best_of([quick, small, far]) is small


def test_a_step_of_the_clocks_and_a_wide_interval_do_not_add_up() -> None:
    # From 4.9 to 5.1 and from 5.9 to 7.1 ms: 1.5 ms apart, and the intervals do not touch.
    quick = Choice("quick", 4, measured(5.0, half=0.1, nodes=4))
    slow = Choice("slow", 2, measured(6.5, half=0.6, nodes=2))
    assert best_of([quick, slow]) is quick


def test_a_policy_that_does_not_settle_with_each_seed_is_not_advised() -> None:
    restless = Choice("restless", 1, measured(5.0, half=math.nan, unsettled=2))
    calm = Choice("calm", 1, measured(20.0))
    assert best_of([restless, calm]) is calm
    behind = Choice("behind", 1, measured(50.0, acked_per_s=Interval(90.0, 1.0)))
    assert best_of([restless, behind]) is behind
    page = replace(advice(), choices=(restless, calm)).text()
    assert "30 % the cores of n1, does not settle with 2 seeds" in page


def test_a_latency_that_was_not_measured_is_not_the_quickest() -> None:
    unknown = Choice("unknown", 1, measured(math.nan, half=math.nan))
    known = Choice("known", 2, measured(5.0))
    assert best_of([unknown, known]) is known
    assert best_of([known, unknown]) is known
    small = Choice("small", 1, measured(math.nan, half=math.nan))
    large = Choice("large", 2, measured(math.nan, half=math.nan))
    assert best_of([large, small]) is small


def test_a_record_that_falls_outside_the_measured_time_is_not_missing() -> None:
    # 0.125 records/s are 18.75 in 150 s, so that 18 or 19 of them are counted.
    slow = measured(5.0, offered_per_s=0.125, acked_per_s=Interval(18 / 150, 0.0))
    assert slow.keeps_up
    assert not replace(slow, acked_per_s=Interval(17 / 150, 0.0)).keeps_up


def advice() -> Advice:
    choice = Choice("default", 1, measured(5.0))
    return Advice(
        topology="wc",
        load_per_s=100.0,
        choices=(choice,),
        fit=Fit(1, "an executor of count", 0.6),
        fit_twice=Fit(None, "an executor of count", 1.0),
        machines=4,
        capacity_per_s=Interval(150.0, 1.0),
        saturates="an executor of count",
        saturated=0.99,
        curve=((1.0, measured(20.0)),),
        losses=(NodeLoss("n1", 40.0, 30.0, 6.0, True), NodeLoss("n2", 9.0, 360.0, math.nan, False)),
        sensitivity=(Sensitivity("costs of messages", 2.0, 140.0, 1),),
        assumed=("count: cost of a call 100 us (a default; give cost_us)",),
        seeds=(1, 2, 3),
    )


def test_the_page_answers_every_question() -> None:
    page = advice().text()
    for said in (
        "Take the policy default and 1 worker:",
        "The load fits on 1 node, where an executor of count is busy 60 % of the time.",
        "Twice the load does not fit on all 4 machines: with 25 % more, the headroom that bursts need,",
        "need, an executor of count is busy 100 % of the time",
        "more executors help",
        "First to saturate: an executor of count, at 150 ± 1 records/s",
        "Loss of n1: 40 records fail, 30 s without full service; latency then 6 ms.",
        "Loss of n2: 9 records fail, 360 s without full service; it does not keep up then.",
        "95 % over 3 seeds",
        "None of these changes the number of nodes",
        "count: cost of a call 100 us",
    ):
        assert said in page


def test_it_says_when_the_answer_depends_on_an_assumption() -> None:
    more = replace(advice(), sensitivity=(Sensitivity("the assumed costs of count", 2.0, 140.0, 3),))
    assert more.depends == ("with the assumed costs of count times 2, 3 nodes would be needed",)
    less = replace(advice(), sensitivity=(Sensitivity("the assumed costs of count", 2.0, 75.0, 1),))
    assert "75 instead of 150 records/s" in less.depends[0]
    assert "The answer depends on an assumption: with the assumed costs" in less.text()


def test_a_rate_that_was_not_given_is_an_assumption_that_counts() -> None:
    guessed = replace(advice(), assumed_rates=("clicks",))
    assert "the rate of clicks was not given" in guessed.depends[0]


def test_it_says_when_nothing_is_saturated_at_the_limit() -> None:
    waiting = replace(advice(), saturated=0.4)
    assert "nothing is saturated: an executor of count is busy 40 %" in waiting.text()
    assert "First to saturate" not in waiting.text()


def test_cores_ask_for_machines_and_no_place_at_all_is_said() -> None:
    full = replace(advice(), fit=Fit(None, "the cores of n1", 0.97))
    assert "the cores of n1 are busy 97 % of the time" in full.text()
    assert "more or faster machines help" in full.text()
    held = replace(advice(), fit=Fit(None, "the cores of n1", 0.3))
    assert "pending limits, links or timeouts hold it back" in held.text()
    nowhere = replace(advice(), fit=Fit(None, "", 0.0))
    assert "the policy finds no place for it" in nowhere.text()


def test_the_document_is_json_without_nan() -> None:
    text = json.dumps(advice().document(), allow_nan=False)
    assert json.loads(text)["advice"] == {"policy": "default", "workers": 1}
    assert json.loads(text)["losses"][1]["latency_after_ms"] is None
