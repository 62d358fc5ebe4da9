"""Readings of N-Storm's figures: how long throughput stayed low, how much was done in total, what was lost.

Degradation is the time in which throughput was at least a given percentage below the smooth mean: that
between the warm-up and the first re-assignment of the same run. Readings have one value per seed, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pandas as pd

from storm_lab.experiments.readings import Samples, Tables, by_seed, details, of_run, per_seed, value_of
from storm_lab.papers.nstorm.testbed import FIRST_S, PERIOD_S, WARM_UP_S

LEVELS = (20, 40, 60, 80, 100)
"""Per cent below the smooth mean; 100 is a standstill."""
DEGRADED = (
    f"seconds of the run from {WARM_UP_S:g} s on with throughput at least {{}} % below the smooth mean of "
    "the same run"
)
ANSWERED = "calls answered in the whole run"
QUIET_S = 20.0
"""Length of the window before a re-assignment in which the previous one is assumed to have no more effect."""


def degraded_s(tables: Tables, variant: str, seeds: Sequence[int], level: int) -> Samples:
    """Seconds of the run with throughput at least ``level`` per cent below the smooth mean."""
    rows = tables.degradation
    return value_of(rows[rows["level"] == level], "degraded_s", variant, seeds)


def smooth_per_s(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """The smooth mean itself, in answers per second."""
    return value_of(tables.degradation, "smooth_per_s", variant, seeds)


def _low_s(seconds: pd.DataFrame, smooth: float, level: int, from_s: float, to_s: float = inf) -> float:
    """Seconds in the window with throughput at least ``level`` per cent below ``smooth``."""
    # Arrays, because a frame per window and run would take most of a notebook's time.
    times, width = seconds["t_s"].to_numpy(), seconds["width_s"].to_numpy()
    low = seconds["acked_per_s"].to_numpy() <= smooth * (1 - level / 100) * (1 + 1e-9)
    return float(width[low & (times >= from_s) & (times < to_s)].sum())


def degraded_against_s(
    tables: Tables, variant: str, seeds: Sequence[int], level: int, smooth: Samples
) -> Samples:
    """Seconds from the first re-assignment on against a mean ``smooth`` of other runs: lasting costs, too."""

    def low_s(seed: int, mean: float) -> float | None:
        seconds = of_run(tables.throughput_1s, variant, seed)
        return _low_s(seconds, mean, level, FIRST_S) if len(seconds) else None

    return per_seed(low_s, seeds, smooth)


def moves_s(tables: Tables, variant: str, seed: int) -> list[float]:
    """Times of the re-assignments whose full period is in the run; none for a seed that was not played."""
    runs = of_run(tables.runs, variant, seed)
    periods = int((runs["duration_s"].max() - FIRST_S) // PERIOD_S) if len(runs) else 0
    return [FIRST_S + number * PERIOD_S for number in range(periods)]


def degraded_by_move_s(tables: Tables, variant: str, seed: int, level: int) -> list[float]:
    """Degraded seconds between each re-assignment and the next; empty if the run has no smooth mean."""
    (smooth,) = smooth_per_s(tables, variant, (seed,))
    if smooth is None:
        return []
    seconds, starts = of_run(tables.throughput_1s, variant, seed), moves_s(tables, variant, seed)
    return [_low_s(seconds, smooth, level, start, start + PERIOD_S) for start in starts]


def mean_per_move_s(tables: Tables, variant: str, seeds: Sequence[int], level: int) -> Samples:
    """Mean degraded seconds per re-assignment, without the one that is cut off."""
    return [_mean(degraded_by_move_s(tables, variant, seed, level)) for seed in seeds]


def min_per_move_s(tables: Tables, variant: str, seeds: Sequence[int], level: int) -> Samples:
    """Degraded seconds of the re-assignment with the fewest."""
    return [min(degraded_by_move_s(tables, variant, seed, level), default=None) for seed in seeds]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def total(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Calls answered in the complete run; None for a seed without a run."""
    return by_seed(tables.throughput_1s, variant, seeds, lambda rows: float(rows["acked"].sum()))


def rate_between(tables: Tables, variant: str, seeds: Sequence[int], from_s: float, to_s: float) -> Samples:
    """Answers per second in the seconds that begin in ``[from_s, to_s)``."""
    return by_seed(tables.throughput_1s, variant, seeds, lambda rows: _rate(rows, from_s, to_s))


def _rate(seconds: pd.DataFrame, from_s: float, to_s: float) -> float | None:
    times = seconds["t_s"].to_numpy()
    inside = (times >= from_s) & (times < to_s)
    if not inside.any():
        return None
    return float(seconds["acked"].to_numpy()[inside].sum() / seconds["width_s"].to_numpy()[inside].sum())


def quiet_per_s(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Answers per second outside migrations, over the last 20 s before every re-assignment."""
    means: Samples = []
    for seed in seeds:
        seconds = of_run(tables.throughput_1s, variant, seed)
        windows = [_rate(seconds, start - QUIET_S, start) for start in moves_s(tables, variant, seed)]
        means.append(_mean([rate for rate in windows if rate is not None]))
    return means


def lost_with_threads(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Tuples lost with stopped executors, in all places that the control log counts."""
    counts: Samples = []
    for seed in seeds:
        rows = of_run(tables.control, variant, seed)
        stopped = details(rows[rows["action"] == "stop-executor"])
        lost = [value for facts in stopped for name, value in facts.items() if name.startswith("lost_")]
        counts.append(float(sum(lost)))
    return counts


def replays(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Calls that were repeated because a tuple tree was not acked in time."""
    return by_seed(tables.failures_60s, variant, seeds, lambda rows: float(rows["failed"].sum()))


def skew_s(tables: Tables, variant: str, seeds: Sequence[int], sync_s: float) -> Samples:
    """Mean time between the first and the last supervisor that adopts a re-assignment."""
    means: Samples = []
    for seed in seeds:
        rows = of_run(tables.control, variant, seed)
        taken = rows.loc[rows["action"] == "take-assignment", "time_s"]
        apart = []
        for start in moves_s(tables, variant, seed):
            mine = taken[(taken >= start) & (taken <= start + sync_s + 1.0)]
            if len(mine) > 1:
                apart.append(float(mine.max() - mine.min()))
        means.append(_mean(apart))
    return means
