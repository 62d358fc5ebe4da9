"""Verdicts: what each of the five means and when it is given."""

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from storm_lab.errors import UserError
from storm_lab.experiments.claim import Claim, Kind, Target, number
from storm_lab.experiments.ledger import load_claims, parse_chain
from storm_lab.experiments.measurement import (
    Basis,
    Measured,
    Measurement,
    over_seeds,
)
from storm_lab.reporting.verdict import Outcome, Verdict, judge, measured_text


def claim_of(*targets: Target, order: tuple[str, ...] = (), unit: str = "%", **changes: object) -> Claim:
    claim = Claim(
        id="c",
        paper="Paper",
        figure="Fig. 1",
        experiment="e",
        topology="t",
        metric="m",
        unit=unit,
        kind=Kind.ORDERING if order else Kind.RATIO,
        targets=targets,
        order=tuple(parse_chain(chain) for chain in order),
        baseline="",
        statement="Says so.",
        note="",
        arithmetic=False,
        untestable="",
    )
    return replace(claim, **changes)


def measured(
    *values: Measured, unit: str = "%", reading: str = "", basis: Basis | None = None
) -> Measurement:
    return Measurement("c", values, unit, "metric", reading, basis)


GAIN = claim_of(Target("", "%", 35, 30, 40, neutral=0))
LEVEL = claim_of(Target("", "%", 35, 30, 40))
NODES = claim_of(Target("", "%", 7, 7, 7, neutral=10))
EQUAL = claim_of(Target("", "%", 0, -5, 5, neutral=0))


@pytest.mark.parametrize(
    ("claim", "value", "outcome"),
    [
        (GAIN, Measured(30), Outcome.REPRODUCED),
        (GAIN, Measured(40), Outcome.REPRODUCED),
        (GAIN, Measured(40.1), Outcome.DIRECTION),
        # The value as shown decides: no report may say that 30 is outside a band that starts at 30.
        (GAIN, Measured(29.9996, 29.9, 30.1), Outcome.REPRODUCED),
        (GAIN, Measured(29.99, 29.9, 30.1), Outcome.DIRECTION),
        (GAIN, Measured(3), Outcome.DIRECTION),
        (GAIN, Measured(0), Outcome.NOT_REPRODUCED),
        (GAIN, Measured(-35), Outcome.NOT_REPRODUCED),
        (GAIN, Measured(None), Outcome.NOT_REPRODUCED),
        # The mean counts for the band, but the seeds must agree on the direction.
        (GAIN, Measured(35, 20, 50), Outcome.REPRODUCED),
        (GAIN, Measured(35, -1, 71), Outcome.NOT_REPRODUCED),
        (GAIN, Measured(20, 1, 39), Outcome.DIRECTION),
        (GAIN, Measured(20, -1, 41), Outcome.NOT_REPRODUCED),
        # Without "no effect" there is no direction.
        (LEVEL, Measured(41), Outcome.NOT_REPRODUCED),
        (EQUAL, Measured(5), Outcome.REPRODUCED),
        (EQUAL, Measured(6), Outcome.NOT_REPRODUCED),
        # An exact value must come out with every seed.
        (NODES, Measured(7, 7, 7), Outcome.REPRODUCED),
        (NODES, Measured(7, 6, 8), Outcome.DIRECTION),
        (NODES, Measured(6), Outcome.DIRECTION),
        # 6.99996 prints as 7.
        (NODES, Measured(6.99996), Outcome.REPRODUCED),
        (NODES, Measured(6.99996, 6.99996, 6.99996), Outcome.REPRODUCED),
        (NODES, Measured(7, 6.99, 7.01), Outcome.DIRECTION),
        (NODES, Measured(10), Outcome.NOT_REPRODUCED),
    ],
)
def test_a_number_is_judged_by_band_and_direction(claim, value, outcome):
    assert judge(claim, measured(value)).outcome is outcome


def test_the_reason_names_the_side_of_no_effect_if_the_band_has_one():
    reasons = [
        judge(claim, measured(Measured(value))).reason for claim, value in ((GAIN, 3), (GAIN, -3), (LEVEL, 3))
    ]
    assert reasons == [
        "3 is outside the band, 30 to 40 %, but on the right side of 0 %",
        "-3 is outside the band, 30 to 40 %, and not on the right side of 0 %",
        "3 is outside the band, 30 to 40 %",
    ]


def test_an_interval_across_an_edge_of_the_band_leaves_the_verdict_unsettled_from_either_side():
    inside, outside = Measured(35, 20, 50, seeds=5), Measured(45, 39, 51, seeds=5)
    for value in (inside, outside):
        verdict = judge(GAIN, measured(value))
        assert (verdict.unsettled, "unsettled by 5 seeds" in verdict.reason) == (5, True)
    assert judge(GAIN, measured(Measured(35, 34, 36, seeds=5))).unsettled == 0
    assert judge(GAIN, measured(Measured(60, 55, 65, seeds=5))).unsettled == 0
    # An end that differs from the edge by the rounding of floats reaches across nothing.
    assert judge(GAIN, measured(Measured(35, 30 - 1e-11, 40 + 1e-11, seeds=5))).unsettled == 0


ORDER = claim_of(order=("a < b < c",))


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_an_order_names_the_value_that_is_missing(name: str):
    values = [Measured(None if label == name else ord(label), label=label) for label in "abc"]
    assert judge(ORDER, measured(*values)).reason == f"{name} does not occur in the runs"


@pytest.mark.parametrize(
    ("a", "b", "c", "outcome"),
    [
        (Measured(1), Measured(2), Measured(3), Outcome.REPRODUCED),
        (Measured(1), Measured(1), Measured(3), Outcome.NOT_REPRODUCED),
        (Measured(2), Measured(1), Measured(3), Outcome.NOT_REPRODUCED),
        (Measured(1), Measured(2), Measured(None), Outcome.NOT_REPRODUCED),
        (Measured(1, 0, 2), Measured(3, 2.5, 3.5), Measured(9), Outcome.REPRODUCED),
        (Measured(1, 0, 2), Measured(2, 1, 3), Measured(9), Outcome.DIRECTION),
    ],
)
def test_an_order_must_hold_and_the_seeds_must_separate_it(a, b, c, outcome):
    values = tuple(replace(value, label=label) for value, label in zip((a, b, c), "abc", strict=True))
    assert judge(ORDER, measured(*values)).outcome is outcome


def test_an_order_is_unsettled_while_the_intervals_of_a_pair_overlap_whichever_mean_is_higher():
    def order(a: Measured) -> Verdict:
        return judge(ORDER, measured(a, Measured(3, 2, 4, "b", seeds=5), Measured(9, 8, 10, "c", seeds=7)))

    right = order(Measured(2, 1, 3, "a", seeds=5))
    assert (right.outcome, right.unsettled) == (Outcome.DIRECTION, 5)
    assert right.reason == "right in the mean, but not separated: a < b; unsettled by 5 seeds"
    wrong = order(Measured(4, 3, 5, "a", seeds=5))
    assert (wrong.outcome, wrong.unsettled) == (Outcome.NOT_REPRODUCED, 5)
    assert wrong.reason == "in the mean a < b fails: 4 and 3; unsettled by 5 seeds"
    assert order(Measured(1, 0.5, 1.5, "a", seeds=5)).unsettled == 0
    surely_wrong = order(Measured(6, 5, 7, "a", seeds=5))
    assert (surely_wrong.unsettled, surely_wrong.reason) == (0, "a < b fails: 6 and 3")


def test_one_relation_that_surely_fails_settles_an_order():
    a, b, c = Measured(2, 1, 3, "a"), Measured(3, 2, 4, "b"), Measured(1, 0.5, 1.5, "c")
    assert judge(ORDER, measured(a, b, c)).unsettled == 0


@pytest.mark.parametrize(("apart", "unsettled"), [(1.0, 5), (1.2, 5), (1.6, 0)])
def test_about_is_unsettled_while_some_values_of_the_two_intervals_are_similar(apart, unsettled):
    a, b = Measured(1, 0.8, 1.2, "a", seeds=5), Measured(apart, apart - 0.1, apart + 0.1, "b", seeds=5)
    assert judge(claim_of(order=("a ~ b",)), measured(a, b)).unsettled == unsettled


@pytest.mark.parametrize(
    ("chain", "a", "b", "outcome"),
    [
        ("a <= b", 1, 1, Outcome.REPRODUCED),
        ("a <= b", 2, 1, Outcome.NOT_REPRODUCED),
        ("a << b", 1, 2.1, Outcome.REPRODUCED),
        ("a << b", 1, 2, Outcome.NOT_REPRODUCED),
        ("a ~ b", 90, 100, Outcome.REPRODUCED),
        ("a ~ b", 89, 100, Outcome.NOT_REPRODUCED),
        ("0 < a < b", 0, 1, Outcome.NOT_REPRODUCED),
        ("0 < a < b", 1, 2, Outcome.REPRODUCED),
    ],
)
def test_each_relation_is_judged_by_its_definition(chain, a, b, outcome):
    claim = claim_of(order=(chain,))
    assert judge(claim, measured(Measured(a, label="a"), Measured(b, label="b"))).outcome is outcome


def test_similar_values_must_be_similar_over_the_whole_intervals():
    claim = claim_of(order=("a ~ b",))
    wide = measured(Measured(100, 80, 120, "a"), Measured(100, 80, 120, "b"))
    assert judge(claim, wide).outcome is Outcome.DIRECTION


def test_a_claim_of_several_numbers_gets_the_worst_of_their_verdicts():
    claim = claim_of(Target("x", "%", 84, 79, 89, 0), Target("y", "%", 27, 22, 32, 0))
    both = judge(claim, measured(Measured(84, label="x"), Measured(27, label="y")))
    one = judge(claim, measured(Measured(84, label="x"), Measured(50, label="y")))
    none = judge(claim, measured(Measured(84, label="x"), Measured(-1, label="y")))
    assert [v.outcome for v in (both, one, none)] == [
        Outcome.REPRODUCED,
        Outcome.DIRECTION,
        Outcome.NOT_REPRODUCED,
    ]


def test_an_untestable_claim_stays_untestable_whatever_is_measured():
    claim = replace(GAIN, untestable="nobody can")
    verdict = judge(claim, measured(Measured(35)))
    assert (verdict.outcome, verdict.reason, verdict.measurement) == (
        Outcome.NOT_TESTABLE,
        "nobody can",
        None,
    )


def test_a_claim_without_a_measurement_is_not_run():
    assert judge(GAIN, None).outcome is Outcome.NOT_RUN


@pytest.mark.parametrize(
    ("ledger", "basis"),
    [
        ({}, Basis.PREDICTED),
        ({"arithmetic": True}, Basis.ARITHMETIC),
        ({"fitted": "a constant was chosen on it"}, Basis.FITTED),
    ],
)
def test_the_ledger_determines_a_claims_basis(ledger, basis):
    claim = replace(GAIN, **ledger)
    assert judge(claim, measured(Measured(35))).basis is basis
    assert judge(claim, None).basis is basis
    with pytest.raises(UserError, match="the ledger says"):
        measured(Measured(35), basis=Basis.FITTED)


def test_a_reading_that_was_chosen_on_the_claim_is_fitted():
    own, beside = measured(Measured(50)), measured(Measured(35), reading="six hosts")
    chosen = measured(Measured(35), reading="six hosts, chosen", basis=Basis.FITTED)
    verdict = judge(GAIN, own, [beside, chosen])
    assert verdict.basis is Basis.PREDICTED
    assert [each.basis for each in verdict.readings] == [Basis.PREDICTED, Basis.FITTED]


def test_another_unit_is_refused():
    with pytest.raises(UserError, match="another unit"):
        judge(GAIN, measured(Measured(35), unit="ms"))


def test_missing_and_foreign_labels_are_refused():
    with pytest.raises(UserError, match=r"give \['a', 'b', 'c'\]"):
        judge(ORDER, measured(Measured(1, label="a"), Measured(2, label="b")))
    with pytest.raises(UserError, match="labels"):
        judge(GAIN, measured(Measured(1, label="x")))


def test_the_measurement_of_another_claim_is_refused():
    with pytest.raises(UserError, match="does not belong to c"):
        judge(GAIN, Measurement("d", (Measured(35),), "%", "m"))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_measurement_that_is_not_finite_is_refused(value):
    with pytest.raises(UserError, match="finite"):
        Measured(value)


def test_an_interval_must_contain_its_value():
    with pytest.raises(UserError, match="contain"):
        Measured(5, 6, 7)
    with pytest.raises(UserError, match="two ends"):
        Measured(5, 4, None)


def test_the_interval_over_seeds_is_student_t():
    value = over_seeds([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.302653; s = 1; 4.302653 / sqrt(3)
    assert (value.value, value.high) == pytest.approx((2.0, 2.0 + 2.4841377), rel=1e-6)
    assert over_seeds([4.0]) == Measured(4.0, seeds=1)
    with pytest.raises(UserError, match="no sample"):
        over_seeds([])


def test_measured_values_are_shown_with_interval_and_unit():
    assert measured_text(judge(GAIN, measured(over_seeds([34, 35, 36])))) == ("35 [32.52, 37.48] %, 3 seeds")
    values = (over_seeds([value], label=label) for label, value in {"a": 1.0, "b": 2.0, "c": 3.0}.items())
    assert measured_text(judge(ORDER, measured(*values))) == (
        "a: 1 %, 1 seed; b: 2 %, 1 seed; c: 3 %, 1 seed"
    )


@pytest.mark.parametrize(("seeds", "told"), [(0, ""), (5, ""), (1, ", 1 seed"), (30, ", 30 seeds")])
def test_the_number_of_seeds_is_shown_unless_it_is_the_usual_one(seeds: int, told: str) -> None:
    assert measured_text(judge(GAIN, measured(Measured(35.0, seeds=seeds)))) == f"35 %{told}"


@pytest.mark.parametrize(
    ("seeds", "shown", "reason"),
    [
        (0, "none", "does not occur in the runs"),
        (3, "with 3 seeds only", "occurs with 3 of the seeds only"),
    ],
)
def test_a_quantity_that_does_not_exist_in_every_run_says_with_how_many_seeds_it_does(seeds, shown, reason):
    verdict = judge(GAIN, measured(Measured(None, seeds=seeds)))
    assert (measured_text(verdict), verdict.reason) == (shown, reason)


TESTABLE = [claim for claim in load_claims().claims if not claim.untestable]
finite = st.floats(-1e6, 1e6)


@given(st.sampled_from(TESTABLE), st.data())
def test_reproduced_always_means_inside_the_band_or_in_order(claim, data):
    values = tuple(Measured(data.draw(finite, label=label), label=label) for label in claim.labels)
    verdict = judge(claim, Measurement(claim.id, values, claim.unit, "m"))
    # A value counts as the report prints it.
    shown = [float(number(value.value)) for value in values]
    inside = all(
        target.holds(value) for target, value in zip(claim.targets, shown, strict=bool(claim.targets))
    )
    if claim.targets:
        assert (verdict.outcome is Outcome.REPRODUCED) == inside
    else:
        assert verdict.outcome in (Outcome.REPRODUCED, Outcome.NOT_REPRODUCED)


@given(st.sampled_from(TESTABLE), st.data())
def test_less_certainty_never_improves_a_verdict(claim, data):
    rank = {outcome: place for place, outcome in enumerate(Outcome)}
    exact, blurred = [], []
    for label in claim.labels:
        value, spread = data.draw(finite), data.draw(st.floats(0, 1e3))
        exact.append(Measured(value, label=label))
        blurred.append(Measured(value, value - spread, value + spread, label))
    sharp = judge(claim, Measurement(claim.id, tuple(exact), claim.unit, "m"))
    vague = judge(claim, Measurement(claim.id, tuple(blurred), claim.unit, "m"))
    assert rank[vague.outcome] >= rank[sharp.outcome]


@given(st.floats(-100, 100), st.floats(-100, 100), st.floats(-100, 100), finite)
def test_direction_only_is_never_on_the_wrong_side(expected, half, neutral, value):
    half = abs(half)
    assume(abs(neutral - expected) > half)
    claim = claim_of(Target("", "%", expected, expected - half, expected + half, neutral))
    if judge(claim, measured(Measured(value))).outcome is Outcome.DIRECTION:
        assert (value - neutral) * (expected - neutral) > 0


def test_the_claims_own_values_reproduce_the_claims():
    for claim in TESTABLE:
        if claim.targets and all(target.expected is not None for target in claim.targets):
            values = tuple(Measured(target.expected, label=target.label) for target in claim.targets)
            assert judge(claim, Measurement(claim.id, values, claim.unit, "m")).outcome is Outcome.REPRODUCED
