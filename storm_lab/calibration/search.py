"""The search for constants inside their physical ranges: one after the other is moved up or down.

It needs no slopes. Latencies under a spout that sleeps lie on a staircase, and which of a flooded topology's
queues fill turns over at a point; neither has a slope. Deterministic: the constants are rounded to what is
worth writing down before they are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIRST_STEP = 0.6
"""In logarithms; the next ones are a half of it, a third, ..."""

Floats = NDArray[np.float64]
Values = Mapping[str, float]
Ranges = Mapping[str, tuple[float, float]]
"""Lowest and highest value of each constant."""
Evaluate = Callable[[Values], Floats]
"""From a set of constants to its residuals."""


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
    """How many sets of constants a search tries at most."""
    return 1 + 2 * rounds * len(ranges)


def search(start: Values, ranges: Ranges, evaluate: Evaluate, rounds: int) -> Found:
    """The best constants found by moving one after the other, in steps that grow smaller with each round."""
    best = Found(dict(start), evaluate(start))

    def moved(name: str, factor: float) -> bool:
        nonlocal best
        low, high = ranges[name]
        value = min(high, max(low, float(f"{best.values[name] * factor:.3g}")))
        if value == best.values[name]:
            return False
        values = {**best.values, name: value}
        tried = Found(values, evaluate(values))
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
