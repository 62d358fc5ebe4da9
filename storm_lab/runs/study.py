"""A study: one experiment with one set of parameters, from emulations to verdicts.

Command line, notebooks and tests all go through here, so that they cannot do different things. What a study
makes (verdict file, figures) lies in a folder of its own; the main job publishes from there to ``reports/``.
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
from storm_lab.machine.places import data_folder, shipped
from storm_lab.machine.whole_file import write_whole
from storm_lab.papers.registry import experiment
from storm_lab.pipeline.metric_tables import MetricTables
from storm_lab.pipeline.summary import metrics_of
from storm_lab.reporting.prose import claims_text, say
from storm_lab.reporting.record import VerdictFile, judged, write_verdicts
from storm_lab.reporting.verdict import Verdict, measured_text, reading_text
from storm_lab.runs.digest import (
    experiment_digest,
    files_digest,
    identity_of,
    runs_digest,
    scalar,
    text_digest,
)
from storm_lab.runs.execute import JOBS, PlayedRun, play_all
from storm_lab.runs.live_constants import Constants, given_constants, on_machine
from storm_lab.runs.namespace import CHOICE, CONSTANTS, notebook_parameters

if TYPE_CHECKING:
    # Matplotlib takes long to import, and who only plays draws nothing.
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Study:
    """An experiment and the parameters to run it with, checked; with other constants if some are given."""

    experiment: Experiment
    parameters: Parameters
    machine: Constants | None = None

    @classmethod
    def of(cls, slug: str, given: Mapping[str, object] | None = None) -> Study:
        """An experiment with some parameters set; `UserError`: no such name, wrong type, or out of range."""
        found = experiment(slug)
        return cls(found, found.checked(given))

    @classmethod
    def of_notebook(cls, slug: str, namespace: Mapping[str, object]) -> Study:
        """As `of`, with what a notebook's parameter cells ask for; ``namespace`` is ``globals()``.

        In a fresh kernel every plain value that stands there counts as a parameter, so that an injected one
        that does not exist is an error and not a silent nothing. When cells are run again, values that later
        cells left behind do not count: only what counted at first, and what a cell of plain assignments set
        since. A notebook of several experiments has its experiment's slug in ``experiment``.
        """
        given = notebook_parameters(CHOICE if CHOICE in namespace else slug, namespace)
        given.pop(CHOICE, None)
        constants = given.pop(CONSTANTS, None)
        study = cls.of(slug, given)
        if constants is not None:
            study = replace(study, machine=given_constants(str(constants)))
        # Here, for matplotlib is not needed by who only plays.
        from storm_lab.reporting.figures.saved import show_in_notebook

        show_in_notebook()
        return study

    @property
    def is_default(self) -> bool:
        """Whether every parameter has its default, and the constants are the project's own."""
        return self.parameters == self.experiment.checked() and self.machine is None

    def specs(self) -> tuple[RunSpec, ...]:
        """The runs; `UserError` if an input cannot be read, or other constants have no run to change."""
        planned = self.experiment.planned(self.parameters)
        if self.machine is not None and not planned:
            remedy = "leave them out: the experiment plays no runs"
            raise UserError("there is nothing that they could change", field=CONSTANTS, remedy=remedy)
        return on_machine(planned, self.machine)

    @property
    def digest(self) -> str:
        """Digest of the parameters and all that decides the runs; `UserError` if an input cannot be read."""
        runs = [identity_of(spec).run for spec in self.specs()]
        if not runs:
            # Then schedulers and emulator speak when claims are measured, not through logs.
            runs = [experiment_digest(self.experiment.slug)]
        read = [files_digest(shipped(name)) for name in self.experiment.reads]
        return text_digest(self.experiment.slug, *self._values(), "runs", *runs, *read)

    def _values(self) -> list[str]:
        values = [f"{name}={scalar(value)}" for name, value in self.parameters.items()]
        return values if self.machine is None else [*values, f"{CONSTANTS}={self.machine.digest}"]

    @property
    def workspace(self) -> Path:
        """Folder for what this study makes of its runs; named by the parameters alone."""
        name = text_digest(*self._values())[:16]
        return data_folder() / "cache" / "studies" / f"{self.experiment.slug}-{name}"

    def play(
        self, *, jobs: int = JOBS, show_progress: bool = False, fresh: bool = False
    ) -> tuple[PlayedRun, ...]:
        """Have all runs on disk, reusing those that lie there; `StormLabError` if one is refused or fails."""
        return play_all(self.specs(), jobs=jobs, show_progress=show_progress, fresh=fresh)

    def metrics(self) -> MetricTables:
        """The metric tables that the experiment declares, through PySpark; plays what is missing.

        Raises `StormLabError` if a run is refused or fails, or there is no Java for Spark.
        """
        wanted = self.tables_of(self.play())
        return metrics_of(tuple(wanted), names=self.experiment.metrics, fewer=wanted)

    def tables_of(self, runs: Sequence[PlayedRun]) -> dict[Path, tuple[str, ...]]:
        """The metric tables that are read of each of these runs of the study, by its folder."""
        names = self.experiment.tables_of_runs(self.parameters)
        return {run.folder: names[run.spec.key] for run in runs}

    def conclude(self, tables: MetricTables | None = None) -> tuple[Verdict, ...]:
        """Judge the experiment's claims and write the verdict file; `UserError`: a measurement does not fit.

        ``tables`` are the metrics of all runs; an experiment without runs has none. Claims that these
        parameters do not touch get the verdict "not run".
        """
        specs = self.specs()
        seeds: Iterable[int] = (spec.seed for spec in specs)
        if not specs and "seeds" in self.parameters:
            seeds = self.parameters.integers("seeds")
        measurements = self.experiment.answered(tables, self.parameters)
        record = VerdictFile(
            experiment=self.experiment.slug,
            parameters=self.parameters,
            seeds=tuple(dict.fromkeys(seeds)),
            code_digest=runs_digest(specs) if specs else experiment_digest(self.experiment.slug),
            measurements=measurements,
        )
        write_verdicts(self.workspace / "verdicts", record)
        return judged(self.experiment.claims, measurements)

    def introduce(self) -> None:
        """Show in a notebook what the paper prints, before anything is measured."""
        claims = load_claims().of_experiment(self.experiment.slug)
        print(f"{self.experiment.title}: {self.experiment.paper}, {self.experiment.figure}")
        say(claims_text(claims))

    def sum_up(self, verdicts: Sequence[Verdict]) -> Figure | None:
        """Print the verdicts; a figure of how far numbers are from the printed, None if no claim has one."""
        print(verdict_table(tuple(verdicts)))
        # Here, for matplotlib is not needed by who only plays.
        from storm_lab.reporting.figures.claim_distances import claim_distances

        figure = claim_distances(verdicts, title="Claims: measured against printed")
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
        """`AssertionError` if a run ended early: what must hold whatever the values are."""
        broken = tables.runs[tables.runs["status"] != "complete"]
        assert broken.empty, broken[["variant", "seed", "reason"]]

    def keep_document(self, document: Mapping[str, object]) -> None:
        """Write what the report tells of this experiment beside claims and figures."""
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(self.workspace / "documents" / f"{self.experiment.slug}.json", text + "\n")

    def keep_figure(
        self, figure: Figure, name: str, *, title: str, alt: str, claims: Sequence[str] = ()
    ) -> None:
        """Write a figure for the report into the workspace, as ``<name>.svg``.

        ``claims`` are the ids of the claims that it answers, beside those whose printed numbers are drawn.
        `UserError` for no title or text alternative, or a claim that does not exist.
        """
        folder = self.workspace / "figures" / self.experiment.slug
        # Here, for matplotlib is not needed by who only plays.
        from storm_lab.reporting.figures.saved import save_figure, write_formats

        save_figure(figure, folder / f"{name}.svg", title=title, alt=alt, claims=claims)
        write_formats(figure, name)


QUICK = "quick"
"""What it is called where an experiment's name may stand."""

_SMALL: Mapping[str, Mapping[str, object]] = {
    "tstorm-obs1-traffic": {"seeds": (1,), "bolt_ms_tried": (2.7,)},
    "rstorm-network-hierarchy": {"seeds": (1,)},
    "mfstorm-exclamation": {"seeds": (1,), "duration_s": 240.0},
    "nstorm-worst-case": {},
    "twitter-semantics": {"seeds": (1,)},
}
"""Experiment -> parameters that make it small."""


def quick_studies() -> tuple[Study, ...]:
    """The first look: one small study of every paper, with one seed, in minutes.

    Verdicts of one seed are for the eye. They stay in the workspaces; the report is made of the defaults.
    """
    return tuple(Study.of(slug, given) for slug, given in _SMALL.items())


_CELL = 44
"""Most characters of a table's cell."""


def _cut(text: str) -> str:
    return text if len(text) <= _CELL else text[: _CELL - 3].rstrip() + "..."


NO_CLAIMS = "no claims: no paper prints any of this"
"""Why most experiments without claims have none."""


def verdict_table(verdicts: tuple[Verdict, ...], none: str = NO_CLAIMS) -> str:
    """Verdicts as a table of plain text: claim, what the paper prints, what was measured, verdict, basis.

    Below a claim stands what came out under each other reading or trial, with its name. Long cells are cut,
    so that a row fits a terminal; the report has them whole. Without verdicts, ``none`` says why.
    """
    if not verdicts:
        return none
    head = ("claim", "paper", "measured", "verdict", "basis")
    rows = [
        (
            v.claim.id,
            _cut(v.claim.expected_text),
            _cut(measured_text(v) or "-"),
            v.outcome.value,
            v.basis.value,
        )
        for v in verdicts
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [_line(head, widths), "  ".join("-" * width for width in widths)]
    for row, verdict in zip(rows, verdicts, strict=True):
        lines.append(_line(row, widths))
        for each in verdict.readings:
            lines += wrap(reading_text(each), sum(widths), initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
