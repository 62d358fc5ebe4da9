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
    if claim.order:
        outcome, reason, unsettled = _judge_order(claim.order, measurement)
    else:
        parts = [
            (target, *_judge_number(target, measurement.value(target.label))) for target in claim.targets
        ]
        outcome = max((part[1] for part in parts), key=_RANK.__getitem__)
        reason = "; ".join(f"{target.label}: {why}" if target.label else why for target, _, why in parts)
        unsettled = _unsettled(claim, measurement)
    beside = tuple(judge(claim, reading) for reading in readings)
    if unsettled:
        reason += f"; unsettled by {unsettled} seeds"
    return Verdict(claim, outcome, reason, measurement, basis, unsettled, beside)


def _unsettled(claim: Claim, measurement: Measurement) -> int:
    """Number of seeds of a mean whose interval reaches across an edge of its band; 0 if there is none.

    An exact band is judged by every seed, so its verdict is always settled.
    """
    seeds = 0
    for target in claim.targets:
        measured = measurement.value(target.label)
        low, high = measured.low, measured.high
        if target.exact or low is None or high is None:
            continue
        for edge in (target.low, target.high):
            if edge is not None and low < edge < high and not any(math.isclose(edge, x) for x in (low, high)):
                seeds = max(seeds, measured.seeds)
    return seeds


_RANK = {outcome: rank for rank, outcome in enumerate(Outcome)}


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


def _judge_number(target: Target, measured: Measured) -> tuple[Outcome, str]:
    value, bottom, top = measured.value, measured.bottom, measured.top
    if value is None or bottom is None or top is None:
        return Outcome.NOT_REPRODUCED, _missing(measured)
    text = _value_text(measured)
    directed = target.side != 0
    right_side = _beyond(bottom, top, target)
    inside, bottom_inside, top_inside = (target.holds(float(number(x))) for x in (value, bottom, top))
    if inside and ((bottom_inside and top_inside) or not target.exact) and (right_side or not directed):
        return Outcome.REPRODUCED, f"{text} is in the band, {target.band_text}"
    if right_side:
        return (
            Outcome.DIRECTION,
            f"{text} is outside the band, {target.band_text}, but on the right side of {_neutral(target)}",
        )
    if inside:
        return (
            Outcome.NOT_REPRODUCED,
            f"{text} is in the band, {target.band_text}, in the mean only: the seeds do not decide it",
        )
    return Outcome.NOT_REPRODUCED, f"{text} is outside the band, {target.band_text}" + (
        f", and not on the right side of {_neutral(target)}" if directed else ""
    )


def _beyond(bottom: float, top: float, target: Target) -> bool:
    """Return whether the whole interval is on the band's side of the neutral value."""
    if target.neutral is None or target.side == 0:
        return False
    return bottom > target.neutral if target.side > 0 else top < target.neutral


def _neutral(target: Target) -> str:
    return with_unit(number(target.neutral or 0.0), target.unit)


def _judge_order(chains: tuple[Chain, ...], measurement: Measurement) -> tuple[Outcome, str, int]:
    """Return verdict, reason, and the number of seeds that leave some pair undecided; 0 if none does."""
    fails: list[str] = []
    loose: list[str] = []
    seeds = 0
    for chain in chains:
        for left, relation, right in zip(chain.names, chain.relations, chain.names[1:], strict=False):
            a, b = _named(left, measurement), _named(right, measurement)
            if a.value is None or b.value is None:
                name, missing = (left, a) if a.value is None else (right, b)
                return Outcome.NOT_REPRODUCED, f"{name} {_missing(missing)}", 0
            pair = f"{left} {relation.value} {right}"
            failure = f"{pair} fails: {number(a.value)} and {number(b.value)}"
            if not _possible(a, relation, b):
                return Outcome.NOT_REPRODUCED, failure, 0
            if not _related(a.value, relation, b.value):
                fails.append(failure)
            elif not _settled(a, relation, b):
                loose.append(pair)
            else:
                continue
            seeds = max(seeds, a.seeds, b.seeds)
    if fails:
        return Outcome.NOT_REPRODUCED, f"in the mean {'; '.join(fails)}", seeds
    if loose:
        return Outcome.DIRECTION, f"right in the mean, but not separated: {', '.join(loose)}", seeds
    return Outcome.REPRODUCED, "the order holds", 0


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


def _settled(a: Measured, relation: Relation, b: Measured) -> bool:
    """Return whether the relation holds for every pair of values inside the two intervals."""
    if a.top is None or b.bottom is None or a.bottom is None or b.top is None:
        return False
    if relation is Relation.ABOUT:
        return _related(a.top, relation, b.bottom) and _related(a.bottom, relation, b.top)
    return _related(a.top, relation, b.bottom)


def _possible(a: Measured, relation: Relation, b: Measured) -> bool:
    """Return whether the relation holds for some pair of values inside the two intervals."""
    if a.bottom is None or a.top is None or b.bottom is None or b.top is None:
        return False
    if relation is not Relation.ABOUT:
        return _related(a.bottom, relation, b.top)
    if a.bottom <= b.top and b.bottom <= a.top:
        return True
    low, high = (a.top, b.bottom) if a.top < b.bottom else (b.top, a.bottom)
    return _related(low, relation, high)


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
            text = with_unit(text, unit) + _seeds_text(value.seeds)
        parts.append(f"{label}: {text}" if label else text)
    return "; ".join(parts)


def _seeds_text(seeds: int) -> str:
    return "" if seeds in (0, USUAL_SEEDS) else f", {seeds} seed{'s' * (seeds > 1)}"


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
