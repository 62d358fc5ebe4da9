"""Measured against predicted, scene by scene: factors of error, orderings, medians."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import pandas as pd

from storm_lab.live.suite.measure import Look, Measured
from storm_lab.live.suite.scene import Half, Measure, Scene, Sitting, half_of

FACTORS: Mapping[str, tuple[Measure, ...]] = {
    "throughput_factor": (Measure.THROUGHPUT,),
    "cpu_factor": (Measure.CPU,),
    "latency_factor": (Measure.P50, Measure.P95),
    "control_factor": (Measure.CONTROL,),
}
"""What each median is over. The spread of service times has none of its own: it stands in its scene's row."""

UNITS: Mapping[Measure, str] = {
    Measure.THROUGHPUT: "tuples/s",
    Measure.CPU: "us/tuple",
    Measure.P50: "ms",
    Measure.P95: "ms",
    Measure.SPREAD: "1",
    Measure.CONTROL: "s",
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure of one scene: what real Storm did and what the emulator says."""

    measure: Measure
    measured: Measured | None
    predicted: Measured | None

    @property
    def factor(self) -> float | None:
        """The larger over the smaller of the two: 1 = equal. None where one of them is missing."""
        if self.measured is None or self.predicted is None:
            return None
        one, other = self.measured.value, self.predicted.value
        return max(one / other, other / one) if one > 0 and other > 0 else None


@dataclass(frozen=True, slots=True)
class Row:
    """A scene with its measures."""

    name: str
    sitting: str
    storm: str
    half: Half
    compared: tuple[Compared, ...]

    @property
    def told(self) -> bool:
        """Whether the recorded runs tell at least one of its measures."""
        return any(each.measured is not None for each in self.compared)

    def of(self, measure: Measure) -> Compared | None:
        """What was compared of that measure."""
        return next((each for each in self.compared if each.measure is measure), None)

    def document(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "scene": self.name,
            "sitting": self.sitting,
            "storm": self.storm,
            "half": self.half.value,
            "measures": [
                {
                    "measure": each.measure.value,
                    "unit": UNITS[each.measure],
                    "measured": _value(each.measured),
                    "measured_low": _value(each.measured, "low"),
                    "measured_high": _value(each.measured, "high"),
                    "predicted": _value(each.predicted),
                    "factor": None if each.factor is None else round(each.factor, 4),
                }
                for each in self.compared
            ],
        }


@dataclass(frozen=True, slots=True)
class Ordering:
    """Two placements of which real Storm says which is better.

    ``agrees`` is None where its intervals overlap or a measure is missing.
    """

    measure: Measure
    one: str
    other: str
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class Trust:
    """The whole comparison: the scenes of which recorded runs tell at least one measure."""

    rows: tuple[Row, ...]
    orderings: tuple[Ordering, ...]

    @property
    def predicted(self) -> tuple[Row, ...]:
        """The scenes that nothing was calibrated on."""
        return tuple(row for row in self.rows if row.half is Half.PREDICTED)

    def factor(self, name: str, rows: Iterable[Row] | None = None) -> float | None:
        """Median factor of error over the predicted scenes, or over others; None without any."""
        found = [
            each.factor
            for row in (self.predicted if rows is None else rows)
            for each in row.compared
            if each.measure in FACTORS[name] and each.factor is not None
        ]
        return median(found) if found else None

    def document(self) -> dict[str, Any]:
        """As ``storm-lab live trust --json`` prints it."""
        found: dict[str, Any] = {
            "scenes": len(self.rows),
            "predicted_scenes": len(self.predicted),
        }
        for name in FACTORS:
            value = self.factor(name)
            found[name] = None if value is None else round(value, 4)
        found["orderings_wrong"] = sum(1 for ordering in self.orderings if ordering.agrees is False)
        found["rows"] = [row.document() for row in self.rows]
        return found


def pooled(values: Sequence[Measured]) -> Measured | None:
    """Several plays of a scene as one: their mean.

    Its interval holds all of them, and is as wide as the widest that one of them has.
    """
    if not values:
        return None
    if len(values) == 1:
        return values[0]
    mean = sum(each.value for each in values) / len(values)
    spread = max(abs(each.value - mean) for each in values)
    half = max(spread, *(max(each.high - each.value, each.value - each.low) for each in values))
    return Measured(mean, mean - half, mean + half, sum(each.count for each in values))


def compare_sitting(
    sitting: Sitting, generation: str, scenes: Sequence[Scene], live: Sequence[Look], emulated: Sequence[Look]
) -> list[Row]:
    """The rows of one sitting on one version: plays on real Storm against plays of the emulator."""
    rows = []
    for scene in scenes:
        compared = tuple(
            Compared(what, _pooled(live, scene, what), _pooled(emulated, scene, what))
            for what in scene.measures
        )
        rows.append(
            Row(f"{scene.name}@{generation}", sitting.name, generation, half_of(scene.name), compared)
        )
    return rows


def orderings_of(sitting: Sitting, generation: str, rows: Mapping[str, Row]) -> list[Ordering]:
    """Whether the emulator orders the placements of a sitting as real Storm does."""
    found = []
    for measure, *pair in sitting.orderings:
        one, other = (f"{name}@{generation}" for name in pair)
        agrees = None
        if one in rows and other in rows:
            agrees = _agrees(rows[one].of(measure), rows[other].of(measure))
        found.append(Ordering(measure, one, other, agrees))
    return found


def _agrees(one: Compared | None, other: Compared | None) -> bool | None:
    if one is None or other is None or one.predicted is None or other.predicted is None:
        return None
    if one.measured is None or other.measured is None:
        return None
    real = one.measured.value - other.measured.value
    apart = one.measured.high < other.measured.low or other.measured.high < one.measured.low
    if not apart:
        return None
    return math.copysign(1.0, real) == math.copysign(1.0, one.predicted.value - other.predicted.value)


def _pooled(looks: Sequence[Look], scene: Scene, what: Measure) -> Measured | None:
    return pooled([found for look in looks if (found := look.measure(scene, what)) is not None])


def _value(measured: Measured | None, field: str = "value") -> float | None:
    if measured is None:
        return None
    value = float(getattr(measured, field))
    return float(f"{value:.5g}") if math.isfinite(value) else None


def factors_table(trust: Trust) -> pd.DataFrame:
    """Median factors of error, over the scenes that are predicted and over those that may calibrate."""
    calibrates = [row for row in trust.rows if row.half is Half.CALIBRATES]
    rows = [
        (name.removesuffix("_factor"), trust.factor(name), trust.factor(name, calibrates)) for name in FACTORS
    ]
    return pd.DataFrame(rows, columns=["median factor of", "predicted scenes", "calibrating scenes"])


def scenes_table(trust: Trust) -> pd.DataFrame:
    """A row for each measure of each scene: measured with its interval, predicted, factor of error."""
    rows = [
        (
            row.name,
            row.half.value,
            each.measure.value,
            UNITS[each.measure],
            _value(each.measured),
            _value(each.measured, "low"),
            _value(each.measured, "high"),
            _value(each.predicted),
            each.factor,
        )
        for row in trust.rows
        for each in row.compared
    ]
    columns = ["scene", "half", "measure", "unit", "measured", "low", "high", "predicted", "factor"]
    return pd.DataFrame(rows, columns=columns)


def orderings_table(trust: Trust) -> pd.DataFrame:
    """A row for each pair of placements that the suite compares."""
    told = {True: "as real Storm", False: "the other way round", None: "not told apart"}
    rows = [(each.measure.value, each.one, each.other, told[each.agrees]) for each in trust.orderings]
    return pd.DataFrame(rows, columns=["measure", "one", "other", "the emulator"])
