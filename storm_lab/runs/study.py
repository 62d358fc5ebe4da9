"""A study: one experiment with one set of parameters, from emulations to verdicts.

The command line, notebooks and tests all use this class, so that they cannot differ. A study writes its
results (verdict file, figures) into a folder of its own; the main job publishes them to ``reports/``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.parameter import Parameters
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.places import data_folder, shipped
from storm_lab.papers.registry import experiment
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.reporting.prose import claims_text, say
from storm_lab.reporting.record import VerdictFile, judged, write_verdicts
from storm_lab.reporting.verdict import Verdict, measured_text, reading_text
from storm_lab.runs.digest import (
    emulation_digest,
    experiment_digest,
    files_digest,
    identity_of,
    scalar,
    text_digest,
)
from storm_lab.runs.execute import JOBS, PlannedRun, play_all
from storm_lab.runs.live_constants import Constants, given_constants, on_machine
from storm_lab.runs.namespace import CHOICE, CONSTANTS, notebook_parameters

if TYPE_CHECKING:
    # Matplotlib is slow to import and not needed to play runs.
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment with checked parameters, and other constants than the project's if some are given."""

    experiment: Experiment
    parameters: Parameters
    machine: Constants | None = None

    @classmethod
    def of(cls, slug: str, given: Mapping[str, object] | None = None) -> Study:
        """An experiment with some parameters set; `UserError`: unknown name, wrong type or out of range."""
        found = experiment(slug)
        return cls(found, found.checked(given))

    @classmethod
    def of_notebook(cls, slug: str, namespace: Mapping[str, object]) -> Study:
        """As `of`, with the parameters that a notebook's parameter cells set; ``namespace`` is ``globals()``.

        A notebook of several experiments has its experiment's slug in ``experiment``.
        """
        given = notebook_parameters(CHOICE if CHOICE in namespace else slug, namespace)
        given.pop(CHOICE, None)
        constants = given.pop(CONSTANTS, None)
        study = cls.of(slug, given)
        if constants is not None:
            study = replace(study, machine=given_constants(str(constants)))
        from storm_lab.reporting.figures.saved import show_in_notebook

        show_in_notebook()
        return study

    @property
    def is_default(self) -> bool:
        """Whether every parameter has its default and the constants are the project's own."""
        return self.parameters == self.experiment.checked() and self.machine is None

    def specs(self) -> tuple[RunSpec, ...]:
        """The runs; `UserError` if an input cannot be read, or constants are given but there are no runs."""
        planned = self.experiment.planned(self.parameters)
        if self.machine is not None and not planned:
            message = "the experiment plays no runs that they could change"
            raise UserError(message, field=CONSTANTS, remedy="leave them out")
        return on_machine(planned, self.machine)

    @property
    def digest(self) -> str:
        """Digest of the parameters and all that determines the runs; `UserError` for unreadable inputs."""
        runs = [identity_of(spec).run for spec in self.specs()]
        if not runs:
            # Schedulers and emulator then matter when claims are measured, not through logs.
            runs = [experiment_digest(self.experiment.slug)]
        read = [files_digest(shipped(name)) for name in self.experiment.reads]
        return text_digest(self.experiment.slug, *self._values(), "runs", *runs, *read)

    def _values(self) -> list[str]:
        values = [f"{name}={scalar(value)}" for name, value in self.parameters.items()]
        return values if self.machine is None else [*values, f"{CONSTANTS}={self.machine.digest}"]

    @property
    def workspace(self) -> Path:
        """Folder for the results of this study; its name depends on the parameters alone."""
        name = text_digest(*self._values())[:16]
        return data_folder() / "cache" / "studies" / f"{self.experiment.slug}-{name}"

    def play(
        self, *, jobs: int = JOBS, show_progress: bool = False, fresh: bool = False
    ) -> tuple[PlannedRun, ...]:
        """Play all runs that are not yet on disk; `StormLabError` if one is refused or fails."""
        return play_all(self.specs(), jobs=jobs, show_progress=show_progress, fresh=fresh)

    def metrics(self) -> MetricTables:
        """Compute the metric tables that the experiment declares with PySpark; plays missing runs.

        Raises `StormLabError` if a run is refused or fails, or there is no Java for Spark.
        """
        wanted = self.tables_of(self.play())
        return metrics_of(tuple(wanted), names=self.experiment.metrics, fewer=wanted)

    def tables_of(self, runs: Sequence[PlannedRun]) -> dict[Path, tuple[str, ...]]:
        """The metric tables that the study reads of each of these runs, by the run's folder."""
        names = self.experiment.tables_of_runs(self.parameters)
        return {run.folder: names[run.spec.key] for run in runs}

    def conclude(self, tables: MetricTables | None = None) -> tuple[Verdict, ...]:
        """Judge the experiment's claims and write the verdict file; `UserError`: a measurement does not fit.

        ``tables`` are the metrics of all runs. Claims that these parameters do not affect are "not run".
        """
        specs = self.specs()
        seeds: Iterable[int] = (spec.seed for spec in specs)
        if not specs and "seeds" in self.parameters:
            seeds = self.parameters.integers("seeds")
        measurements = self.experiment.measurements(tables, self.parameters)
        code = sorted({emulation_digest(spec) for spec in specs})
        record = VerdictFile(
            experiment=self.experiment.slug,
            parameters=self.parameters,
            seeds=tuple(dict.fromkeys(seeds)),
            code_digest=text_digest(*code) if code else experiment_digest(self.experiment.slug),
            measurements=measurements,
        )
        write_verdicts(self.workspace / "verdicts", record)
        return judged(self.experiment.claims, measurements)

    def introduce(self) -> None:
        """Print in a notebook what the paper claims, before anything is measured."""
        claims = load_claims().of_experiment(self.experiment.slug)
        print(f"{self.experiment.title}: {self.experiment.paper}, {self.experiment.figure}")
        say(claims_text(claims))

    def sum_up(self, verdicts: Sequence[Verdict]) -> Figure | None:
        """Print the verdicts; return a figure of measured and printed numbers, None if no claim has one."""
        print(verdict_table(tuple(verdicts)))
        from storm_lab.reporting.figures.claim_distances import claim_distances

        figure = claim_distances(verdicts)
        if figure is not None:
            self.keep_figure(
                figure,
                "claims",
                title=f"{self.experiment.title}: measured against printed",
                alt="A row for each number of a claim: its band as a light area around the printed value, "
                "and what was measured, with its interval.",
                claims=[verdict.claim.id for verdict in verdicts],
            )
        return figure

    def check(self, tables: MetricTables) -> None:
        """Raise `AssertionError` if a run ended early, which must not happen for any parameters."""
        broken = tables.runs[tables.runs["status"] != "complete"]
        assert broken.empty, broken[["variant", "seed", "reason"]]

    def keep_document(self, document: Mapping[str, object]) -> None:
        """Write what the report says about this experiment in addition to claims and figures."""
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomic(self.workspace / "documents" / f"{self.experiment.slug}.json", text + "\n")

    def keep_figure(
        self, figure: Figure, name: str, *, title: str, alt: str, claims: Sequence[str] = ()
    ) -> None:
        """Write a figure for the report into the workspace, as ``<name>.svg``.

        ``claims`` are the ids of claims that it answers, in addition to those whose printed numbers are
        drawn. `UserError` without a title or text alternative, or for a claim that does not exist.
        """
        folder = self.workspace / "figures" / self.experiment.slug
        from storm_lab.reporting.figures.saved import save_figure, write_formats

        save_figure(figure, folder / f"{name}.svg", title=title, alt=alt, claims=claims)
        write_formats(figure, name)


QUICK = "quick"
"""Name of the quick studies on the command line, in place of an experiment's."""

_SMALL: Mapping[str, Mapping[str, object]] = {
    "tstorm-obs1-traffic": {"seeds": (1,), "bolt_ms_tried": (2.7,)},
    "rstorm-network-hierarchy": {"seeds": (1,)},
    "mfstorm-exclamation": {"seeds": (1,), "duration_s": 240.0},
    "nstorm-worst-case": {},
    "twitter-semantics": {"seeds": (1,)},
}
"""Experiment -> parameters that make it small."""


def quick_studies() -> tuple[Study, ...]:
    """One small study of every paper, with one seed, for a first look within minutes.

    Verdicts from one seed are only an indication. They stay in the workspaces; the report uses the defaults.
    """
    return tuple(Study.of(slug, given) for slug, given in _SMALL.items())


_CELL = 44
"""Most characters of a table cell."""

NO_CLAIMS = "no claims: no paper prints results for this experiment"
"""Why most experiments without claims have none."""


def verdict_table(verdicts: tuple[Verdict, ...], none: str = NO_CLAIMS) -> str:
    """Format verdicts as a plain-text table: claim, printed value, measured value, verdict, basis.

    The results under other readings or trials follow below each claim, with their names. Long cells are cut,
    so that a row fits a terminal; the report shows them in full. Without verdicts, ``none`` says why.
    """
    if not verdicts:
        return none

    def cut(text: str) -> str:
        return text if len(text) <= _CELL else text[: _CELL - 3].rstrip() + "..."

    head = ("claim", "paper", "measured", "verdict", "basis")
    rows = [
        (
            each.claim.id,
            cut(each.claim.expected_text),
            cut(measured_text(each) or "-"),
            each.outcome,
            each.basis,
        )
        for each in verdicts
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(map(str.ljust, cells, widths)).rstrip()

    lines = [line(head), "  ".join("-" * width for width in widths)]
    for row, verdict in zip(rows, verdicts, strict=True):
        lines.append(line(row))
        for each in verdict.readings:
            lines += wrap(reading_text(each), sum(widths), initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)
