"""Sweeps: an experiment over parameters, schedulers and seeds, many emulations at a time.

>>> from storm_lab.runs.sweep import sweep                              # doctest: +SKIP
>>> rows = sweep("tstorm-word-count", vary={"lines_per_s": [80, 100, 120]}, seeds=range(1, 6))
>>> rows[["lines_per_s", "variant", "seed", "processing_mean_ms"]]      # doctest: +SKIP
>>> summary_rows(rows, ["processing_mean_ms"])      # mean and 95 % interval over seeds; doctest: +SKIP

The runs are those of the experiments, stored under their digest. A run played for a sweep is reused by the
experiment and vice versa, and an interrupted sweep continues with the missing runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from storm_lab.errors import UserError, refused_by_system
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import ParameterValue
from storm_lab.league.entrant import Entrant
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.places import data_folder
from storm_lab.pipeline.summary import metrics_of
from storm_lab.runs.digest import identity_of, scalar, text_digest
from storm_lab.runs.execute import JOBS, play_all
from storm_lab.runs.grid import Setting, Subject, settings_of
from storm_lab.runs.live_constants import Constants, given_constants, on_machine
from storm_lab.runs.spark_play import spark_that_finds
from storm_lab.runs.sweep_table import (
    METRIC_TABLES,
    SHOWN,
    SHOWN_WITHOUT_TUPLES,
    metric_names,
    run_rows,
    summary_rows,
)


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: its settings with their runs, and the metrics of its summary."""

    slug: str
    settings: tuple[Setting, ...]
    metrics: tuple[str, ...]
    entrants: tuple[Entrant, ...] = ()
    """Schedulers that replace the experiment's own."""

    @property
    def specs(self) -> tuple[RunSpec, ...]:
        """All runs in order; a run that several settings share appears once for each."""
        return tuple(spec for setting in self.settings for spec in setting.specs)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds in use."""
        return tuple(sorted({spec.seed for spec in self.specs}))

    @property
    def name(self) -> str:
        """Name of the sweep and its folder: the experiment and a digest of everything that was asked for."""

        def text(values: Mapping[str, ParameterValue]) -> str:
            return str(sorted((name, scalar(value)) for name, value in values.items()))

        settings = [text(setting.varied) for setting in self.settings]
        specs = [f"{spec} {text(spec.parameters)}" for spec in self.specs]
        inputs = [text(spec.inputs) for spec in self.specs]
        return f"{self.slug}-{text_digest(*settings, *specs, *inputs, *self.metrics)[:12]}"

    def run(
        self,
        *,
        on_spark: bool = False,
        jobs: int = JOBS,
        show_progress: bool = False,
        fresh: bool = False,
        home: Path | None = None,
    ) -> SweepResult:
        """Play the missing runs, compute the metrics of all runs from their logs, and tabulate them.

        A run that is refused or fails gets a row with the reason. With ``on_spark`` the runs are played in
        the environment's Spark session; the other arguments are those of `storm_lab.runs.execute.play_all`.
        Raises `StormLabError` if every run failed or there is no Java for Spark.
        """
        failures: dict[str, str] = {}
        # Taken before the runs are played, because the sources may change meanwhile.
        names = [[identity_of(spec).run for spec in setting.specs] for setting in self.settings]
        spark = spark_that_finds(self.entrants) if on_spark else None
        played = play_all(
            self.specs,
            home=home,
            jobs=jobs,
            spark=spark,
            show_progress=show_progress,
            fresh=fresh,
            failures=failures,
        )
        if not played:
            message = f"every run of the sweep failed; the first error: {next(iter(failures.values()))}"
            raise UserError(message, field="sweep", value=self.slug)
        folders = sorted({run.folder for run in played})
        tables = metrics_of(folders, spark, names=METRIC_TABLES, show_progress=show_progress)
        rows = run_rows(self.settings, names, tables, failures)
        reused = len({run.folder for run in played if run.reused})
        return SweepResult(self, rows, summary_rows(rows, self.metrics), reused, tuple(failures.values()))


@dataclass(frozen=True)
class SweepResult:
    """Tables as of `run_rows` and `summary_rows`, number of reused runs, and why others left no log."""

    sweep: Sweep
    rows: pd.DataFrame
    summary: pd.DataFrame
    reused: int
    failures: tuple[str, ...]

    def write(self, folder: Path | None = None) -> Path:
        """Write the tables and the request; return the folder. `UserError` if it cannot be written."""
        place = folder if folder is not None else data_folder() / "sweeps" / self.sweep.name
        varied = (setting.varied.items() for setting in self.sweep.settings)
        request = {
            "experiment": self.sweep.slug,
            "settings": [{name: scalar(value) for name, value in items} for items in varied],
            "seeds": list(self.sweep.seeds),
            "metrics": list(self.sweep.metrics),
            "runs": sorted(self.rows["run"].unique()),
        }
        with refused_by_system("the results cannot be written", field="out", value=str(place)):
            for name, data in (
                ("runs.parquet", self.rows.to_parquet(index=False)),
                ("runs.csv", self.rows.to_csv(index=False).encode()),
                ("summary.csv", self.summary.to_csv(index=False).encode()),
                ("sweep.json", (json.dumps(request, indent=1) + "\n").encode()),
            ):
                write_atomic(place / name, data)
        return place


def sweep(
    experiment: str,
    *,
    vary: Mapping[str, Sequence[object]] | None = None,
    parameters: Mapping[str, object] | None = None,
    seeds: Sequence[int] | None = None,
    schedulers: Sequence[str] = (),
    only: Sequence[str] = (),
    constants: str | None = None,
    on_spark: bool = False,
    jobs: int = JOBS,
    show_progress: bool = True,
    home: Path | None = None,
) -> pd.DataFrame:
    """Run an experiment at every combination of the varied values, for every seed and scheduler.

    ``vary`` holds the values to try by parameter, ``parameters`` the values of others. ``seeds`` are by
    default the experiment's own. ``schedulers`` are texts as in `storm_lab.league.field.entrant_of`, ``only``
    patterns of the variants to keep, and ``constants`` is a text as in
    `storm_lab.runs.live_constants.given_constants`. The other arguments are those of `Sweep.run`.

    Returns one row per run, as described at `storm_lab.runs.sweep_table.run_rows`, from which
    `storm_lab.runs.sweep_table.summary_rows` computes means and intervals. A failed run has a row with the
    reason and no metrics. Raises `StormLabError` as `planned` and `Sweep.run`.
    """
    subject = Subject.of(experiment, schedulers)
    machine = given_constants(constants)
    found = planned(subject, parameters or {}, vary or {}, seeds, only, constants=machine)
    return found.run(on_spark=on_spark, jobs=jobs, show_progress=show_progress, home=home).rows


def planned(
    subject: Subject,
    parameters: Mapping[str, object],
    vary: Mapping[str, Sequence[object]],
    seeds: Sequence[int] | None,
    only: Sequence[str] = (),
    metrics: Sequence[str] = (),
    constants: Constants | None = None,
) -> Sweep:
    """Return the sweep that is asked for; `UserError`: an unknown name, a bad value, or nothing to run."""
    chosen = metric_names(metrics) or (SHOWN if subject.has_tuples else SHOWN_WITHOUT_TUPLES)
    settings = settings_of(subject, parameters, vary, None if seeds is None else tuple(seeds), only)
    placed = tuple(replace(setting, specs=on_machine(setting.specs, constants)) for setting in settings)
    return Sweep(subject.slug, placed, chosen, subject.entrants)
