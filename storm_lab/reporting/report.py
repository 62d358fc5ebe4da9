"""The report: one HTML file that opens from disk, needs no network, and says for every claim what came out.

First the counts, by paper and by basis; then a row for each claim; then figures, constants, contradictions,
and the runs that were left out. Same content, same bytes.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from storm_lab.errors import UserError
from storm_lab.papers.claim import number, with_unit
from storm_lab.papers.contradiction import Contradiction, load_contradictions
from storm_lab.papers.ledger import Ledger, load_claims
from storm_lab.papers.registry import experiments
from storm_lab.reporting.figures.saved import SavedFigure, read_figure
from storm_lab.reporting.record import Refusal, collect_verdicts, read_all_verdicts
from storm_lab.reporting.tally import Tally, tallies
from storm_lab.reporting.verdict import Outcome, Verdict, measured_text
from storm_lab.version import __version__

COMMAND = "storm-lab run {experiment}"
"""What a reader types to get the measurement again."""

SEVERAL = "several papers"
"""Where the figures of an experiment stand that answers claims of more than one paper."""


@dataclass(frozen=True, slots=True)
class ConstantRecord:
    """A constant of the cost model, as its owner hands it over."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    fitted: bool

    @property
    def value_text(self) -> str:
        """Value with unit."""
        return with_unit(number(self.value), self.unit)

    @property
    def range_text(self) -> str:
        """Allowed range with unit."""
        return f"{number(self.low)} to {with_unit(number(self.high), self.unit)}"


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A figure with the experiment it belongs to, and a link to its file for those who want it larger."""

    experiment: str
    figure: SavedFigure
    link: str = ""


@dataclass(frozen=True, slots=True)
class ReportContent:
    """Everything the report shows.

    Attributes:
        verdicts: one for each claim.
        figures: in the order in which they appear below their paper.
        constants: all constants of the cost model; the fitted ones are counted.
        contradictions: with both readings.
        refused: runs that were left out, by experiment.
        notebooks: experiment -> link to its executed notebook, relative to the report.
    """

    verdicts: tuple[Verdict, ...]
    figures: tuple[ReportFigure, ...] = ()
    constants: tuple[ConstantRecord, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    refused: tuple[tuple[str, Refusal], ...] = ()
    notebooks: Mapping[str, str] | None = None


def collect_report(
    reports: Path,
    *,
    constants: Sequence[ConstantRecord] = (),
    notebooks: Mapping[str, str] | None = None,
    ledger: Ledger | None = None,
) -> ReportContent:
    """What lies in a reports folder: ``verdicts/<experiment>.json`` and ``figures/<experiment>/*.svg``.

    ``notebooks`` maps an experiment to its executed notebook (HTML), relative to the folder; those that do
    not exist are not linked.

    Raises:
        UserError: a verdict file or a figure is damaged, or figures belong to an unknown experiment.
    """
    ledger = ledger or load_claims()
    records = read_all_verdicts(reports / "verdicts")
    links = {name: link for name, link in (notebooks or {}).items() if (reports / link).is_file()}
    return ReportContent(
        verdicts=collect_verdicts(reports / "verdicts", ledger),
        figures=_figures(reports / "figures", ledger),
        constants=tuple(constants),
        contradictions=load_contradictions(),
        refused=tuple((record.experiment, refusal) for record in records for refusal in record.refused),
        notebooks=links,
    )


def _figures(folder: Path, ledger: Ledger) -> tuple[ReportFigure, ...]:
    figures = []
    without_claims = _papers_of_experiments()
    for path in sorted(folder.glob("*/*.svg")):
        if path.name.startswith("."):
            continue
        if path.parent.name not in ledger.owners and path.parent.name not in without_claims:
            raise UserError(
                "figures of an unknown experiment",
                field=f"figures/{path.parent.name}",
                remedy="name the folder after the experiment",
            )
        link = path.relative_to(folder.parent).as_posix()
        figures.append(ReportFigure(path.parent.name, read_figure(path), link))
    return tuple(figures)


def _papers_of_experiments() -> dict[str, str]:
    """The paper of each experiment that can be run, also of those that answer no claim."""
    return {experiment.slug: experiment.paper for experiment in experiments()}


def write_report(path: Path, content: ReportContent) -> Path:
    """Write the report; a reader sees the old file or the whole new one."""
    text = render_report(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def render_report(content: ReportContent) -> str:
    """The report as HTML."""
    environment = Environment(
        loader=PackageLoader("storm_lab.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    papers = tuple(dict.fromkeys(verdict.claim.paper for verdict in content.verdicts))
    return environment.get_template("report.html.j2").render(
        version=__version__,
        outcomes=[outcome.value for outcome in Outcome],
        papers=papers,
        by_paper=tallies(content.verdicts, papers, lambda verdict: verdict.claim.paper),
        total=Tally.of("all papers", content.verdicts),
        by_basis=tallies(
            content.verdicts, ("fitted", "predicted", "arithmetic"), lambda verdict: verdict.basis.value
        ),
        rows=[_row(verdict, content.notebooks or {}) for verdict in content.verdicts],
        galleries=_galleries(content, papers),
        constants=content.constants,
        fitted=sum(constant.fitted for constant in content.constants),
        contradictions=content.contradictions,
        refused=content.refused,
    )


def _row(verdict: Verdict, notebooks: Mapping[str, str]) -> dict[str, Any]:
    claim = verdict.claim
    measurement = verdict.measurement
    return {
        "claim": claim,
        "command": COMMAND.format(experiment=claim.owner),
        "expected": claim.expected_text,
        "band": claim.band_text,
        "measured": measured_text(verdict),
        "how": "" if measurement is None else measurement.how,
        "outcome": verdict.outcome.value,
        "rank": list(Outcome).index(verdict.outcome),
        "reason": verdict.reason,
        "basis": verdict.basis.value,
        "notebook": notebooks.get(claim.owner, ""),
    }


def _galleries(content: ReportContent, papers: Sequence[str]) -> list[dict[str, Any]]:
    paper_of = _papers_of_experiments()
    for slug in {verdict.claim.owner for verdict in content.verdicts}:
        paper_of.pop(slug, None)
    for verdict in content.verdicts:
        owner, paper = verdict.claim.owner, verdict.claim.paper
        paper_of[owner] = paper if paper_of.get(owner, paper) == paper else SEVERAL
    galleries = []
    for paper in (*papers, *([SEVERAL] if SEVERAL in paper_of.values() else [])):
        shown = [entry for entry in content.figures if paper_of.get(entry.experiment) == paper]
        figures = [
            {
                "experiment": entry.experiment,
                "title": entry.figure.title,
                "alt": entry.figure.alt,
                "link": entry.link,
                "notebook": (content.notebooks or {}).get(entry.experiment, ""),
                "data": base64.b64encode(entry.figure.path.read_bytes()).decode("ascii"),
            }
            for entry in shown
        ]
        galleries.append({"paper": paper, "figures": figures})
    return galleries
