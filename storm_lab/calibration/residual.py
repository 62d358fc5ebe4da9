"""How far a set of constants is from what real Storm did: the terms whose squares a live fit makes small."""

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
"""Of the logarithm of predicted over measured. Tails carry what the emulator does not play."""

_TWICE = 0.1
"""What a constant costs that is twice or half of what it is believed to be: as much as an error of a tenth
in one measure. Ten constants fit ten scenes in many ways, which say different things of all others."""
_WORST = 1.0
"""Largest error that is told from larger ones, as a logarithm; also that of a scene without a prediction."""
_SOFT = 0.2
"""Error from which on residuals grow slower than it does: a scene that the emulator cannot play must not
decide what all others cost."""


def residuals(row: Row) -> list[float]:
    """A term for each weighted measure that can be used, whatever the emulator says of it."""
    terms = []
    for each in row.compared:
        if each.measured is None or each.unusable or each.measure not in WEIGHTS:
            continue
        said = None if each.predicted is None else each.predicted.value
        error = _WORST if said is None or said <= 0 else math.log(said / each.measured.value)
        terms.append(WEIGHTS[each.measure] * softened(max(-_WORST, min(_WORST, error))))
    return terms


def doubt(values: Values, believed: Values) -> list[float]:
    """A residual for each constant of which something is believed: how far it lies from that."""
    return [_TWICE * math.log2(max(values[name], LEAST) / value) for name, value in believed.items()]


def softened(error: float) -> float:
    """A residual whose square grows like the error beyond `_SOFT`, and like its square below (*soft L1*)."""
    return error * math.sqrt(2 / (math.hypot(1.0, error / _SOFT) + 1))
