"""Claims: each printed result of a paper as data, with the band inside which it counts as reproduced.

A claim states numbers (`Target`, one for each number in the sentence or table row) or an order (`Chain`).
Words such as "similar" or "drops sharply" are also turned into a number with a threshold, so that every
verdict comes from a measured quantity. Such thresholds are chosen by this project and stated in the ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kind of statement that a claim makes."""

    RATIO = "ratio"
    ABSOLUTE = "absolute"
    COUNT = "count"
    ORDERING = "ordering"
    QUALITATIVE = "qualitative"
    TIMING = "timing"


class Relation(StrEnum):
    """Relation of two neighbours in an order.

    ``ABOUT`` means within `SIMILAR` of the larger one; ``FAR_BELOW`` means less than half of the right one.
    """

    BELOW = "<"
    AT_MOST = "<="
    ABOUT = "~"
    FAR_BELOW = "<<"


SIMILAR = 0.10
"""Two values are similar when they differ by at most this share of the larger one."""

PERCENT_POINTS = 5.0
"""Half-width of the band of a percentage for which the paper gives no tolerance."""

ABSOLUTE_SHARE = 0.10
"""Half-width of the band of an absolute value, as a share of it."""

SECONDS = 10.0
"""Half-width of the band of a point in time: one polling period of a supervisor."""


def band_by_rule(kind: Kind, unit: str, expected: float, *, total: bool = False) -> tuple[float, float]:
    """Return the band of a number that is printed without a tolerance.

    Counts are exact. Percentages get +-5 points, times (in s or min) +-10 s, everything else +-10 %. A
    ``total``, a time added up over several events, also gets +-10 %: 10 s would be half of a short one.
    """
    if kind is Kind.COUNT:
        return expected, expected
    if unit == "%":
        return expected - PERCENT_POINTS, expected + PERCENT_POINTS
    if unit in ("s", "min") and not total:
        half = SECONDS if unit == "s" else SECONDS / 60
        return expected - half, expected + half
    half = abs(expected) * ABSOLUTE_SHARE
    return expected - half, expected + half


@dataclass(frozen=True, slots=True)
class Target:
    """One number of a claim and the band (ends included) inside which it counts as reproduced.

    ``label`` distinguishes the numbers of one claim; it is empty if there is only one. ``expected`` is the
    printed value; None if the paper only gives a bound or a word. ``low`` or ``high`` is None if the band is
    open on that side. ``neutral`` is the value that would mean "no effect" or "as the baseline", if there is
    one. A measurement on the band's side of it has the right direction.
    """

    label: str
    unit: str
    expected: float | None
    low: float | None
    high: float | None
    neutral: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether the value is inside the band, to within rounding of floats."""
        slack = 1e-9 * max(1.0, abs(value))
        above = self.low is None or value >= self.low - slack
        below = self.high is None or value <= self.high + slack
        return above and below

    @property
    def exact(self) -> bool:
        """Whether the band is a single point."""
        return self.low is not None and self.low == self.high

    @property
    def side(self) -> int:
        """The side of ``neutral`` on which the whole band is, +1 or -1; 0 if it has no direction."""
        if self.neutral is None or self.holds(self.neutral):
            return 0
        return 1 if self.low is not None and self.low > self.neutral else -1

    @property
    def expected_text(self) -> str:
        """The printed value with its unit, as text."""
        return self.band_text if self.expected is None else with_unit(number(self.expected), self.unit)

    @property
    def band_text(self) -> str:
        """The band with its unit, as text."""
        if self.exact and self.low is not None:
            return f"exactly {with_unit(number(self.low), self.unit)}"
        if self.low is None:
            return f"≤ {with_unit(number(self.high or 0.0), self.unit)}"
        if self.high is None:
            return f"≥ {with_unit(number(self.low), self.unit)}"
        return f"{number(self.low)} to {with_unit(number(self.high), self.unit)}"


@dataclass(frozen=True, slots=True)
class Chain:
    """An order such as ``n1w1 < n5w5 < n5w10``: names or plain numbers, with relations in between."""

    names: tuple[str, ...]
    relations: tuple[Relation, ...]

    @property
    def measured_names(self) -> tuple[str, ...]:
        """The names for which a measurement must give values; plain numbers are excluded."""
        return tuple(name for name in self.names if literal(name) is None)

    def __str__(self) -> str:
        rest = zip(self.relations, self.names[1:], strict=True)
        return self.names[0] + "".join(f" {relation} {name}" for relation, name in rest)


@dataclass(frozen=True, slots=True)
class Claim:
    """One printed result.

    Attributes:
        id: stable name, starting with the paper's short name.
        figure: figure, table or section.
        experiment: slug of the experiment that the claim is about.
        topology: topology or topologies of that experiment.
        metric: what is measured, with its window and its definition of "percent".
        unit: unit of the numbers, or of the values that are put in order.
        targets: the numbers; empty for orderings.
        order: the chains that must hold; empty for everything else.
        baseline: what the number is compared with; may be empty.
        note: what to know before believing or doubting it; may be empty.
        arithmetic: the value follows from printed settings alone, so that meeting it is weak evidence.
        fitted: why the claim counts as fitted whatever its experiment says: the constant or input that was
            chosen on it, or on a claim that implies it; empty for the others.
        untestable: why no experiment can answer it; empty for claims that can be tested.
        answered_by: slug of another experiment that answers it in the place of its own; may be empty.
    """

    id: str
    paper: str
    figure: str
    experiment: str
    topology: str
    metric: str
    unit: str
    kind: Kind
    targets: tuple[Target, ...]
    order: tuple[Chain, ...]
    baseline: str
    statement: str
    note: str
    arithmetic: bool
    untestable: str
    answered_by: str = ""
    fitted: str = ""

    @property
    def owner(self) -> str:
        """Slug of the one experiment that answers the claim."""
        return self.answered_by or self.experiment

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the values that a measurement must give, in order and without repetition."""
        if self.targets:
            return tuple(target.label for target in self.targets)
        return tuple(dict.fromkeys(name for chain in self.order for name in chain.measured_names))

    @property
    def expected_text(self) -> str:
        """What the paper prints, as text."""
        if self.order:
            return "; ".join(str(chain) for chain in self.order)
        return "; ".join(_labelled(target.label, target.expected_text) for target in self.targets)

    @property
    def band_text(self) -> str:
        """The band as text."""
        if self.order:
            return "exact order"
        return "; ".join(_labelled(target.label, target.band_text) for target in self.targets)

    def target(self, label: str) -> Target:
        """The number with this label; `KeyError` if the claim has none."""
        return {target.label: target for target in self.targets}[label]


def literal(name: str) -> float | None:
    """The number that a name in an order stands for; None if it names a measured value."""
    try:
        value = float(name)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def number(value: float) -> str:
    """Format a number with up to four significant digits, integers in full."""
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.4g}"


_SIGNS = {"1": "", "ratio": "×", "share": "", "index": "", "place": "", "mixed": ""}


def with_unit(text: str, unit: str) -> str:
    """Join text and unit with a space. Quotients get a times sign, pure numbers nothing.

    A unit in the plural loses its ``s`` after a single 1.
    """
    sign = _SIGNS.get(unit, unit)
    if text == "1" and sign.isalpha() and len(sign) > 3:
        sign = sign.removesuffix("s")
    return f"{text} {sign}" if sign else text


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text
