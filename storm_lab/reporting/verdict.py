"""From a measurement to a verdict. This module is the only place for the rules, and they are never softened.

Numbers (ratios, absolute values, counts, times, and words turned into numbers)
    *reproduced*: the value, rounded as the report prints it, is inside the band, ends included: 199.99996
    prints as 200 and is inside a band from 200 on. If several seeds give an interval, two more conditions
    apply. An exact band (a count) needs the whole interval inside, rounded likewise, that is, every seed
    agrees. A claim with a direction needs the whole interval on its side of "no effect".
    *direction only*: not reproduced, but the whole interval is on the band's side of the target's neutral
    value (0 % change, a quotient of 1, the baseline's node count). A target without a neutral value, or
    whose band contains it, has no direction.
    *not reproduced*: anything else, and any quantity that does not exist in the runs.

Orders
    Each chain is checked between neighbours; along ``<`` and ``<=`` that settles the whole chain.
    *reproduced*: every relation holds for the values and for the intervals (those of ``a < b`` do not
    overlap). *direction only*: every relation holds for the values, but the seeds do not separate some pair.
    *not reproduced*: a relation fails for the values.

Several numbers in one claim
    The claim's verdict is the worst of its numbers.

*not testable* comes from the ledger, with its reason. *not run* means that there is no measurement.

An interval that reaches across an edge of the band, from either side, leaves the verdict *unsettled*: the
mean decides, and the row says over how many seeds. The same applies to an order if the seeds do not separate
some pair, whether the order of the means is right or wrong, unless a relation fails for the intervals, too.
Measurements under another reading are judged by the same rules; their verdicts are reported beside the
claim's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from storm_lab.errors import UserError
from storm_lab.experiments.claim import SIMILAR, Chain, Claim, Relation, Target, literal, number, with_unit
from storm_lab.experiments.measurement import Basis, Measured, Measurement

USUAL_SEEDS = 5
"""Number of seeds of a mean for which no number of seeds is stated."""


class Outcome(StrEnum):
    """The five verdicts, best first."""

    REPRODUCED = "reproduced"
    DIRECTION = "direction only"
    NOT_REPRODUCED = "not reproduced"
    NOT_TESTABLE = "not testable"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, its measurement (None: nothing measured), and the outcome with the reason in one line.

    ``unsettled`` is the number of seeds of the mean if they leave the verdict unsettled, and otherwise 0.
    ``readings`` are the verdicts under other readings and trials.
    """

    claim: Claim
    outcome: Outcome
    reason: str
    measurement: Measurement | None
    basis: Basis
    unsettled: int = 0
    readings: tuple[Verdict, ...] = ()

    @property
    def reading(self) -> str:
        """The reading or trial that was measured; empty for the experiment's own setting."""
        return "" if self.measurement is None else self.measurement.reading


def judge(claim: Claim, measurement: Measurement | None, readings: Sequence[Measurement] = ()) -> Verdict:
    """Judge a claim; the verdict depends only on the arguments.

    ``measurement`` is that of the experiment's own setting, None if nothing was measured. ``readings`` are
    those of other readings and trials. Raises `UserError` if one belongs to another claim, has another unit,
    or does not have the labels of the claim.
    """
    basis = _basis(claim, measurement)
    if claim.untestable:
        return Verdict(claim, Outcome.NOT_TESTABLE, claim.untestable, None, basis)
    if measurement is None:
        return Verdict(claim, Outcome.NOT_RUN, "no measurement", None, basis)
    _check_fit(claim, measurement)
    judged = _judge_order(claim.order, measurement) if claim.order else _judge_numbers(claim, measurement)
    outcome, reason, unsettled = judged
    reason += f"; unsettled by {unsettled} seeds" if unsettled else ""
    beside = tuple(judge(claim, reading) for reading in readings)
    return Verdict(claim, outcome, reason, measurement, basis, unsettled, beside)


class _Finding(NamedTuple):
    """A verdict's outcome and reason; ``unsettled`` is as in `Verdict`."""

    outcome: Outcome
    reason: str
    unsettled: int = 0


def _judge_numbers(claim: Claim, measurement: Measurement) -> _Finding:
    """Give the worst outcome of a claim's numbers, with the reasons of all."""
    findings = {each.label: _judge_number(each, measurement.value(each.label)) for each in claim.targets}
    return _Finding(
        max((each.outcome for each in findings.values()), key=list(Outcome).index),
        "; ".join(f"{label}: {each.reason}" if label else each.reason for label, each in findings.items()),
        max(each.unsettled for each in findings.values()),
    )


def _basis(claim: Claim, measurement: Measurement | None) -> Basis:
    """The basis in the ledger, unless another reading states its own."""
    if measurement is not None and measurement.basis is not None:
        return measurement.basis
    if claim.fitted:
        return Basis.FITTED
    return Basis.ARITHMETIC if claim.arithmetic else Basis.PREDICTED


def _check_fit(claim: Claim, measurement: Measurement) -> None:
    if measurement.claim_id != claim.id:
        message = f"a measurement of {measurement.claim_id} does not belong to {claim.id}"
        raise UserError(message, field=measurement.claim_id)
    if measurement.unit != claim.unit:
        message = "the measurement has another unit than the claim"
        raise UserError(message, field=claim.id, value=measurement.unit, remedy=f"measure in {claim.unit!r}")
    given = {value.label for value in measurement.values}
    wanted = set(claim.labels)
    if given != wanted:
        message = "the labels of the values are not those of the claim"
        raise UserError(message, field=claim.id, value=sorted(given), remedy=f"give {sorted(wanted)}")


def _judge_number(target: Target, measured: Measured) -> _Finding:
    if measured.value is None:
        return _Finding(Outcome.NOT_REPRODUCED, _missing(measured))
    bottom, top = measured.bottom, measured.top
    seeds = measured.seeds if _reaches_across(bottom, top, target) else 0
    text = _value_text(measured)
    directed = target.side != 0
    neutral = target.neutral or 0.0
    # The whole interval is on the band's side of the neutral value.
    right_side = directed and (bottom > neutral if target.side > 0 else top < neutral)
    right_of = f"on the right side of {with_unit(number(neutral), target.unit)}"
    inside, bottom_inside, top_inside = (
        target.holds(float(number(each))) for each in (measured.value, bottom, top)
    )
    if inside and ((bottom_inside and top_inside) or not target.exact) and (right_side or not directed):
        return _Finding(Outcome.REPRODUCED, f"{text} is in the band, {target.band_text}", seeds)
    if inside and not right_side:
        why = f"{text} is in the band, {target.band_text}, in the mean only: the seeds do not decide it"
        return _Finding(Outcome.NOT_REPRODUCED, why, seeds)
    why = f"{text} is outside the band, {target.band_text}"
    if right_side:
        return _Finding(Outcome.DIRECTION, f"{why}, but {right_of}", seeds)
    if directed:
        why += f", and not {right_of}"
    return _Finding(Outcome.NOT_REPRODUCED, why, seeds)


def _reaches_across(bottom: float, top: float, target: Target) -> bool:
    """Return whether the interval reaches across an edge of a band that is not judged by every seed."""
    return not target.exact and any(
        bottom < edge < top and not any(math.isclose(edge, end) for end in (bottom, top))
        for edge in (target.low, target.high)
        if edge is not None
    )


def _judge_order(chains: tuple[Chain, ...], measurement: Measurement) -> _Finding:
    undecided: list[str] = []
    failures: list[str] = []
    seeds = 0
    for chain in chains:
        for left, relation, right in zip(chain.names, chain.relations, chain.names[1:], strict=False):
            a, b = _named(left, measurement), _named(right, measurement)
            if a.value is None or b.value is None:
                name, missing = (left, a) if a.value is None else (right, b)
                return _Finding(Outcome.NOT_REPRODUCED, f"{name} {_missing(missing)}")
            pair = f"{left} {relation.value} {right}"
            failure = f"{pair} fails: {number(a.value)} and {number(b.value)}"
            if not _is_possible(a, relation, b):
                return _Finding(Outcome.NOT_REPRODUCED, failure)
            holds = _related(a.value, relation, b.value)
            if not (holds and _is_certain(a, relation, b)):
                undecided.append(pair)
                failures += [] if holds else [failure]
                seeds = max(seeds, a.seeds, b.seeds)
    if failures:
        return _Finding(Outcome.NOT_REPRODUCED, f"in the mean {'; '.join(failures)}", seeds)
    if undecided:
        why = f"right in the mean, but not separated: {', '.join(undecided)}"
        return _Finding(Outcome.DIRECTION, why, seeds)
    return _Finding(Outcome.REPRODUCED, "the order holds")


def _is_certain(a: Measured, relation: Relation, b: Measured) -> bool:
    """Return whether the relation holds for every pair of values inside the two intervals."""
    return _related(a.top, relation, b.bottom) and _related(a.bottom, relation, b.top)


def _is_possible(a: Measured, relation: Relation, b: Measured) -> bool:
    """Return whether the relation holds for some pair of values inside the two intervals."""
    if relation is Relation.ABOUT and a.bottom <= b.top and b.bottom <= a.top:
        return True
    return _related(a.bottom, relation, b.top) or _related(a.top, relation, b.bottom)


def _missing(measured: Measured) -> str:
    """Text for a quantity without a value."""
    if measured.seeds:
        return f"occurs with {measured.seeds} of the seeds only"
    return "does not occur in the runs"


def _named(name: str, measurement: Measurement) -> Measured:
    constant = literal(name)
    return measurement.value(name) if constant is None else Measured(constant, label=name)


def _related(a: float, relation: Relation, b: float) -> bool:
    match relation:
        case Relation.BELOW:
            return a < b
        case Relation.AT_MOST:
            return a <= b
        case Relation.FAR_BELOW:
            return 2 * a < b
        case Relation.ABOUT:
            return abs(a - b) <= SIMILAR * max(abs(a), abs(b))


def measured_text(verdict: Verdict) -> str:
    """The measured values with interval and unit, as text; empty if nothing was measured.

    The number of seeds is given unless it is `USUAL_SEEDS`: unsettled claims are measured over more.
    """
    if verdict.measurement is None:
        return ""
    parts = []
    for label in verdict.claim.labels:
        unit = verdict.claim.target(label).unit if verdict.claim.targets else verdict.claim.unit
        value = verdict.measurement.value(label)
        text = _value_text(value)
        if value.value is not None:
            seeds = (
                "" if value.seeds in (0, USUAL_SEEDS) else f", {value.seeds} seed{'s' * (value.seeds > 1)}"
            )
            text = with_unit(text, unit) + seeds
        parts.append(f"{label}: {text}" if label else text)
    return "; ".join(parts)


def reading_text(verdict: Verdict) -> str:
    """The result under another reading in words; "fitted" if it was chosen with the claim in view."""
    fitted = ", fitted" if verdict.basis is Basis.FITTED else ""
    return f"with {verdict.reading}: {measured_text(verdict)} ({verdict.outcome.value}{fitted})"


def _value_text(measured: Measured) -> str:
    if measured.value is None:
        return f"with {measured.seeds} seeds only" if measured.seeds else "none"
    if measured.low is None or measured.high is None or measured.low == measured.high:
        return number(measured.value)
    return f"{number(measured.value)} [{number(measured.low)}, {number(measured.high)}]"
