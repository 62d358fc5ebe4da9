"""Search for the point where something begins or ceases to fit, by playing several settings at a time.

Each round costs the start of a Spark job and of the processes that play. A few settings at once are therefore
faster than bisection, and independent searches run together. A search is a generator: it yields the numbers
to be tried, is sent whether each of them fits, and returns its result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from storm_lab.errors import UserError

_PER_ROUND = 6
_SPREAD = 1.6
"""Factor by which the first rates extend around a guess, both ways; runs far above a limit cost most."""
_CLOSE_ENOUGH = 1.03
"""Ratio of two neighbouring rates at which the limit between them counts as found."""
_MAX_ROUNDS = 12

Number = TypeVar("Number", int, float)
Found = TypeVar("Found")
Key = TypeVar("Key")
Search = Generator[Sequence[Number], Sequence[bool], Found]


def fewest(most: int) -> Search[int, int | None]:
    """Find the smallest number from 1 to ``most`` that fits (all larger ones then fit too), or None."""
    low, high = 0, most + 1
    while high - low > 1:
        numbers = sorted({int(n) for n in np.linspace(low, high, _PER_ROUND + 2).round()[1:-1]} - {low, high})
        if high > most and most not in numbers:
            numbers.append(most)
        for number, fits in zip(numbers, (yield numbers), strict=True):
            if fits:
                high = number
                break
            low = number
    return high if high <= most else None


def highest(guess: float) -> Search[float, float]:
    """Find the highest rate that is kept up with, to 3 %, from a guess; `UserError` if none is, or every."""
    low, high = 0.0, float("inf")
    rates = np.geomspace(guess / _SPREAD, guess * _SPREAD, _PER_ROUND)
    for _ in range(_MAX_ROUNDS):
        for rate, keeps_up in zip(rates.tolist(), (yield rates.tolist()), strict=True):
            if not keeps_up:
                high = rate
                break
            low = rate
        if low == 0.0:
            rates = np.geomspace(high / _SPREAD**4, high / _SPREAD, _PER_ROUND)
        elif high == float("inf"):
            rates = np.geomspace(low * _SPREAD, low * _SPREAD**2, _PER_ROUND)
        elif high / low <= _CLOSE_ENOUGH:
            return low
        else:
            rates = np.geomspace(low, high, _PER_ROUND + 2)[1:-1]
    what = "nothing is completed at any rate" if low == 0.0 else "every rate is kept up with"
    raise UserError(what, field="rate_per_s", value=guess, remedy="check what its bolts emit, ack and cost")


def run_together(
    searches: Mapping[Key, Search[Number, Found]],
    ask: Callable[[Sequence[tuple[Key, Number]]], Sequence[bool]],
) -> dict[Key, Found]:
    """Run several searches together, round by round, and return their results.

    ``ask`` gets all numbers of a round, each with the key of its search, and returns whether each fits.
    """
    found: dict[Key, Found] = {}
    wanted = {key: next(search) for key, search in searches.items()}
    while wanted:
        answers = iter(ask([(key, number) for key, numbers in wanted.items() for number in numbers]))
        for key, numbers in list(wanted.items()):
            fits = [next(answers) for _ in numbers]
            try:
                wanted[key] = searches[key].send(fits)
            except StopIteration as end:
                found[key] = end.value
                del wanted[key]
    return found
