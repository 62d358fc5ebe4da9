"""Residuals of a live fit: how far a set of constants is from what real Storm did."""

from __future__ import annotations

import math
from collections.abc import Mapping

from storm_lab.calibration.search import LEAST, Values
from storm_lab.live.suite.compare import Row
from storm_lab.live.suite.scene import Measure

WEIGHTS: Mapping[Measure, float] = {
    Measure.THROUGHPUT: 1.0,
    Measure.CPU: 1.0,
    Measure.P50: 1.0,
    Measure.P95: 0.25,
}
"""Weights of the logarithm of predicted over measured. Tails have causes that the emulator does not play."""

PRIOR_WEIGHT = 0.1
"""Penalty of a constant that is twice or half its assumed value: as much as an error of a tenth in one
measure. Ten constants fit ten scenes in many ways, and these predict different values for all other scenes.
"""
LARGEST_ERROR = 1.0
"""Largest error, as a logarithm; larger ones count the same, as does a scene without a prediction."""
SOFT_L1_SCALE = 0.2
"""Error above which residuals grow more slowly than the error. A scene that the emulator cannot play must not
decide the costs of all others.
"""


def residuals(row: Row) -> list[float]:
    """Return a residual for each weighted measure that is usable, even if the emulator has no prediction."""
    terms = []
    for each in row.compared:
        if each.measured is None or each.unusable or each.measure not in WEIGHTS:
            continue
        value = 0.0 if each.predicted is None else each.predicted.value
        error = LARGEST_ERROR if value <= 0 else math.log(value / each.measured.value)
        terms.append(WEIGHTS[each.measure] * softened(max(-LARGEST_ERROR, min(LARGEST_ERROR, error))))
    return terms


def prior_residuals(values: Values, prior: Values) -> list[float]:
    """Return a residual for each constant with an assumed value: the distance from that value."""
    return [PRIOR_WEIGHT * math.log2(max(values[name], LEAST) / value) for name, value in prior.items()]


def softened(error: float) -> float:
    """Return a residual whose square grows linearly beyond `SOFT_L1_SCALE`, quadratically below (soft L1)."""
    return error * math.sqrt(2 / (math.hypot(1.0, error / SOFT_L1_SCALE) + 1))
