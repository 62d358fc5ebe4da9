"""The metric tables of one experiment, out of those of several whose runs are shared."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pandas as pd

from storm_lab.experiments.readings import Tables


@dataclass(frozen=True, slots=True)
class Part:
    """The tables that readings are taken from, with the rows of one experiment."""

    latency_10s: pd.DataFrame
    latency_60s: pd.DataFrame
    steady: pd.DataFrame
    stabilisation: pd.DataFrame
    spikes: pd.DataFrame
    occupancy: pd.DataFrame
    events: pd.DataFrame
    failures_10s: pd.DataFrame


def part_of(tables: Tables, experiment: str) -> Part:
    """The rows of ``experiment``; variants and seeds name a run only within one."""
    frames: dict[str, pd.DataFrame] = {field.name: getattr(tables, field.name) for field in fields(Part)}
    return Part(**{name: frame[frame["experiment"] == experiment] for name, frame in frames.items()})
