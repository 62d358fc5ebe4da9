"""The report: an HTML file that opens from disk without a network and gives the verdict on every claim.

Text, style and script are in the one file. Figures are shown from their own files, and notebooks are linked
at the place that explains a claim. The same content gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.experiments.cause import load_causes, load_contradictions
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Basis
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.model.constant import Constant
from storm_lab.model.grouped import grouped
from storm_lab.papers.registry import experiments
from storm_lab.reporting.chosen import chosen_numbers, range_text, value_text
from storm_lab.reporting.figures.saved import SavedFigure, read_figure
from storm_lab.reporting.page import rendered
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.tally import (
    Tally,
    by_basis,
    by_paper,
    count_chosen,
    count_standings,
    standing,
    tried_once,
)
from storm_lab.reporting.try_it import options_to_try
from storm_lab.reporting.verdict import USUAL_SEEDS, Outcome, Verdict, measured_text
from storm_lab.tuplelog import RunRefused
from storm_lab.version import __version__

ALL_PAPERS = "all papers"
SEVERAL = "several papers"
"""Heading for the figures of an experiment that answers claims of more than one paper."""

TRUST = "live-trust"
"""Experiment that writes the document of the comparison with real Storm."""

_WHY = re.compile(r'id="why-([\w-]+)"')
_FOOTER = re.compile("<footer.*?</footer>", re.DOTALL)


def _figures(folder: Path) -> list[SavedFigure]:
    figures = []
    # Some experiments answer no claim, and some claims belong to no experiment that can be run.
    known = {*load_claims().owners, *(experiment.slug for experiment in experiments())}
    for path in sorted(folder.glob("[!.]*/[!.]*.svg")):
        if path.parent.name not in known:
            message = "figures of an unknown experiment"
            remedy = "name the folder after the experiment"
            raise UserError(message, field=f"figures/{path.parent.name}", remedy=remedy)
        figures.append(read_figure(path))
    return figures


def write_report(reports: Path, page: str) -> Path:
    """Write a report as ``index.html``; a reader sees the old file or the complete new one.

    The old page is kept if the new one differs only in its footer, which names what it is made from.
    """
    path = reports / "index.html"
    try:
        existing = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        existing = ""
    if _FOOTER.sub("", existing) != _FOOTER.sub("", page):
        write_atomic(path, page)
    return path


def render_report(
    reports: Path,
    *,
    constants: Sequence[Constant] = (),
    damaged: Sequence[RunRefused] = (),
    made_from: str = "",
) -> str:
    """Render the report on a reports folder as HTML, of those verdicts, figures and notebooks that exist.

    ``constants`` are all constants of the cost model, ``damaged`` run folders that no measurement may use;
    ``made_from`` is the commit and its date. Raises `UserError` if a verdict file or a figure is damaged, or
    figures belong to an unknown experiment.
    """
    verdicts, figures = collect_verdicts(reports / "verdicts"), _figures(reports / "figures")
    links = {experiment.slug: f"notebooks/{experiment.slug}.html" for experiment in experiments()}
    notebooks = {slug: link for slug, link in links.items() if (reports / link).is_file()}
    # Claim -> link to the place in an executed notebook that explains it.
    argued: dict[str, str] = {}
    for link in notebooks.values():
        for claim in _WHY.findall((reports / link).read_text(encoding="utf-8", errors="replace")):
            argued.setdefault(claim, f"{link}#why-{claim}")
    of_papers = by_paper(verdicts)
    papers = [tally.name for tally in of_papers]
    return rendered(
        "report.html.j2",
        version=__version__,
        made_from=made_from,
        standings=list(count_standings(verdicts).items()),
        chosen_readings=count_chosen(verdicts),
        chosen=chosen_numbers(constants),
        tried=tried_once(verdicts),
        known={verdict.claim.id for verdict in verdicts},
        outcomes=list(Outcome),
        bases=list(Basis),
        papers=papers,
        by_paper=of_papers,
        total=Tally.of(ALL_PAPERS, verdicts),
        usual_seeds=USUAL_SEEDS,
        measured_text=measured_text,
        by_basis=by_basis(verdicts),
        split=Counter(
            (paper, verdict.outcome, verdict.basis)
            for verdict in verdicts
            for paper in (verdict.claim.paper, ALL_PAPERS)
        ),
        rows=[_row(verdict, figures, notebooks, argued) for verdict in verdicts],
        galleries=_galleries(verdicts, figures, notebooks, papers),
        constants=constants,
        value_text=value_text,
        range_text=range_text,
        fitted=sum(constant.fitted for constant in constants),
        contradictions=load_contradictions(),
        damaged=damaged,
        trust=read_trust(reports),
        trust_notebook=notebooks.get(TRUST, ""),
        trust_figures=[figure for figure in figures if figure.experiment == TRUST],
    )


def _row(
    verdict: Verdict, figures: Sequence[SavedFigure], notebooks: Mapping[str, str], argued: Mapping[str, str]
) -> dict[str, Any]:
    claim, measurement = verdict.claim, verdict.measurement
    cause = load_causes().get(claim.id)
    drawn = [figure for figure in figures if figure.experiment == claim.owner]
    answering = [figure for figure in drawn if claim.id in figure.claims and figure.name != "claims"]
    notebook = notebooks.get(claim.owner, "")
    place = f"{notebook}#figure-{answering[0].name}" if notebook and answering else notebook
    return {
        "verdict": verdict,
        "argued": argued.get(claim.id, ""),
        "notebook": place,
        "figures": [(figure.title, f"figure-{claim.owner}-{figure.name}") for figure in answering],
        "cause": cause,
        "standing": standing(verdict, cause),
        "options": options_to_try(verdict, cause),
        "contradictions": [each for each in load_contradictions() if claim.id in each.claims],
        "expected_number": _sort_number([target.expected for target in claim.targets]),
        "measured_number": _sort_number([value.value for value in measurement.values] if measurement else []),
        "rank": list(Outcome).index(verdict.outcome),
        "drawn": bool(drawn),
    }


def _sort_number(values: Sequence[float | None]) -> str:
    """Sort key in a column of numbers: the first of a claim's numbers; empty without any."""
    return next((repr(value) for value in values if value is not None), "")


def _galleries(
    verdicts: Sequence[Verdict],
    figures: Sequence[SavedFigure],
    notebooks: Mapping[str, str],
    papers: Sequence[str],
) -> list[dict[str, Any]]:
    """Papers, with those of their experiments that have figures, and the verdicts of each experiment."""
    answered = grouped(verdicts, lambda verdict: verdict.claim.owner)
    paper_of = {experiment.slug: experiment.paper for experiment in experiments()}
    for owner, own in answered.items():
        of_claims = {verdict.claim.paper for verdict in own}
        paper_of[owner] = SEVERAL if len(of_claims) > 1 else of_claims.pop()
    titles = {experiment.slug: experiment.title for experiment in experiments()}
    drawn = grouped(figures, lambda figure: figure.experiment)
    galleries = []
    for paper in (*papers, *[SEVERAL] * (SEVERAL in paper_of.values())):
        shown = [
            {
                "slug": slug,
                "title": titles.get(slug, slug),
                "notebook": notebooks.get(slug, ""),
                "tally": Tally.of(slug, answered.get(slug, ())),
                "figures": own_figures,
            }
            for slug, own_figures in drawn.items()
            if paper_of.get(slug) == paper
        ]
        galleries.append({"paper": paper, "experiments": shown})
    return galleries


_TRUST_KEYS = (
    "scenes", "predicted_scenes", "orderings_wrong", "orderings_told", "unusable_measures", "measures",
    "machine", "machines", "rule", "factors", "rows", "unusable", "orderings", "misses",
)  # fmt: skip


def read_trust(reports: Path) -> dict[str, Any] | None:
    """Read the section on real Storm; None if nothing was compared yet; `UserError` if it is damaged.

    It has the ``document`` as compared, ``groups`` (sittings on each machine with the rows of their scenes),
    and ``reasons`` (why predicted values are missed, with those values; that of the largest miss first).
    """
    path = reports / "documents" / f"{TRUST}.json"
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in _TRUST_KEYS if key not in document]
        if missing:
            raise ValueError(f"it lacks {missing[0]}")
        misses = [miss for miss in document["misses"] if miss["half"] == "predicted"]
        return {
            "document": document,
            "groups": grouped([*document["rows"], *document["unusable"]], _played),
            "reasons": grouped(misses, lambda miss: str(miss["why"])),
        }
    except (OSError, ValueError, TypeError, KeyError) as error:
        message = f"not a document of the comparison with real Storm ({error})"
        raise UserError(message, field=path.name, remedy=f"run: storm-lab reproduce {TRUST}") from error


def _played(row: Mapping[str, Any]) -> str:
    played = f"{row['sitting']}, Storm {row['storm']}"
    return f"{row['machine']}: {played}" if row["machine"] else played
