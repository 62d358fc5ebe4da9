"""What the runs of two tasks at four distances say about the ordering of section 4."""

from __future__ import annotations

from typing import Protocol

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measured, value_of

CLAIMS = ("rstorm-network-hierarchy",)
METRICS = ("steady_elapsed",)
"""The metric tables that the notebook and `measure` read."""
DISTANCES = ("process", "node", "rack", "cluster")
"""From near to far, as the tuple log calls them; cluster: another rack."""


class HopTables(Protocol):
    """The metric table that is needed here."""

    @property
    def steady_elapsed(self) -> pd.DataFrame: ...


def hop_latency(tables: HopTables, distance: str, seeds: tuple[int, ...]) -> list[float | None]:
    """Mean time from the spout's emit to the bolt's receive queue, in ms; of tuples that went so far only."""
    rows = tables.steady_elapsed
    return value_of(rows[rows["locality"] == distance], "enqueue_mean_ms", distance, seeds)


def measure(tables: HopTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The order of the four latencies."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    values = tuple(measured(hop_latency(tables, d, seeds), label=d) for d in DISTANCES)
    how = f"mean time from emit to the receive queue, from {parameters.number('from_s'):g} s on"
    return (Measurement("rstorm-network-hierarchy", values, "ms", how),)
