"""The house set of some runs as pandas tables, each made when it is looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Self, overload

import pandas as pd
import pyarrow as pa

from storm_lab.tuplelog.reader import RunRefused


class _Table:
    """A metric table that is made into a frame when it is asked for first: most readers need few of them."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, tables: None, owner: type) -> Self: ...

    @overload
    def __get__(self, tables: MetricTables, owner: type) -> pd.DataFrame: ...

    def __get__(self, tables: MetricTables | None, owner: type) -> pd.DataFrame | Self:
        if tables is None:
            return self
        frame = _frame(tables.part(self._name))
        vars(tables)[self._name] = frame
        return frame


class MetricTables:
    """The house set of some runs as small pandas tables, sorted by their columns from left to right.

    Every table starts with experiment, variant, seed and run (the run's name). The other columns stand with
    the function of `storm_lab.pipeline` that computes the table: the part of the name before ``_10s`` or
    ``_60s`` (the bin) names it. ``refused`` are the folders that were left out, with the reason. A table that
    was not asked for at first is computed when it is looked at.
    """

    runs: pd.DataFrame
    """storm_version, duration_s, warm_up_s, sample_every, status, reason, parameters (JSON)."""
    latency_10s = _Table()
    latency_60s = _Table()
    steady_latency = _Table()
    latency_distribution = _Table()
    throughput_1s = _Table()
    throughput_10s = _Table()
    throughput_60s = _Table()
    component_throughput_10s = _Table()
    component_throughput_60s = _Table()
    failures_10s = _Table()
    failures_60s = _Table()
    degradation = _Table()
    executor_traffic = _Table()
    traffic_share_60s = _Table()
    steady_traffic_share = _Table()
    occupancy = _Table()
    stays = _Table()
    node_cpu_60s = _Table()
    executor_cpu_60s = _Table()
    component_cpu_60s = _Table()
    steady_cpu = _Table()
    steady_thread_cpu = _Table()
    capacity_60s = _Table()
    """Of executors."""
    final_capacity = _Table()
    """Of components, over the last 600 s: what Storm's UI shows at the end."""
    execution_times_60s = _Table()
    steady_elapsed = _Table()
    steady = _Table()
    stabilisation = _Table()
    """Of the processing time in bins of 10 s."""
    spikes = _Table()
    """Of the processing time in bins of 10 s."""
    events = _Table()
    control = _Table()
    nodes = _Table()

    def __init__(
        self,
        runs: pd.DataFrame,
        parts: Mapping[str, Sequence[pa.Table]],
        refused: Sequence[RunRefused] = (),
        others: Callable[[str], Sequence[pa.Table]] | None = None,
    ) -> None:
        """``parts`` are the tables by name and run, ``others`` computes those of a name that is not there."""
        self.runs = runs
        self._parts = dict(parts)
        self.refused = tuple(refused)
        self._others = others

    def part(self, name: str) -> Sequence[pa.Table]:
        """A table as Arrow, of each run. Raises `KeyError` where it is not there and cannot be computed."""
        if name not in self._parts and self._others is not None:
            # Spark may take some seconds, and whoever declares metrics should hear that one was left out.
            print(f"{name} was not among the metrics asked for: looked up or computed now", file=sys.stderr)
            self._parts[name] = self._others(name)
        return self._parts[name]


TABLE_NAMES = tuple(name for name, value in vars(MetricTables).items() if isinstance(value, _Table))


def sorted_table(table: pa.Table) -> pa.Table:
    """A table with its rows in the order of its columns from left to right."""
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _frame(parts: Sequence[pa.Table]) -> pd.DataFrame:
    # Whether Spark calls a column nullable depends on its plan, so tables of two jobs may differ in that.
    tables = [part.cast(pa.schema([field.with_nullable(True) for field in part.schema])) for part in parts]
    frame: pd.DataFrame = sorted_table(pa.concat_tables(tables)).to_pandas()
    return frame
