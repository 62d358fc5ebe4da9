"""The timeline of machine removal: stages, when a stage is settled, and how a disturbance is measured.

All readings are of full minutes, as in figures 9 and 10. Minutes in which no tuple completes have a
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
    """Time from which on a stage counts as stable: the start of its second half."""
    return stage_s * (stage + 0.5)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The effect of a removal on a series of minutes.

    Attributes:
        level: mean of the stage's stable minutes.
        peak: highest minute after the removal.
        settled_s: time from the removal to the end of the last minute that is off the level; None if that
            is the stage's last minute.
    """

    level: float
    peak: float
    settled_s: float | None


def disturbance(minutes: pd.Series, removed_s: float, stage_s: float) -> Disturbance | None:
    """The disturbance by a removal at ``removed_s``; None if no minute of the stable half has a value.

    ``minutes`` are values by start of the minute in seconds; a value may be missing.
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
