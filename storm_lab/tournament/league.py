"""A league of schedulers: one topology and cluster under each of them, and a table with intervals over seeds.

A run is measured over its steady state. This begins after half of the run (at the latest at
`storm_lab.experiments.online_scheduling.STEADY_S`), but not before `storm_lab.league.stage.SETTLE_S` have
passed since the last re-assignment. The time between is reported as the transition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from storm_lab.errors import UserError
from storm_lab.experiments.measurement import half_width, over_seeds
from storm_lab.experiments.parameter import Parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import MIN_WINDOW_S, SETTLE_S, Stage, stage_parameters, stage_runs
from storm_lab.model.checks import check_distinct
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.execute import JOBS, PlannedRun, play_all, reused_by_variant
from storm_lab.runs.live_constants import Constants, on_machine
from storm_lab.tournament.objective import executor_count, is_anchored
from storm_lab.tuplelog import Status

COLUMNS = {
    "processing_ms": "processing time, ms",
    "p99_ms": "99th percentile, ms",
    "lines_per_s": "lines completed per second",
    "nodes": "nodes in use",
    "inter_node_percent": "tuples between nodes, %",
}
"""Result columns that are measured in the steady state, with their meaning."""

TRANSITION = {
    "measured_from_s": "measured from, s",
    "reassigned_s": "last re-assigned at, s",
    "moved": "executors moved",
    "transition_ms": "worst 10 s of the transition, ms",
}
"""Result columns that say when the steady state began and what happened before it."""

METRICS = ("steady", "steady_latency", "steady_traffic_share", "occupancy", "events", "spikes", "control")
"""The metric tables that the results are computed from."""

MIN_THROUGHPUT_SHARE = 0.9
"""Share of the most lines per second that an entrant must complete to be ranked by its time."""

NOTHING_COMPLETED = "completed nothing in its steady state"
"""Why a run that ran to its end is not measured."""


@dataclass(frozen=True, slots=True)
class League:
    """Entrants, the stage on which they all run, and its parameters."""

    entrants: tuple[Entrant, ...]
    stage: Stage
    parameters: Parameters
    machine: Constants | None = None

    @classmethod
    def of(
        cls,
        entrants: Sequence[Entrant],
        stage: Stage,
        given: Mapping[str, object] | None = None,
        machine: Constants | None = None,
    ) -> League:
        """Make a league on a stage, optionally with some parameters and a measured machine's constants.

        A stage is a `storm_lab.league.reader_site.Site` or a stage of a paper, such as T-Storm's Word Count
        on its ten blades (`storm_lab.papers.tstorm.word_count_stage.STAGE`). Raises `UserError` if two
        entrants have the same name, or a parameter is refused.
        """
        check_distinct("a league", "entrant", [entrant.name for entrant in entrants])
        return cls(tuple(entrants), stage, stage_parameters(stage, given or {}), machine)

    def play(self, *, show_progress: bool = False) -> tuple[PlannedRun, ...]:
        """Play all runs that are not yet on disk, and print how many were reused.

        Schedulers defined in a notebook play in this process. Raises `StormLabError` if a run is refused or
        fails.
        """
        played: list[PlannedRun] = []
        for in_notebook, jobs in ((False, JOBS), (True, 0)):
            entrants = [entrant for entrant in self.entrants if entrant.in_notebook is in_notebook]
            runs = on_machine(stage_runs(self.stage, entrants, self.parameters), self.machine)
            played += play_all(runs, jobs=jobs, show_progress=show_progress)
        if any(run.reused for run in played):
            # Printed to stdout, because notebooks show stderr as an error and this is none.
            print(reused_by_variant(played))
        return tuple(played)

    def metrics(self) -> MetricTables:
        """Compute the metric tables of all runs by PySpark; `StormLabError` as `play`, or without Java.

        Their table of runs has two further columns for `results`: anchored and executors, from the stage.
        """
        played = self.play()
        tables = metrics_of([run.folder for run in played])
        first = played[0].spec.describe(played[0].spec)
        tables.runs = tables.runs.assign(anchored=is_anchored(first), executors=executor_count(first))
        return tables


def results(tables: MetricTables) -> pd.DataFrame:
    """Return one row per run: variant, seed, the columns of `COLUMNS` and `TRANSITION`, and ``unranked``.

    ``unranked`` says why a run has no steady state to measure or is not compared; the steady-state columns
    are then empty. For all other runs, ``unranked`` is empty. ``transition_ms`` is the highest mean of 10 s
    within two minutes of a re-assignment. Only the tables of a `League` say how many executors there are to
    place, and whether tuples are anchored; in others, a run's tuples are if any of them was acked or failed.
    """
    runs, steady = tables.runs, tables.steady
    if "anchored" in runs:
        anchored = dict(zip(runs["run"], runs["anchored"], strict=True))
        rows = measured_runs(tables, anchored, dict(zip(runs["run"], runs["executors"], strict=True)))
    else:
        ended = set(steady["run"][steady["acked"] + steady["failed"] > 0])
        rows = measured_runs(tables, {run: run in ended for run in runs["run"]}, {})
    renamed = rows.rename(columns={"processing_p99_ms": "p99_ms", "throughput": "lines_per_s"})
    wanted = ["variant", "seed", *COLUMNS, *TRANSITION, "unranked"]
    return renamed[wanted].sort_values(["variant", "seed"], ignore_index=True)


def measured_runs(
    tables: MetricTables, anchored: Mapping[str, bool], executors: Mapping[str, int]
) -> pd.DataFrame:
    """Return one row per run, over all of its topologies.

    ``anchored`` says by run whether any tuples are, ``executors`` how many there are to place, where known.

    Columns: run, variant, seed; then, in the steady state, processing_ms, processing_p99_ms, complete_ms,
    complete_p99_ms, throughput, nodes and inter_node_percent (empty for a run without a steady state); those
    of `TRANSITION`; and unranked. Throughput is the root tuples acked per second, or, if none are anchored,
    the tuples executed per second by the bolts. A run whose tuples all fail thus completes nothing.
    """
    runs = tables.runs.set_index("run")
    steady = pd.DataFrame(index=runs.index)
    latency = tables.steady_latency.groupby("run")
    for kind in ("processing", "complete"):
        steady[f"{kind}_ms"] = _weighted(tables.steady_latency, f"{kind}_mean_ms")
        # Percentiles cannot be averaged, so this is the worst of several topologies.
        steady[f"{kind}_p99_ms"] = latency[f"{kind}_p99_ms"].max()
    rates = tables.steady.groupby("run")[["acked_per_s", "executed_per_s"]].sum()
    tracked = rates.index.isin([run for run, value in anchored.items() if value])
    steady["throughput"] = rates["acked_per_s"].where(tracked, rates["executed_per_s"])
    everything = tables.occupancy[tables.occupancy["topology"] == ""].sort_values("from_s")
    steady["nodes"] = everything.groupby("run")["nodes"].last().astype(float)
    steady["inter_node_percent"] = 100 * _weighted(tables.steady_traffic_share, "inter_node_share")
    transition = _transition(tables)
    facts = runs.join([steady, transition])
    facts["placed"] = _placed(tables).reindex(facts.index).fillna(0).astype(int)
    facts["wanted"] = facts.index.map(executors).fillna(0).astype(int)
    unranked = pd.Series([_unranked(run) for run in facts.itertuples()], runs.index, name="unranked")
    found = runs[["variant", "seed"]].join([steady[unranked == ""], transition, unranked])
    return found.reset_index()


def _weighted(table: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return the mean over each run's topologies, weighted by their tuples; NaN without tuples."""
    sums = (table[column] * table["tuples"]).groupby(table["run"]).sum()
    return sums / table["tuples"].groupby(table["run"]).sum()


def league_table(rows: pd.DataFrame, baseline: str = "") -> pd.DataFrame:
    """Return a table of texts with mean and 95 % interval over seeds for every variant, quickest first.

    With a ``baseline``, one of the variants, a column gives the difference of each variant's processing time
    from the baseline's, seed by seed. Variants that complete fewer than nine tenths of the most lines come
    after the others, because a scheduler that drops load is quick. Variants with a run that cannot be ranked
    come last. Raises `UserError` if no variant has the baseline's name.
    """
    variants = list(dict.fromkeys(rows["variant"]))
    if baseline and baseline not in variants:
        remedy = f"there are: {', '.join(variants)}"
        raise UserError("no entrant has this name", field="baseline", value=baseline, remedy=remedy)
    table: dict[str, dict[str, str]] = {}
    grouped = rows.groupby("variant")
    means = grouped[["processing_ms", "lines_per_s"]].mean()
    means["behind"] = means["lines_per_s"] < MIN_THROUGHPUT_SHARE * means["lines_per_s"].max()
    means["unranked"] = grouped["unranked"].agg(lambda texts: "; ".join(filter(None, dict.fromkeys(texts))))
    means["last"] = means["unranked"] != ""
    ordered = means.sort_values(["last", "behind", "processing_ms"])
    for place, name in enumerate(ordered.index, 1):
        own = rows[rows["variant"] == name]
        unranked = str(ordered.loc[name, "unranked"])
        cells = {"rank": "-" if unranked else str(place)}
        cells |= {label: _interval(own[column].astype(float)) for column, label in COLUMNS.items()}
        if baseline:
            label = f"time against {baseline}, %"
            times = rows.pivot(index="seed", columns="variant", values="processing_ms").astype(float)
            gains = 100 * (times[name] / times[baseline] - 1)
            cells[label] = "-" if name == baseline else _interval(gains, sign=True)
        cells |= {label: _interval(own[column].astype(float), 0) for column, label in TRANSITION.items()}
        if means["last"].any():
            cells["not ranked because"] = unranked
        table[str(name)] = cells
    return pd.DataFrame.from_dict(table, orient="index")


def _placed(tables: MetricTables) -> pd.Series[int]:
    """Return by run how many executors the last assignments of its topologies place."""
    assigned = tables.control[tables.control["action"] == "assign"]
    last = assigned.sort_values("time_s", kind="stable").drop_duplicates(["run", "subject"], keep="last")
    counts = [sum(json.loads(detail).get("workers", {}).values()) for detail in last["detail"]]
    return pd.Series(counts, last["run"], dtype=int).groupby(level=0).sum()


def _transition(tables: MetricTables) -> pd.DataFrame:
    """Return the columns of `TRANSITION` by run."""
    moves = tables.events[tables.events["kind"].isin(["re-assignment", "rebalance"])]
    own = moves.loc[moves["kind"] == "re-assignment", ["run", "event"]]
    # All assignments but the first one of each topology.
    assigned = tables.control[tables.control["action"] == "assign"]
    assigned = assigned.sort_values(["run", "subject", "time_s", "detail"])
    later = assigned[assigned.duplicated(["run", "subject"])]
    moved = later["detail"].str.extract(r'"moved":(\d+)', expand=False).fillna(0).astype(int)
    found = {
        "measured_from_s": tables.runs.set_index("run")["warm_up_s"],
        "reassigned_s": moves.groupby("run")["time_s"].max(),
        "moved": moved.groupby(later["run"]).sum(),
        "transition_ms": tables.spikes.merge(own, on=["run", "event"]).groupby("run")["peak"].max(),
    }
    return pd.DataFrame(found).fillna({"moved": 0}).astype({"moved": int})


def _unranked(run: Any) -> str:
    """Return why a run is not measured; empty if it has a steady state with all executors."""
    if run.status != Status.COMPLETE.value:
        return f"ended at {run.duration_s:.0f} s ({run.reason})"
    if run.duration_s - run.warm_up_s < MIN_WINDOW_S:
        at = f"re-assigned at {run.reassigned_s:.0f} s of {run.duration_s:.0f} s"
        return f"{at}, less than {SETTLE_S + MIN_WINDOW_S:.0f} s before the end"
    if 0 < run.placed < run.wanted:
        return f"left {run.wanted - run.placed} of {run.wanted} executors unplaced"
    return "" if run.throughput > 0 else NOTHING_COMPLETED


def _interval(values: Iterable[float], digits: int = 2, *, sign: bool = False) -> str:
    samples = [float(value) for value in values if value == value]
    if not samples:
        return "none"
    mean = over_seeds(samples).value
    text = f"{mean:+.{digits}f}" if sign else f"{mean:.{digits}f}"
    return text if len(samples) == 1 or digits == 0 else f"{text} ± {half_width(samples):.{digits}f}"
