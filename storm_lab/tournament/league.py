"""A league of schedulers: one topology and cluster under each of them, and a table with intervals over seeds.

A run is measured over its steady state. This begins after half of the run (at the latest at
`storm_lab.experiments.online_scheduling.STEADY_S`), but not before `storm_lab.league.settled.SETTLE_S` have
passed since the last re-assignment. The time between is reported as the transition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from storm_lab.errors import UserError
from storm_lab.experiments.measurement import over_seeds
from storm_lab.experiments.parameter import Parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.settled import MIN_WINDOW_S, SETTLE_S
from storm_lab.league.stage import Stage, stage_parameters, stage_runs
from storm_lab.model.checks import check_distinct
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.execute import JOBS, PlayedRun, play_all, reused_by_variant
from storm_lab.runs.live_constants import Constants, on_machine
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

_STEADY = (
    "processing_ms",
    "processing_p99_ms",
    "complete_ms",
    "complete_p99_ms",
    "throughput",
    "nodes",
    "inter_node_percent",
)
"""Steady-state columns of `measured_runs`."""

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
        on its ten blades (`storm_lab.papers.tstorm.word_count_stage.STAGE`).

        Raises:
            UserError: two entrants have the same name, or a parameter is refused.
        """
        check_distinct("a league", "entrant", [entrant.name for entrant in entrants])
        return cls(tuple(entrants), stage, stage_parameters(stage, given or {}), machine)

    def play(self, *, show_progress: bool = False) -> tuple[PlayedRun, ...]:
        """Play all runs that are not yet on disk, and print how many were reused.

        Schedulers defined in a notebook play in this process.

        Raises:
            StormLabError: a run is refused or fails.
        """
        played: list[PlayedRun] = []
        for entrants, jobs in (
            ([e for e in self.entrants if not e.in_notebook], JOBS),
            ([e for e in self.entrants if e.in_notebook], 0),
        ):
            runs = on_machine(stage_runs(self.stage, entrants, self.parameters), self.machine)
            played += play_all(runs, jobs=jobs, show_progress=show_progress)
        if any(run.reused for run in played):
            # Printed to stdout, because notebooks show stderr as an error and this is none.
            print(reused_by_variant(played))
        return tuple(played)

    def metrics(self) -> MetricTables:
        """Compute the metric tables of all runs by PySpark; `StormLabError` as `play`, or without Java."""
        return metrics_of([run.folder for run in self.play()])


def results(tables: MetricTables) -> pd.DataFrame:
    """Return one row per run: variant, seed, the columns of `COLUMNS` and `TRANSITION`, and ``unranked``.

    ``unranked`` says why a run has no steady state to measure; the steady-state columns are then empty. For
    all other runs, ``unranked`` is empty. ``transition_ms`` is the highest mean of 10 s within two minutes of
    a re-assignment.
    """
    rows = measured_runs(tables)
    renamed = rows.rename(columns={"processing_p99_ms": "p99_ms", "throughput": "lines_per_s"})
    wanted = ["variant", "seed", *COLUMNS, *TRANSITION, "unranked"]
    return renamed[wanted].sort_values(["variant", "seed"], ignore_index=True)


def measured_runs(tables: MetricTables) -> pd.DataFrame:
    """Return one row per run, over all of its topologies.

    Columns: run, variant, seed; then, in the steady state, processing_ms, processing_p99_ms, complete_ms,
    complete_p99_ms, throughput, nodes and inter_node_percent (empty for a run without a steady state); those
    of `TRANSITION`; and unranked. Throughput is the root tuples acked per second, or, if none are anchored,
    the tuples executed per second by the bolts.
    """
    latency = dict(iter(tables.steady_latency.groupby("run")))
    rates = dict(iter(tables.steady.groupby("run")))
    sent = dict(iter(tables.steady_traffic_share.groupby("run")))
    everything = tables.occupancy[tables.occupancy["topology"] == ""].sort_values("from_s")
    nodes = everything.groupby("run")["nodes"].last()
    transition = _transition(tables).set_index("run")
    rows = []
    facts: dict[str, Any]
    for facts in tables.runs.to_dict("records"):  # type: ignore[assignment]
        run = facts["run"]
        row = {name: facts[name] for name in ("run", "variant", "seed")}
        found = dict.fromkeys(_STEADY, math.nan)
        if run in rates:
            acked = float(rates[run]["acked_per_s"].sum())
            found["throughput"] = acked if acked > 0 else float(rates[run]["executed_per_s"].sum())
        if run in latency:
            own = latency[run]
            for kind in ("processing", "complete"):
                found[f"{kind}_ms"] = _weighted(own[f"{kind}_mean_ms"], own["tuples"])
                # Percentiles cannot be averaged, so this is the worst of several topologies.
                found[f"{kind}_p99_ms"] = float(own[f"{kind}_p99_ms"].max())
        if run in sent:
            found["inter_node_percent"] = 100 * _weighted(sent[run]["inter_node_share"], sent[run]["tuples"])
        found["nodes"] = float(nodes.get(run, math.nan))
        moves = transition.loc[run].to_dict() if run in transition.index else {}
        row |= {
            "measured_from_s": facts["warm_up_s"],
            "reassigned_s": moves.get("reassigned_s", math.nan),
            "moved": int(moves.get("moved", 0)),
            "transition_ms": moves.get("transition_ms", math.nan),
        }
        row["unranked"] = _unranked(facts, row["reassigned_s"], found["throughput"])
        rows.append(row | (dict.fromkeys(_STEADY, math.nan) if row["unranked"] else found))
    return pd.DataFrame(rows, columns=["run", "variant", "seed", *_STEADY, *TRANSITION, "unranked"])


def _weighted(values: pd.Series[float], weights: pd.Series[float]) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total else math.nan


def league_table(rows: pd.DataFrame, baseline: str = "") -> pd.DataFrame:
    """Return a table of texts with mean and 95 % interval over seeds for every variant, quickest first.

    With a ``baseline``, one of the variants, a column gives the difference of each variant's processing time
    from the baseline's, seed by seed. Variants that complete fewer than nine tenths of the most lines come
    after the others, because a scheduler that drops load is quick. Variants with a run that cannot be ranked
    come last.

    Raises:
        UserError: no variant has the baseline's name.
    """
    variants = list(dict.fromkeys(rows["variant"]))
    if baseline and baseline not in variants:
        remedy = f"there are: {', '.join(variants)}"
        raise UserError("no entrant has this name", field="baseline", value=baseline, remedy=remedy)
    table: dict[str, dict[str, str]] = {}
    means = rows.groupby("variant")[["processing_ms", "lines_per_s"]].mean()
    means["behind"] = means["lines_per_s"] < MIN_THROUGHPUT_SHARE * means["lines_per_s"].max()
    means["unranked"] = [
        "; ".join(dict.fromkeys(text for text in rows.loc[rows["variant"] == name, "unranked"] if text))
        for name in means.index
    ]
    means["last"] = means["unranked"] != ""
    ordered = means.sort_values(["last", "behind", "processing_ms"])
    for place, name in enumerate(ordered.index, 1):
        own = rows[rows["variant"] == name]
        unranked = str(ordered.loc[name, "unranked"])
        cells = {"rank": "-" if unranked else str(place)}
        cells |= {label: _interval(own[column].astype(float)) for column, label in COLUMNS.items()}
        if baseline:
            label = f"time against {baseline}, %"
            gains = _against(rows, str(name), baseline)
            cells[label] = "-" if name == baseline else _interval(gains, sign=True)
        cells |= {label: _interval(own[column].astype(float), 0) for column, label in TRANSITION.items()}
        if means["last"].any():
            cells["not ranked because"] = unranked
        table[str(name)] = cells
    return pd.DataFrame.from_dict(table, orient="index")


def _transition(tables: MetricTables) -> pd.DataFrame:
    """Return each run's last re-assignment, executors moved, and worst 10 s; runs without one have no row."""
    moves = tables.events[tables.events["kind"].isin(["re-assignment", "rebalance"])]
    last = moves.groupby("run", as_index=False).agg(reassigned_s=("time_s", "max"))
    own = moves.loc[moves["kind"] == "re-assignment", ["run", "event"]]
    peaks = tables.spikes.merge(own, on=["run", "event"])
    worst = peaks.groupby("run", as_index=False).agg(transition_ms=("peak", "max"))
    found = last.merge(_moved(tables), on="run", how="outer").merge(worst, on="run", how="left")
    return found.assign(moved=found["moved"].fillna(0))


def _moved(tables: MetricTables) -> pd.DataFrame:
    """Count the executors moved by each run's assignments, without the first one of each topology."""
    assigned = tables.control[tables.control["action"] == "assign"]
    assigned = assigned.sort_values(["run", "subject", "time_s", "detail"])
    later = assigned[assigned.duplicated(["run", "subject"])]
    counts = later["detail"].str.extract(r'"moved":(\d+)', expand=False).fillna(0).astype(int)
    return later.assign(moved=counts).groupby("run", as_index=False).agg(moved=("moved", "sum"))


def _unranked(facts: Mapping[str, Any], reassigned_s: float, throughput: float) -> str:
    """Return why a run has no steady state to measure; empty if it has one."""
    duration_s = float(facts["duration_s"])
    if facts["status"] != Status.COMPLETE.value:
        return f"ended at {duration_s:.0f} s ({facts['reason']})"
    if duration_s - float(facts["warm_up_s"]) < MIN_WINDOW_S:
        return (
            f"re-assigned at {reassigned_s:.0f} s of {duration_s:.0f} s, "
            f"less than {SETTLE_S + MIN_WINDOW_S:.0f} s before the end"
        )
    return "" if throughput > 0 else NOTHING_COMPLETED


def _against(rows: pd.DataFrame, name: str, baseline: str) -> pd.Series[float]:
    """Return by how many per cent the variant's time exceeds the baseline's, by seed; NaN if unknown."""
    times = rows.pivot(index="seed", columns="variant", values="processing_ms").astype(float)
    return 100 * (times[name] / times[baseline] - 1)


def _interval(values: Iterable[float], digits: int = 2, *, sign: bool = False) -> str:
    samples = [float(value) for value in values if value == value]
    if not samples:
        return "none"
    found = over_seeds(samples)
    assert found.value is not None
    text = f"{found.value:+.{digits}f}" if sign else f"{found.value:.{digits}f}"
    if found.low is None or found.high is None or digits == 0:
        return text
    return f"{text} ± {(found.high - found.low) / 2:.{digits}f}"
