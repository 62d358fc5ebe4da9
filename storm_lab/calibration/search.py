"""Search for constants within their physical ranges: least squares with finite differences.

Each round moves every constant a little on its own, which gives the slope of the residuals, and then tries a
few steps to the least squares of this linear model, with more and less damping. The next round begins at the
best of all points tried, with smaller moves.

The emulator is not a smooth function, as latencies and full queues change in steps. So the first moves are
wide, and only points that were played are accepted. Constants are rounded to three digits before they are
tried, which makes the search deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

DIFFERENCE = 0.4
"""Distance by which a constant is moved on its own in the first round, as a logarithm; then a half of it, a
third, and so on.
"""
DAMPINGS = (0.002, 0.05, 0.4, 3.0)
"""Damping of the steps that are tried, relative to the effect of a constant; eight times as much after each
round without an improvement.
"""
LONGEST_STEP = 0.8
"""Longest step of a constant, as a logarithm."""
LEAST = 1e-3
"""Least value of a constant that may be 0: for its logarithm, and when it is moved down."""
_MIN_DAMPING = 0.02
"""Damping of a constant without any effect."""

Floats = NDArray[np.float64]
Values = Mapping[str, float]
Ranges = Mapping[str, tuple[float, float]]
"""Lowest and highest value of each constant."""
Evaluate = Callable[[Sequence[Values]], Sequence[Floats]]
"""Maps sets of constants to the residuals of each."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best constants tried so far, with their residuals."""

    values: Values
    residuals: Floats

    @property
    def loss(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)


def steps_of(ranges: Ranges, rounds: int) -> int:
    """Return the number of sets of constants that a search tries."""
    return 1 + rounds * (len(ranges) + len(DAMPINGS))


def search(start: Values, ranges: Ranges, evaluate: Evaluate, rounds: int) -> Found:
    """Search from ``start`` and return the best constants found; those without a range stay unchanged."""
    (residuals,) = evaluate([start])
    best = Found(dict(start), residuals)
    damping = 1.0
    for number in range(1, rounds + 1):
        before = best.loss
        move = DIFFERENCE / number
        # Each on its own: upwards, or downwards near the upper end of its range.
        upwards = {name: best.values[name] * math.exp(move) <= high for name, (_, high) in ranges.items()}
        alone = [_moved(best.values, ranges, {name: move if upwards[name] else -move}) for name in ranges]
        tried = [Found(*pair) for pair in zip(alone, evaluate(alone), strict=True)]
        steps = _steps(best, ranges, tried, damping)
        tried += [Found(*pair) for pair in zip(steps, evaluate(steps), strict=True)]
        best = min([best, *tried], key=lambda found: found.loss)
        if best.loss == before:
            damping *= 8
    return best


def _moved(values: Values, ranges: Ranges, by: Mapping[str, float]) -> Values:
    """Move the constants by the logarithms ``by``, within their ranges."""

    def moved(name: str) -> float:
        low, high = ranges[name]
        return min(high, max(low, float(f"{max(LEAST, values[name]) * math.exp(by[name]):.3g}")))

    return {name: moved(name) if name in by else value for name, value in values.items()}


def _steps(best: Found, ranges: Ranges, alone: Sequence[Found], damping_factor: float) -> list[Values]:
    """Return least-squares steps from the best constants, given the effect of each alone; one per damping."""
    own = {name: max(LEAST, best.values[name]) for name in ranges}
    slopes_of = []
    for name, each in zip(own, alone, strict=True):
        move = math.log(max(LEAST, each.values[name]) / own[name])
        slopes_of.append((each.residuals - best.residuals) / (move or 1.0))
    slopes = np.column_stack(slopes_of)
    low = [max(-LONGEST_STEP, math.log(max(LEAST, ranges[name][0]) / own[name])) for name in ranges]
    high = [min(LONGEST_STEP, math.log(ranges[name][1] / own[name])) for name in ranges]
    # If a constant is at its bound, leave room for rounding.
    bounds = (np.minimum(low, -1e-9), np.maximum(high, 1e-9))
    weights = np.sqrt((slopes**2).sum(axis=0) + _MIN_DAMPING)
    steps = []
    for damping in DAMPINGS:
        regularisation = np.diag(weights * math.sqrt(damping * damping_factor))
        wanted = np.concatenate([-best.residuals, np.zeros(len(own))])
        found = lsq_linear(np.vstack([slopes, regularisation]), wanted, bounds)
        steps.append(_moved(best.values, ranges, dict(zip(own, map(float, found.x), strict=True))))
    return steps
