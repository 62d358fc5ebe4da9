"""The standard metrics of a set of runs as pandas tables, each created on first access."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import pyarrow as pa


class MetricTables:
    """The standard metrics of a set of runs as small pandas tables, sorted by their columns left to right.

    Every table starts with experiment, variant, seed and run (the run's name). The other columns are
    documented in `storm_lab.pipeline`, with the function that computes the table: its name is the table's
    without ``_10s`` or ``_60s`` (the bin). A table that was not requested at first is computed on access.
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
    steady_traffic_share: pd.DataFrame
    occupancy: pd.DataFrame
    stays: pd.DataFrame
    node_cpu_60s: pd.DataFrame
    steady_cpu: pd.DataFrame
    steady_thread_cpu: pd.DataFrame
    capacity_60s: pd.DataFrame
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
        compute: Callable[[str], Sequence[pa.Table]],
    ) -> None:
        """``parts`` holds the tables by name, one per run; ``compute`` returns a table that it lacks."""
        self.runs = runs
        self._parts = dict(parts)
        self._compute = compute

    def __getattr__(self, name: str) -> pd.DataFrame:
        # Frames are created on access, because most readers need few of them.
        if name not in TABLE_NAMES:
            raise AttributeError(f"there is no metric table {name!r}", name=name, obj=self)
        frame = _frame(self.part(name))
        vars(self)[name] = frame
        return frame

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TABLE_NAMES})

    def part(self, name: str) -> Sequence[pa.Table]:
        """Return a table as Arrow tables, one per run."""
        if name not in self._parts:
            # Spark may take some seconds, and the author of the experiment should know that a metric was not
            # declared.
            print(f"{name} was not requested: loading or computing it now", file=sys.stderr)
            self._parts[name] = self._compute(name)
        return self._parts[name]


TABLE_NAMES = tuple(name for name in MetricTables.__annotations__ if name != "runs")


def sorted_table(table: pa.Table) -> pa.Table:
    """Sort the rows of a table by its columns from left to right."""
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _frame(parts: Sequence[pa.Table]) -> pd.DataFrame:
    # Whether Spark calls a column nullable depends on its plan, so tables of two jobs may differ in that.
    tables = [part.cast(pa.schema([field.with_nullable(True) for field in part.schema])) for part in parts]
    frame: pd.DataFrame = sorted_table(pa.concat_tables(tables)).to_pandas()
    return frame
