"""The standard metrics of some runs as pandas tables, each made when it is looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import pyarrow as pa


class MetricTables:
    """The standard metrics of some runs as small pandas tables, sorted by their columns from left to right.

    Every table starts with experiment, variant, seed and run (the run's name). The other columns stand with
    the function of `storm_lab.pipeline` that computes the table: the part of the name before ``_10s`` or
    ``_60s`` (the bin) names it. A table that was not asked for at first is computed when it is looked at.
    """

    runs: pd.DataFrame
    """storm_version, duration_s, warm_up_s, sample_every, status, reason, parameters (JSON)."""
    latency_10s: pd.DataFrame
    latency_60s: pd.DataFrame
    steady_latency: pd.DataFrame
    latency_distribution: pd.DataFrame
    throughput_1s: pd.DataFrame
    throughput_10s: pd.DataFrame
    throughput_60s: pd.DataFrame
    component_throughput_10s: pd.DataFrame
    component_throughput_60s: pd.DataFrame
    failures_10s: pd.DataFrame
    failures_60s: pd.DataFrame
    degradation: pd.DataFrame
    executor_traffic: pd.DataFrame
    traffic_share_60s: pd.DataFrame
    steady_traffic_share: pd.DataFrame
    occupancy: pd.DataFrame
    stays: pd.DataFrame
    node_cpu_60s: pd.DataFrame
    executor_cpu_60s: pd.DataFrame
    component_cpu_60s: pd.DataFrame
    steady_cpu: pd.DataFrame
    steady_thread_cpu: pd.DataFrame
    capacity_60s: pd.DataFrame
    """Of executors."""
    final_capacity: pd.DataFrame
    """Of components, over the last 600 s: what Storm's UI shows at the end."""
    execution_times_60s: pd.DataFrame
    steady_elapsed: pd.DataFrame
    steady: pd.DataFrame
    stabilisation: pd.DataFrame
    """Of the processing time in bins of 10 s."""
    spikes: pd.DataFrame
    """Of the processing time in bins of 10 s."""
    events: pd.DataFrame
    control: pd.DataFrame
    nodes: pd.DataFrame

    def __init__(
        self,
        runs: pd.DataFrame,
        parts: Mapping[str, Sequence[pa.Table]],
        others: Callable[[str], Sequence[pa.Table]],
    ) -> None:
        """``parts`` are the tables by name and run, ``others`` computes those of a name that is not there."""
        self.runs = runs
        self._parts = dict(parts)
        self._others = others

    def __getattr__(self, name: str) -> pd.DataFrame:
        # Asked for first: a frame is made only then, for most readers need few of them.
        if name not in TABLE_NAMES:
            raise AttributeError(f"there is no metric table {name!r}", name=name, obj=self)
        frame = _frame(self.part(name))
        vars(self)[name] = frame
        return frame

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TABLE_NAMES})

    def part(self, name: str) -> Sequence[pa.Table]:
        """A table as Arrow, of each run."""
        if name not in self._parts:
            # Spark may take some seconds, and whoever declares metrics should hear that one was left out.
            print(f"{name} was not among the metrics asked for: looked up or computed now", file=sys.stderr)
            self._parts[name] = self._others(name)
        return self._parts[name]


TABLE_NAMES = tuple(name for name in MetricTables.__annotations__ if name != "runs")


def sorted_table(table: pa.Table) -> pa.Table:
    """A table with its rows in the order of its columns from left to right."""
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _frame(parts: Sequence[pa.Table]) -> pd.DataFrame:
    # Whether Spark calls a column nullable depends on its plan, so tables of two jobs may differ in that.
    tables = [part.cast(pa.schema([field.with_nullable(True) for field in part.schema])) for part in parts]
    frame: pd.DataFrame = sorted_table(pa.concat_tables(tables)).to_pandas()
    return frame
