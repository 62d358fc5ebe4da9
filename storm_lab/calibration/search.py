"""The search: damped least squares on the logarithms of the constants, inside their physical ranges.

Deterministic: finite differences with a fixed step, a fixed list of damping factors, and the best of the
steps they give is taken if it is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP = 0.15
"""Of the finite differences, in logarithms: queues and batches make finer ones noise."""
LONGEST = 0.5
DAMPING = (0.02, 0.1, 0.5, 2.0)

Values = Mapping[str, float]
Evaluate = Callable[[Sequence[Values]], Sequence[NDArray[np.float64]]]
"""From sets of constants to their residuals, one vector each."""


@dataclass(frozen=True, slots=True)
class Range:
    """A constant's physical range."""

    low: float
    high: float

    def moved(self, value: float, by: float) -> float:
        """``value`` times e to the ``by``, rounded to what is worth writing down, inside the range."""
        return min(self.high, max(self.low, float(f"{value * math.exp(by):.3g}")))


@dataclass(frozen=True, slots=True)
class Found:
    """Where the search stands: constants, residuals, and the sum of their squares."""

    values: Values
    residuals: NDArray[np.float64]

    @property
    def loss(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)


def evaluations_of(ranges: Mapping[str, Range], rounds: int) -> int:
    """How many sets of constants a search tries at most."""
    return 1 + rounds * (len(ranges) + len(DAMPING))


def search(start: Values, ranges: Mapping[str, Range], evaluate: Evaluate, rounds: int) -> Found:
    """The best constants found in ``rounds`` rounds; ends early when a round brings nothing."""
    (first,) = evaluate([start])
    best = Found(dict(start), first)
    for _ in range(rounds):
        moved = [_probe(best.values, name, limits) for name, limits in ranges.items()]
        residuals = evaluate([values for values, _ in moved])
        slopes = np.stack(
            [(r - best.residuals) / step for r, (_, step) in zip(residuals, moved, strict=True)], axis=1
        )
        tries = [_step(best, slopes, damping, ranges) for damping in DAMPING]
        reached = [Found(values, r) for values, r in zip(tries, evaluate(tries), strict=True)]
        better = min(reached, key=lambda found: found.loss)
        if better.loss >= best.loss:
            break
        best = better
    return best


def _probe(values: Values, name: str, limits: Range) -> tuple[Values, float]:
    """A constant moved up a step, or down where the range ends; with the step that was really made."""
    for step in (STEP, -STEP):
        changed = limits.moved(values[name], step)
        if changed != values[name]:
            made = math.log(changed / values[name])
            if abs(made) > STEP / 3:
                return {**values, name: changed}, made
    raise ValueError(f"the range of {name} leaves no room for a step")


def _step(found: Found, slopes: NDArray[np.float64], damping: float, ranges: Mapping[str, Range]) -> Values:
    normal = slopes.T @ slopes + damping * np.eye(len(ranges))
    moves = -np.linalg.solve(normal, slopes.T @ found.residuals)
    changed = {
        name: limits.moved(found.values[name], float(np.clip(move, -LONGEST, LONGEST)))
        for (name, limits), move in zip(ranges.items(), moves, strict=True)
    }
    return {**found.values, **changed}
