"""Measurements of claims: values with their interval over seeds, unit, metric and basis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from storm_lab.errors import UserError
from storm_lab.model.checks import check_distinct

CONFIDENCE = 0.95
"""Level of the interval over seeds."""


class Basis(StrEnum):
    """How strong a verdict is as evidence.

    ``FITTED``: the claim was used to choose a constant. ``PREDICTED``: it was not. ``ARITHMETIC``: the value
    follows from printed settings alone, so that no emulation was needed.
    """

    FITTED = "fitted"
    PREDICTED = "predicted"
    ARITHMETIC = "arithmetic"


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured value: the mean over seeds and, with two seeds or more, its confidence interval.

    ``value`` is None if the quantity does not exist in every run (a spike that never came); such a claim is
    not reproduced, and never skipped. ``seeds`` is the number of seeds in the mean or, without a value, that
    of seeds with which the quantity does exist; 0 if the value does not depend on seeds.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    label: str = ""
    seeds: int = 0

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            given = getattr(self, name)
            if given is not None and not math.isfinite(given):
                message = "a measurement must be finite"
                remedy = "give None for a quantity that does not exist in the runs"
                raise UserError(message, field=self.label or name, value=given, remedy=remedy)
        field = self.label or "interval"
        if (self.low is None) != (self.high is None):
            raise UserError("an interval has two ends", field=field, value=(self.low, self.high))
        if self.low is not None and self.high is not None:
            slack = 1e-9 * max(1.0, abs(self.low), abs(self.high))
            if self.value is None or not self.low - slack <= self.value <= self.high + slack:
                value = (self.low, self.value, self.high)
                raise UserError("the interval must contain the value", field=field, value=value)

    @property
    def bottom(self) -> float:
        """Lower end of the interval, or the value itself if there is no interval; only with a value."""
        end = self.value if self.low is None else self.low
        assert end is not None
        return end

    @property
    def top(self) -> float:
        """Upper end of the interval, or the value itself if there is no interval; only with a value."""
        end = self.value if self.high is None else self.high
        assert end is not None
        return end


@dataclass(frozen=True, slots=True)
class Measurement:
    """All values that answer one claim, one for each of its labels in any order, in its unit.

    ``how`` names the metric and its window, so that a reader can compute the values again. ``reading`` names
    another reading of what the paper leaves open, or a trial with one input changed ("six machines, as
    recorded"), whose verdict is reported beside the claim's own; it is empty for the experiment's own
    setting. ``basis`` is that of another reading if it differs from the claim's, which the ledger defines.
    """

    claim_id: str
    values: tuple[Measured, ...]
    unit: str
    how: str
    reading: str = ""
    basis: Basis | None = None

    def __post_init__(self) -> None:
        if self.basis is not None and not self.reading:
            message = "the ledger says what a claim's basis is"
            remedy = "give a basis with another reading only"
            raise UserError(message, field=self.claim_id, value=self.basis.value, remedy=remedy)
        labels = [value.label for value in self.values]
        if not labels:
            raise UserError("a measurement needs at least one value", field=self.claim_id)
        check_distinct(self.claim_id, "label", labels)

    def value(self, label: str = "") -> Measured:
        """Return the value with this label; `KeyError` if there is none."""
        return {value.label: value for value in self.values}[label]


def over_seeds(samples: Sequence[float], *, label: str = "") -> Measured:
    """Mean and 95 % interval (Student's t) of one value per seed; a single seed has no interval.

    Raises `UserError` for no sample, or one that is not finite.
    """
    if not samples:
        raise UserError("no sample to average", field=label or "samples", remedy="run at least one seed")
    if not all(math.isfinite(sample) for sample in samples):
        raise UserError("a sample is not finite", field=label or "samples", value=list(samples))
    mean = math.fsum(samples) / len(samples)
    if len(samples) == 1:
        return Measured(mean, label=label, seeds=1)
    half = half_width(samples)
    return Measured(mean, mean - half, mean + half, label, len(samples))


def half_width(samples: Sequence[float]) -> float:
    """Half of the 95 % interval (Student's t) of the mean of two or more finite samples."""
    mean = math.fsum(samples) / len(samples)
    variance = math.fsum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1)
    return students_factor(len(samples) - 1) * math.sqrt(variance / len(samples))


def students_factor(degrees: float) -> float:
    """Half-width of a 95 % interval of a mean in standard errors, by degrees of freedom."""
    # Imported here: every process that plays a run imports this module, and scipy takes as long as all else.
    from scipy import special

    return float(special.stdtrit(degrees, 0.5 + CONFIDENCE / 2))
