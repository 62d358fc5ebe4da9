"""The search for constants inside their physical ranges: least squares, by differences.

Each round moves every constant a little by itself, and takes from that how the residuals would move with all
of them together: a few steps to the least squares of that, damped more and less, are tried. The best of all
that was tried is where the next round begins, with smaller moves. The emulator is no smooth function
(latencies under a spout that sleeps lie on a staircase, and which of a flooded topology's queues fill turns
over at a point), so that the first moves are wide and nothing is believed that was not played. Deterministic:
constants are rounded to what is worth writing down before they are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

DIFFERENCE = 0.4
"""How far a constant is moved by itself in the first round, in its logarithm; then a half, a third, ..."""
DAMPINGS = (0.002, 0.05, 0.4, 3.0)
"""Of the steps that are tried, relative to what a constant moves; eight times as much after each round that
found nothing better."""
FARTHEST = 0.8
"""Longest step of a constant, in its logarithm."""
LEAST = 1e-3
"""What a constant that may be 0 counts as where its logarithm is taken, and is moved down to."""
_STILL = 0.02
"""Damping of a constant that moves nothing."""

Floats = NDArray[np.float64]
Values = Mapping[str, float]
Ranges = Mapping[str, tuple[float, float]]
"""Lowest and highest value of each constant."""
Evaluate = Callable[[Sequence[Values]], Sequence[Floats]]
"""From sets of constants to the residuals of each."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best constants that were tried, with their residuals."""

    values: Values
    residuals: Floats

    @property
    def loss(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)


def steps_of(ranges: Ranges, rounds: int) -> int:
    """How many sets of constants a search tries."""
    return 1 + rounds * (len(ranges) + len(DAMPINGS))


def search(start: Values, ranges: Ranges, evaluate: Evaluate, rounds: int) -> Found:
    """The best constants found from ``start`` on; those without a range stay as they are."""
    (residuals,) = evaluate([start])
    best = Found(dict(start), residuals)
    damping = 1.0
    for number in range(1, rounds + 1):
        before = best.loss
        move = DIFFERENCE / number
        alone = [_moved(best.values, ranges, {name: _outward(best, ranges, name, move)}) for name in ranges]
        tried = [Found(*pair) for pair in zip(alone, evaluate(alone), strict=True)]
        steps = _steps(best, ranges, tried, damping)
        tried += [Found(*pair) for pair in zip(steps, evaluate(steps), strict=True)]
        best = min([best, *tried], key=lambda found: found.loss)
        if best.loss == before:
            damping *= 8
    return best


def _moved(values: Values, ranges: Ranges, by: Mapping[str, float]) -> Values:
    """The constants moved by so much in their logarithms, inside their ranges."""

    def moved(name: str) -> float:
        low, high = ranges[name]
        return min(high, max(low, float(f"{max(LEAST, values[name]) * math.exp(by[name]):.3g}")))

    return {name: moved(name) if name in by else value for name, value in values.items()}


def _outward(best: Found, ranges: Ranges, name: str, move: float) -> float:
    """A move of a constant by itself: up, or down from the upper end of its range."""
    return move if best.values[name] * math.exp(move) <= ranges[name][1] else -move


def _steps(best: Found, ranges: Ranges, alone: Sequence[Found], harder: float) -> list[Values]:
    """Where least squares lead from the best constants, by what each does alone; one for each damping."""
    own = {name: max(LEAST, best.values[name]) for name in ranges}
    moves = [
        math.log(max(LEAST, found.values[name]) / own[name]) for name, found in zip(own, alone, strict=True)
    ]
    slopes = np.column_stack(
        [(each.residuals - best.residuals) / (move or 1.0) for each, move in zip(alone, moves, strict=True)]
    )
    low = [max(-FARTHEST, math.log(max(LEAST, ranges[name][0]) / own[name])) for name in ranges]
    high = [min(FARTHEST, math.log(ranges[name][1] / own[name])) for name in ranges]
    # A bound on the constant itself leaves room for rounding.
    bounds = (np.minimum(low, -1e-9), np.maximum(high, 1e-9))
    weights = np.sqrt((slopes**2).sum(axis=0) + _STILL)
    steps = []
    for damping in DAMPINGS:
        held = np.diag(weights * math.sqrt(damping * harder))
        wanted = np.concatenate([-best.residuals, np.zeros(len(own))])
        found = lsq_linear(np.vstack([slopes, held]), wanted, bounds)
        steps.append(_moved(best.values, ranges, dict(zip(own, map(float, found.x), strict=True))))
    return steps
