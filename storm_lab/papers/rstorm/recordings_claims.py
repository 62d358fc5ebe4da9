"""What the played recordings say: predicted and recorded rates side by side, and their errors.

The experiment answers no claim of the paper: it shows how far the emulator can be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import pandas as pd

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.papers.rstorm.recording import RecordedRun, Recordings
from storm_lab.papers.rstorm.trial import Trial, variant_of


class RateTables(Protocol):
    """The metric table that is needed here."""

    @property
    def component_throughput_10s(self) -> pd.DataFrame: ...


METRICS = ("component_throughput_10s",)
"""The metric tables that the notebook and `measure` read."""


def measure(tables: object, parameters: Parameters) -> tuple[Measurement, ...]:
    """No claim rests on the recordings."""
    return ()


def rates(tables: RateTables, from_s: float) -> pd.DataFrame:
    """Tuples executed and emitted per 10 s by variant, seed and component: means from ``from_s`` on."""
    rows = tables.component_throughput_10s
    rows = rows[rows["t_s"] >= from_s]
    keys = ["variant", "seed", "component"]
    summed = rows.groupby(keys)[["executed", "emitted", "width_s"]].sum()
    summed["executed"] *= 10.0 / summed["width_s"]
    summed["emitted"] *= 10.0 / summed["width_s"]
    return summed[["executed", "emitted"]].reset_index()


def sink_rates(found: pd.DataFrame, recordings: Recordings, topology: str, variant: str) -> pd.Series:
    """Tuples that all sinks of a topology execute per 10 s, by seed."""
    sinks = recordings.topology(topology).sinks
    rows = found[(found["variant"] == variant) & found["component"].isin(sinks)]
    return rows.groupby("seed")["executed"].sum()


def sink_rate(found: pd.DataFrame, recordings: Recordings, topology: str, variant: str) -> float:
    """Tuples that all sinks of a topology execute per 10 s, mean over the seeds."""
    return float(sink_rates(found, recordings, topology, variant).mean())


def sinks_by_seed(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """One row a recorded run and seed: topology, scheduler, variant (both, to be read), seed, sink throughput
    recorded and predicted, error in percent."""
    rows = [
        (run.topology, run.scheduler, f"{run.topology}, {run.scheduler}", seed, run.sink, rate,
         _percent(rate, run.sink))
        for run in recordings.runs
        if run.sink is not None
        for seed, rate in sink_rates(found, recordings, run.topology, run.variant).items()
    ]  # fmt: skip
    columns = ["topology", "scheduler", "variant", "seed", "recorded", "predicted", "error_%"]
    return pd.DataFrame(rows, columns=columns)


def seed_spread(by_seed: pd.DataFrame) -> pd.DataFrame:
    """By run: the farthest that a seed's prediction lies from the mean over the seeds, in percent of it."""
    grouped = by_seed.groupby(["topology", "scheduler"], sort=False)["predicted"]
    far = (by_seed["predicted"] / grouped.transform("mean") - 1.0).abs() * 100.0
    return (
        far.groupby([by_seed["topology"], by_seed["scheduler"]], sort=False)
        .max()
        .rename("farthest_%")
        .reset_index()
    )


def sink_errors(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """One row a recorded run: tuples that its sinks execute per 10 s; error of the prediction in percent."""
    rows = [
        (run.topology, run.scheduler, run.sink, predicted, _percent(predicted, run.sink))
        for run in recordings.runs
        if run.sink is not None
        for predicted in [sink_rate(found, recordings, run.topology, run.variant)]
    ]
    return pd.DataFrame(rows, columns=["topology", "scheduler", "recorded", "predicted", "error_%"])


def component_errors(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """One row a component of a recorded run: its emits per 10 s, recorded and predicted; error in percent."""
    rows = []
    for run in recordings.runs:
        own = found[found["variant"] == run.variant].groupby("component")["emitted"].mean()
        for component, recorded in run.emitted.items():
            predicted = float(own[component])
            rows.append(
                (run.topology, run.scheduler, component, recorded, predicted, _percent(predicted, recorded))
            )
    columns = ["topology", "scheduler", "component", "recorded", "predicted", "error_%"]
    return pd.DataFrame(rows, columns=columns)


def ratio_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """R-Storm's sink throughput over the even scheduler's, for topologies with both; error in percent."""
    rows = []
    for topology, group in errors.groupby("topology", sort=False):
        by = group.set_index("scheduler")
        if {"even", "rstorm"} <= set(by.index):
            recorded, predicted = (
                float(cast(float, by.loc["rstorm", name])) / float(cast(float, by.loc["even", name]))
                for name in ("recorded", "predicted")
            )
            rows.append((topology, recorded, predicted, _percent(predicted, recorded)))
    return pd.DataFrame(rows, columns=["topology", "recorded", "predicted", "error_%"])


def what_if(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """Predicted sink rates of the even scheduler's runs, and of what nobody recorded as multiples of them.

    Columns: topology, even (tuples per 10 s); multiples: merged (one worker a host), no-penalty (a further
    process costs its threads only), rstorm. Means over the seeds that both runs of a multiple
    were played with.
    """
    known = set(found["variant"])
    rows = []
    for topology, recorded in recordings.topologies.items():
        runs: Mapping[str, RecordedRun] = recorded.runs
        if "even" not in runs or f"{topology}-even-merged" not in known:
            continue
        even = sink_rates(found, recordings, topology, f"{topology}-even")
        others = [f"{topology}-even-merged", f"{topology}-even-no-penalty", f"{topology}-rstorm"]
        rows.append(
            (
                topology,
                float(even.mean()),
                *(
                    float((sink_rates(found, recordings, topology, other) / even).mean())
                    if other in known
                    else None
                    for other in others
                ),
            )
        )
    return pd.DataFrame(rows, columns=["topology", "even", "merged", "no-penalty", "rstorm"])


def trial_errors(found: pd.DataFrame, recordings: Recordings, trials: Sequence[Trial]) -> pd.DataFrame:
    """Errors of the prediction by deviation: columns label, series (topology), ratio_% and sinks_%.

    The ratio is R-Storm's sink throughput over the even scheduler's, ``sinks_%`` the mean absolute error of
    the two. Of the setting itself and of every trial that was played, for topologies with both runs; with the
    first seed, the only one that trials have.
    """
    found = found[found["seed"] == found["seed"].min()]
    known = set(found["variant"])
    rows = []
    for trial in (None, *trials):
        for name, recorded in recordings.topologies.items():
            if not {"even", "rstorm"} <= set(recorded.runs) or not recorded.is_loaded:
                continue
            even, rstorm = (recorded.runs[scheduler] for scheduler in ("even", "rstorm"))
            variants = [variant_of(run.variant, trial) for run in (even, rstorm)]
            if not even.sink or not rstorm.sink or not set(variants) <= known:
                continue
            old, new = (sink_rate(found, recordings, name, variant) for variant in variants)
            sinks = (abs(_percent(old, even.sink)) + abs(_percent(new, rstorm.sink))) / 2
            label = "as set above" if trial is None else trial.label
            rows.append((label, name, _percent(new / old, rstorm.sink / even.sink), sinks))
    return pd.DataFrame(rows, columns=["label", "series", "ratio_%", "sinks_%"])


def _percent(predicted: float, recorded: float) -> float:
    return 100.0 * (predicted / recorded - 1.0)
