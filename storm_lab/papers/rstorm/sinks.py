"""Throughput at the sinks, as R-Storm's paper counts it, and gains of one scheduler over another.

Throughput is the mean over a topology's output bolts of the tuples that each executes in 10 s (section 6.2).
The paper calls a gain "x % higher" and prints no formula. The recordings of its author give the printed
percentages only when the difference is divided by R-Storm's own throughput, so both are shown everywhere;
verdicts use the common one, division by the baseline's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from storm_lab.papers.readings import measured, of_run
from storm_lab.papers.rstorm.layouts import layout

UNIT = "tuples/10 s"


class SinkTables(Protocol):
    """The metric tables that are needed here."""

    @property
    def component_throughput_10s(self) -> pd.DataFrame: ...


def sink_series(tables: SinkTables, topology: str, sinks: Sequence[str]) -> pd.DataFrame:
    """Mean over the sinks by variant, seed and bin: columns variant, seed, t_s, per_10s (tuples in 10 s)."""
    rows = tables.component_throughput_10s
    rows = rows[(rows["topology"] == topology) & rows["component"].isin(sinks)]
    # A last bin that the run's end cuts short is scaled to 10 s.
    scaled = rows.assign(per_10s=rows["executed"] * 10.0 / rows["width_s"] / len(sinks))
    return scaled.groupby(["variant", "seed", "t_s"])["per_10s"].sum().reset_index()


def sink_rates(
    tables: SinkTables,
    variant: str,
    seeds: Sequence[int],
    *,
    topology: str,
    sinks: Sequence[str],
    from_s: float,
) -> list[float | None]:
    """Mean over the sinks and the bins from ``from_s`` on, in tuples per 10 s; None for a seed not played."""
    series = sink_series(tables, topology, sinks)
    series = series[series["t_s"] >= from_s]
    rates: list[float | None] = []
    for seed in seeds:
        rows = of_run(series, variant, seed)
        rates.append(float(rows["per_10s"].mean()) if len(rows) else None)
    return rates


def gains(new: Sequence[float | None], old: Sequence[float | None]) -> list[float | None]:
    """``100 * (new / old - 1)`` seed by seed, in percent: what "x % higher" commonly means."""
    return [100.0 * (a / b - 1.0) if a is not None and b else None for a, b in zip(new, old, strict=True)]


def gains_on_new(new: Sequence[float | None], old: Sequence[float | None]) -> list[float | None]:
    """``100 * (1 - old / new)`` seed by seed, in percent: the difference divided by the *new* throughput."""
    return [100.0 * (1.0 - b / a) if a and b is not None else None for a, b in zip(new, old, strict=True)]


def gain_row(new: Sequence[float | None], old: Sequence[float | None]) -> dict[str, float | None]:
    """Both gains with their intervals over seeds, as a row for a table."""
    row: dict[str, float | None] = {}
    for name, values in (("(R-D)/D %", gains(new, old)), ("(R-D)/R %", gains_on_new(new, old))):
        mean = measured(values)
        row |= {
            name: mean.value,
            f"+- {name[-3]}": None if mean.value is None or mean.top is None else mean.top - mean.value,
        }
    return row


def rates_of(
    tables: SinkTables, topology: str, variant: str, seeds: Sequence[int], from_s: float
) -> list[float | None]:
    """`sink_rates` of one of R-Storm's five topologies."""
    return sink_rates(tables, variant, seeds, topology=topology, sinks=layout(topology).sinks, from_s=from_s)
