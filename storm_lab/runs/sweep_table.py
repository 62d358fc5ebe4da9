"""Tables of a sweep: one row of results per run, and means with intervals over seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pandas as pd

from storm_lab.errors import unknown_name
from storm_lab.experiments.measurement import Measured, over_seeds
from storm_lab.league.stage import EXPERIMENT as LEAGUE
from storm_lab.league.stage import MIN_WINDOW_S
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.runs.digest import scalar
from storm_lab.runs.grid import Setting
from storm_lab.tuplelog import Status

FAILED = "failed"
"""Status of a run that left no log; its row has the reason."""

UNSETTLED = "unsettled"
"""Status of a run whose scheduler re-assigned too close to the end for a steady state."""

SETTING_COLUMNS = ("experiment", "variant", "seed", "topology", "run", "status", "reason", "measured_from_s")

_UNITS: Mapping[str, Mapping[str, str]] = {
    "steady_latency": {
        f"{kind}_{statistic}_ms": "ms"
        for kind in ("complete", "processing")
        for statistic in ("mean", "p50", "p95", "p99")
    },
    "steady": {
        "acked": "tuples",
        "failed": "tuples",
        "acked_per_s": "1/s",
        "executed_per_s": "1/s",
        "nodes_mean": "nodes",
        "workers_mean": "workers",
        "nodes_last": "nodes",
        "workers_last": "workers",
        "acked_per_s_per_node": "1/s",
        "executed_per_s_per_node": "1/s",
    },
    "steady_traffic_share": {"inter_node_share": "0 to 1", "inter_process_share": "0 to 1"},
    "steady_cpu": {
        "cores_used": "cores",
        "utilisation_used_nodes": "0 to 1",
        "utilisation_all_nodes": "0 to 1",
    },
    "control": {"workers_started": "workers", "workers_killed": "workers", "zookeeper_writes": "writes"},
}
"""Metric table -> the numbers taken from it, with their units; see `METRICS`."""

METRICS = {name: unit for units in _UNITS.values() for name, unit in units.items()}
"""All metrics of a row with their units, computed from the tuple log after the run's warm-up.

Those of ``control`` cover the whole run and all its topologies (`of_control`).
"""

METRIC_TABLES = tuple(_UNITS)
SHOWN = ("processing_mean_ms", "processing_p99_ms", "acked_per_s", "nodes_mean", "inter_node_share")
"""Metrics of the summary by default."""

SHOWN_WITHOUT_TUPLES = tuple(_UNITS["control"])
"""The same for an experiment that plays the control plane alone."""


def metric_names(asked: Sequence[str]) -> tuple[str, ...]:
    """Names of metrics, given by name or by table (``steady latency``); `UserError` for an unknown one."""
    names: list[str] = []
    for text in asked:
        name = text.strip().replace(" ", "_").replace("-", "_")
        if name in METRIC_TABLES:
            names.extend(_UNITS[name])
        elif name in METRICS:
            names.append(name)
        else:
            raise unknown_name("metric", text, [*METRICS, *METRIC_TABLES], "a sweep")
    return tuple(dict.fromkeys(names))


def run_rows(
    settings: Sequence[Setting],
    names: Sequence[Sequence[str]],
    tables: MetricTables | None,
    failures: Mapping[str, str],
) -> pd.DataFrame:
    """One row for every run of every setting and every topology of the run.

    ``names`` are the names of each setting's runs, as they were played. ``failures`` maps the names of runs
    without a log to the reason. A run that several settings share has a row in each, with the same value in
    column ``run``. Columns: the varied parameters, `SETTING_COLUMNS`, and those of `METRICS` (empty where a
    run has no such number).
    """
    runs = pd.DataFrame(
        {name: scalar(value) for name, value in setting.varied.items()}
        | {"experiment": spec.experiment, "variant": spec.variant, "seed": spec.seed, "run": run}
        for setting, own in zip(settings, names, strict=True)
        for spec, run in zip(setting.specs, own, strict=True)
    )
    failed = pd.DataFrame(
        {"run": [*failures], "topology": "", "status": FAILED, "reason": [*failures.values()]}
    )
    found = [failed] * bool(failures) + ([] if tables is None else [_metrics_by_run(tables)])
    columns = [*settings[0].varied, *SETTING_COLUMNS, *METRICS]
    return runs.merge(pd.concat(found), on="run").reindex(columns=columns)


def summary_rows(rows: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Mean and 95 % interval (Student's t) over seeds of each metric, for each setting, variant and topology.

    Columns: the varied parameters, experiment, variant, topology, metric, unit, runs, seeds (that have the
    number), stopped_runs (ended before their time, included), unsettled_runs and failed_runs (excluded),
    mean, low, high. Low and high are empty if only one seed has the number.
    """
    varied = list(rows.columns[: list(rows.columns).index("experiment")])
    keys = [*varied, "experiment", "variant"]
    found = []
    for place, group in rows.groupby(keys, sort=False, dropna=False):
        failed = int((group["status"] == FAILED).sum())
        complete = group[group["status"] != FAILED]
        for topology, own in complete.groupby("topology", sort=True) if len(complete) else [("", group)]:
            stopped, unsettled = (
                int((own["status"] == status).sum()) for status in (Status.STOPPED.value, UNSETTLED)
            )
            for metric in metrics:
                samples = [float(value) for value in own[metric].dropna()]
                value = over_seeds(samples) if samples else Measured(None)
                counts = (group["seed"].nunique(), len(samples), stopped, unsettled, failed)
                about = (topology, metric, METRICS[metric])
                found.append((*place, *about, *counts, value.value, value.low, value.high))
    counted = ("runs", "seeds", "stopped_runs", "unsettled_runs", "failed_runs")
    columns = [*keys, "topology", "metric", "unit", *counted, "mean", "low", "high"]
    return pd.DataFrame(found, columns=columns).astype({"mean": float, "low": float, "high": float})


def shown(summary: pd.DataFrame) -> str:
    """The summary as plain text: a row for each setting, variant and topology, a column for each metric."""
    keys = list(summary.columns[: list(summary.columns).index("metric")])
    keys = [key for key in keys if key != "experiment" and (key != "topology" or summary[key].nunique() > 1)]
    lines = []
    for place, group in summary.groupby(keys, sort=False, dropna=False):
        cells = {
            f"{row.metric}, {row.unit}" if row.unit != "ms" else str(row.metric): _interval(row)
            for row in group.itertuples()
        }
        first = group.iloc[0]
        counts = {name: first[f"{name}_runs"] for name in ("stopped", "unsettled", "failed")}
        notes = [f"{count} {name}" for name, count in counts.items() if count]
        counted = f"{first['seeds']}" + (f" ({', '.join(notes)})" if notes else "")
        lines.append(dict(zip(keys, place, strict=True)) | {"seeds": counted} | cells)
    text: str = pd.DataFrame(lines).to_string(index=False)
    return text


def _interval(row: object) -> str:
    mean, low, high = (float(getattr(row, name)) for name in ("mean", "low", "high"))
    if mean != mean:
        return "none"
    return f"{mean:.4g}" if low != low else f"{mean:.4g} ± {(high - low) / 2:.2g}"


def _metrics_by_run(tables: MetricTables) -> pd.DataFrame:
    """The rows of each run by topology, without the columns that name the setting."""
    sources = {table: getattr(tables, table) for table in METRIC_TABLES}
    sources["control"] = of_control(sources["control"])
    places = [frame[["run", "topology"]] for frame in sources.values() if "topology" in frame]
    facts = tables.runs[["experiment", "run", "status", "reason", "warm_up_s", "duration_s"]]
    facts = facts.rename(columns={"warm_up_s": "measured_from_s"})
    short = facts["duration_s"] - facts["measured_from_s"] < MIN_WINDOW_S
    late = short & (facts["experiment"] == LEAGUE) & (facts["status"] == Status.COMPLETE.value)
    facts.loc[late, "status"], facts.loc[late, "reason"] = UNSETTLED, "re-assigned too late to be measured"
    # A run without tuples, or that ends before its warm-up does, has no topology in the tables.
    # A duration of this name would take the place of a varied one.
    facts = facts.drop(columns=["experiment", "duration_s"])
    joined = facts.merge(pd.concat(places).drop_duplicates(), on="run", how="left")
    for table, frame in sources.items():
        keys = ["run", "topology"] if "topology" in frame else ["run"]
        joined = joined.merge(frame[[*keys, *_UNITS[table]]], on=keys, how="left")
    joined = joined.fillna({"topology": ""})
    joined.loc[joined["status"] == UNSETTLED, list(METRICS)] = None
    return joined.sort_values(["run", "topology"])


def of_control(control: pd.DataFrame) -> pd.DataFrame:
    """Worker processes started and killed, and ZooKeeper's writes in the last captured minute, by run."""
    actions = pd.crosstab(control["run"], control["action"])
    counted = actions.reindex(columns=["start-worker", "kill-worker"], fill_value=0)
    counted.columns = pd.Index(["workers_started", "workers_killed"])
    writes = control[(control["actor"] == "capture") & (control["action"] == "writes")]
    last = writes[writes["time_s"] == writes.groupby("run")["time_s"].transform("max")]
    number = last["detail"].map(lambda detail: json.loads(detail)["writes"]).astype(float)
    return counted.assign(zookeeper_writes=number.groupby(last["run"]).sum()).reset_index()
