"""A league of schedulers: one topology and cluster under each, and one table with intervals over seeds."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from storm_lab.errors import UserError
from storm_lab.experiments.measurement import over_seeds
from storm_lab.experiments.parameter import Parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import Stage, stage_parameters, stage_runs
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.execute import JOBS, PlayedRun, play_all
from storm_lab.runs.reused import reused_line

COLUMNS = {
    "processing_ms": "processing time, ms",
    "p99_ms": "99th percentile, ms",
    "lines_per_s": "lines completed per second",
    "nodes": "nodes in use",
    "inter_node_percent": "tuples between nodes, %",
}
"""Columns of the results and what they mean; all over the second half of the run at most, after its start."""

KEEPS_UP = 0.9
"""Share of the most lines per second that an entrant must complete to be ranked by its time."""


@dataclass(frozen=True, slots=True)
class League:
    """Entrants, the stage on which they all run, and its parameters."""

    entrants: tuple[Entrant, ...]
    stage: Stage
    parameters: Parameters

    @classmethod
    def of(
        cls,
        entrants: Sequence[Entrant],
        stage: Stage,
        given: Mapping[str, object] | None = None,
    ) -> League:
        """A league on a stage, with some of its parameters set.

        A stage is `storm_lab.league.reader_site.Site`, or one of a paper, such as T-Storm's Word Count on
        its ten blades (`storm_lab.papers.tstorm.word_count_stage.STAGE`).

        Raises:
            UserError: two entrants of one name, or a parameter that does not fit.
        """
        names = [entrant.name for entrant in entrants]
        for name in names:
            if names.count(name) > 1:
                raise UserError("two entrants have this name", field="name", value=name, remedy="rename one")
        return cls(tuple(entrants), stage, stage_parameters(stage, given or {}))

    def play(self, *, show_progress: bool = False) -> tuple[PlayedRun, ...]:
        """Have all runs on disk, and say on stderr how many lay there already.

        Schedulers written in a notebook play in this process.

        Raises:
            StormLabError: a run is refused or fails.
        """
        played: list[PlayedRun] = []
        for entrants, jobs in (
            ([e for e in self.entrants if not e.in_notebook], JOBS),
            ([e for e in self.entrants if e.in_notebook], 0),
        ):
            runs = stage_runs(self.stage, entrants, self.parameters)
            played += play_all(runs, jobs=jobs, show_progress=show_progress)
        print(reused_line(sum(run.reused for run in played), len(played)), file=sys.stderr)
        return tuple(played)

    def metrics(self) -> MetricTables:
        """The metric tables of all runs, through PySpark.

        Raises:
            StormLabError: as `play`, or there is no Java for Spark.
        """
        return metrics_of([run.folder for run in self.play()])


def results(tables: MetricTables) -> pd.DataFrame:
    """One row a run: variant, seed and the columns of `COLUMNS`."""
    keys = ["variant", "seed"]
    latency = tables.steady_latency[[*keys, "processing_mean_ms", "processing_p99_ms"]]
    rates = tables.steady[[*keys, "acked_per_s", "nodes_last"]]
    share = tables.steady_traffic_share[[*keys, "inter_node_share"]]
    joined = rates.merge(latency, on=keys, how="left").merge(share, on=keys, how="left")
    joined["inter_node_percent"] = 100 * joined["inter_node_share"]
    renamed = joined.rename(
        columns={
            "processing_mean_ms": "processing_ms",
            "processing_p99_ms": "p99_ms",
            "acked_per_s": "lines_per_s",
            "nodes_last": "nodes",
        }
    )
    return renamed[[*keys, *COLUMNS]].sort_values(keys, ignore_index=True)


def league_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and 95 % interval over seeds for every variant, quickest first; columns as texts.

    Those that complete fewer than nine tenths of the most lines come last: who drops load is quick.
    """
    table = {
        variant: {label: _interval(group[column].dropna().tolist()) for column, label in COLUMNS.items()}
        for variant, group in rows.groupby("variant")
    }
    means = rows.groupby("variant")[["processing_ms", "lines_per_s"]].mean()
    means["behind"] = means["lines_per_s"] < KEEPS_UP * means["lines_per_s"].max()
    order = means.sort_values(["behind", "processing_ms"]).index
    return pd.DataFrame.from_dict(table, orient="index").loc[list(order)]


def _interval(samples: list[float]) -> str:
    if not samples:
        return "none"
    value = over_seeds(samples)
    if value.low is None or value.high is None:
        return f"{value.value:.2f}"
    return f"{value.value:.2f} ± {(value.high - value.low) / 2:.2f}"
