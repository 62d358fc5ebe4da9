"""Reasons for the emulator's errors, by scene and measure, from ``misses.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

import pandas as pd
import yaml

from storm_lab.live.suite.compare import GOAL_OF, Compared, Row, Trust
from storm_lab.live.suite.scene import Measure

UNKNOWN = "Reason unknown."


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some measures of some scenes differ from real Storm; scenes are patterns as of file names.

    ``machines``: the machines for which it holds; empty for all.
    """

    scenes: Sequence[str]
    measures: Sequence[Measure]
    why: str
    machines: Sequence[str] = ()

    def covers(self, scene: str, measure: Measure, machine: str = "") -> bool:
        """Return whether it applies to a measure of a scene on a machine."""
        here = not self.machines or machine in self.machines
        return here and measure in self.measures and any(fnmatchcase(scene, each) for each in self.scenes)


@cache
def reasons() -> tuple[Reason, ...]:
    """Return all reasons, in the order in which they are tried."""
    text = (resources.files("storm_lab.live.suite") / "misses.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    return tuple(Reason(**{**each, "measures": tuple(map(Measure, each["measures"]))}) for each in found)


def is_missed(each: Compared) -> bool:
    """Return whether a value's error is larger than its goal."""
    return each.factor is not None and each.factor > GOAL_OF[each.measure]


def why_missed(row: Row, each: Compared) -> str:
    """Return the first reason for a missed value of a scene; empty if the value is not missed."""
    if not is_missed(each):
        return ""
    covering = (reason.why for reason in reasons() if reason.covers(row.name, each.measure, row.machine))
    return next(covering, UNKNOWN)


def missed(rows: Iterable[Row]) -> list[tuple[Row, Compared]]:
    """Return the missed values, the largest error first."""
    found = [(row, each) for row in rows for each in row.compared if is_missed(each)]
    return sorted(found, key=lambda pair: -(pair[1].factor or 0.0))


def misses_table(trust: Trust) -> pd.DataFrame:
    """Return a row for each missed predicted value with its reason, the largest error first."""
    rows = [
        (row.label, each.measure.value, each.factor, why_missed(row, each))
        for row, each in missed(trust.predicted)
    ]
    return pd.DataFrame(rows, columns=["scene", "measure", "factor", "why"])


def misses_text(table: pd.DataFrame) -> str:
    """Return the reasons as a Markdown list, each with the values that it explains."""
    lines = []
    for why, own in table.groupby("why", sort=False):
        values = ", ".join(
            f"{scene} ({measure})" for scene, measure in zip(own["scene"], own["measure"], strict=True)
        )
        lines.append(f"- {why} *{values}*")
    return "\n".join(lines) or "No misses."
