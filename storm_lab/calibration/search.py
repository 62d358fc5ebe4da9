"""The search: least squares on the logarithms of the constants, inside their physical ranges.

Deterministic: the slopes are finite differences with a fixed step, and the constants are rounded to what is
worth writing down before they are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

STEP = 0.15
"""Of the finite differences, in logarithms: queues and batches make finer ones noise."""

FIRST_STEP = 0.6
"""Of the search by steps, in logarithms; the next ones are a half of it, a third, ..."""

Floats = NDArray[np.float64]
Values = Mapping[str, float]
Ranges = Mapping[str, tuple[float, float]]
"""Lowest and highest value of each constant."""
Evaluate = Callable[[Sequence[Values]], Sequence[Floats]]
"""From sets of constants to their residuals, one vector each."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best constants that were tried, with their residuals."""

    values: Values
    residuals: Floats

    @property
    def loss(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)


def evaluations_of(ranges: Ranges, rounds: int) -> int:
    """How many sets of constants a search tries at most."""
    return 1 + rounds + (rounds + 1) * len(ranges) if rounds else 1


def steps_of(ranges: Ranges, rounds: int) -> int:
    """How many sets of constants a search by steps tries at most."""
    return 1 + 2 * rounds * len(ranges)


def search(start: Values, ranges: Ranges, evaluate: Evaluate, rounds: int) -> Found:
    """The best constants found in ``rounds`` steps; each looks at a set per slope and at where it leads."""
    (first,) = evaluate([start])
    best = Found(dict(start), first)
    lows, highs = np.log(np.array(list(ranges.values()), dtype=float)).T

    def values_at(place: Floats) -> Values:
        rounded = (float(f"{math.exp(x):.3g}") for x in place)
        kept = zip(ranges.items(), rounded, strict=True)
        return {**start, **{name: min(high, max(low, x)) for (name, (low, high)), x in kept}}

    def residuals(place: Floats) -> Floats:
        nonlocal best
        values = values_at(place)
        if values != best.values:
            (reached,) = evaluate([values])
            best = min(best, Found(values, reached), key=lambda found: found.loss)
            return reached
        return best.residuals

    def slopes(place: Floats) -> Floats:
        here = residuals(place)
        # Down where the range ends.
        steps = np.where(place + STEP <= highs, STEP, -STEP)
        moved = [values_at(place + step * unit) for step, unit in zip(steps, np.eye(len(steps)), strict=True)]
        made = [math.log(v[name] / values_at(place)[name]) for name, v in zip(ranges, moved, strict=True)]
        return np.stack([(r - here) / step for r, step in zip(evaluate(moved), made, strict=True)], axis=1)

    if rounds:
        place = np.clip(np.log([start[name] for name in ranges]), lows, highs)
        least_squares(residuals, place, slopes, (lows, highs), method="dogbox", max_nfev=rounds + 1)
    return best


def search_stepwise(start: Values, ranges: Ranges, evaluate: Evaluate, rounds: int) -> Found:
    """The best constants found by moving one after the other, in steps that grow smaller with each round.

    Needs no slopes: latencies under a spout that sleeps lie on a staircase, which has none.
    """
    (first,) = evaluate([start])
    best = Found(dict(start), first)

    def moved(name: str, factor: float) -> bool:
        nonlocal best
        low, high = ranges[name]
        value = min(high, max(low, float(f"{best.values[name] * factor:.3g}")))
        if value == best.values[name]:
            return False
        values = {**best.values, name: value}
        (residuals,) = evaluate([values])
        tried = Found(values, residuals)
        better = tried.loss < best.loss
        best = min(best, tried, key=lambda found: found.loss)
        return better

    for number in range(1, rounds + 1):
        factor = math.exp(FIRST_STEP / number)
        for name in ranges:
            if moved(name, 1 / factor):
                moved(name, 1 / factor)
            else:
                moved(name, factor)
    return best
