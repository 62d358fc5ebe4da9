"""The timeline of machine removal: stages, what counts as settled in one, and how a disturbance is measured.

All readings are of whole minutes, as in figures 9 and 10; minutes that no tuple completes in have a
throughput of 0 and no latency.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

MACHINES = (16, 13, 10, 7, 4)
MINUTE_S = 60.0
TOLERANCE = 0.10
"""A minute counts as settled within this share of the stage's stable level."""


def settled_from_s(stage_s: float, stage: int) -> float:
    """From here on a stage counts as stable: its second half."""
    return stage_s * (stage + 0.5)


def stage_end_s(stage_s: float, stage: int) -> float:
    """When a stage ends."""
    return stage_s * (stage + 1)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What a removal does to a series of minutes.

    ``level`` is the mean of the stage's stable minutes; ``peak`` the highest minute after the removal;
    ``settled_s`` the time from the removal to the end of the last minute that is off the level, None when
    that is the stage's last one.
    """

    level: float
    peak: float
    settled_s: float | None


def disturbance(minutes: pd.Series, removed_s: float, stage_s: float) -> Disturbance | None:
    """The disturbance by a removal at ``removed_s``; None when no minute of the stable half has a value.

    ``minutes`` are values by start of the minute in seconds, missing where there is none.
    """
    after = minutes[(minutes.index >= removed_s) & (minutes.index < removed_s + stage_s)]
    stable = after[after.index >= removed_s + stage_s / 2].dropna()
    if stable.empty:
        return None
    level = float(stable.mean())
    off = after[after.isna() | ((after - level).abs() > TOLERANCE * level)]
    if off.empty:
        settled: float | None = 0.0
    elif off.index[-1] == after.index[-1]:
        settled = None
    else:
        settled = float(off.index[-1]) + MINUTE_S - removed_s
    return Disturbance(level, float(after.max()), settled)
