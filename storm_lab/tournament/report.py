"""The results of a tournament on disk: tables as CSV and LaTeX, a diagram, a page of text and a notebook."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.tournament.quantities import (
    MEASURES,
    blocks,
    cases_table,
    cells,
    entrants_table,
    means_note,
    printed,
)
from storm_lab.tournament.ranking import RankTest, against_baseline, rank_test, win_tie_loss
from storm_lab.tournament.tournament import score_table

if TYPE_CHECKING:
    # Matplotlib takes long to import and is needed only for drawing.
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LeagueReport:
    """The results of a tournament.

    Attributes:
        rows: one row per run (`storm_lab.tournament.tournament.Tournament.play`).
        own: the user's own entrants.
        baseline: the scheduler that gains are measured against.
        settings: what was played, for readers of `league.json`.
    """

    rows: pd.DataFrame
    own: tuple[str, ...]
    baseline: str
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def scores(self) -> pd.DataFrame:
        """Scores of cases by schedulers, as in `storm_lab.tournament.tournament.score_table`."""
        return score_table(self.rows)

    @property
    def ranking(self) -> RankTest:
        """Friedman's test and Nemenyi's difference over the cases."""
        return rank_test(self.scores)

    @property
    def standing(self) -> pd.DataFrame:
        """One row per scheduler, best mean rank first: the numbers of the table.

        Columns: scheduler, mean_rank, best_on and lost_on (cases), gain_percent (median against the baseline)
        with p_holm, wins, ties and losses against the baseline, and
        `storm_lab.tournament.quantities.averages`.
        """
        scores = self.scores
        found = pd.DataFrame({"mean_rank": self.ranking.mean_ranks})
        found["best_on"] = scores.eq(scores.min(axis=1), axis=0).sum()
        found["lost_on"] = np.isinf(scores).sum()
        gains = against_baseline(scores, self.baseline).set_index("scheduler")
        # Counted for the baseline, then reversed: its losses are the other scheduler's wins.
        met = win_tie_loss(scores, self.baseline).set_index("against").rename(columns=_REVERSED)
        found = found.join(gains[["gain_percent", "p_holm"]])
        found = found.join(met[["wins", "ties", "losses"]].astype("Int64"))
        return found.join(entrants_table(self.rows)).rename_axis("scheduler").reset_index()

    @property
    def table(self) -> pd.DataFrame:
        """The main table as texts: a row for each quantity, a column for each scheduler."""
        found = self.standing.set_index("scheduler")
        first = cells(found, _RANKS)
        first["win/tie/loss"] = [
            "-" if pd.isna(own["wins"]) else f"{own['wins']}/{own['ties']}/{own['losses']}"
            for own in found.to_dict("records")
        ]
        return first.join(cells(found)).T

    @property
    def cases(self) -> pd.DataFrame:
        """One row per case and scheduler, as in `storm_lab.tournament.quantities.cases_table`."""
        return cases_table(self.rows)

    @property
    def problems(self) -> pd.DataFrame:
        """The losses: case, scheduler, seeds and the reason."""
        lost = self.rows[self.rows["problem"] != ""]
        found = lost.groupby(["case", "scheduler", "problem"], sort=False)["seed"]
        return found.agg(lambda seeds: ",".join(map(str, seeds))).reset_index(name="seeds")

    def text(self) -> str:
        """Return the report as plain text of a page or two."""
        return f"{printed(self.table)}\n\n{self.notes()}"

    def notes(self) -> str:
        """Return the text below the table: how to read it, the tests, and the reasons of losses."""
        ranking = self.ranking
        parts = [f"gain and win/tie/loss: against {self.baseline}, by cases\n{means_note(self.rows)}"]
        if ranking.p_value is not None:
            parts.append(
                f"Friedman over {ranking.instances} cases: chi2 = {ranking.statistic:.2f}, "
                f"p = {ranking.p_value:.2g}; critical difference of mean ranks (Nemenyi, 5 %): "
                f"{ranking.critical_difference:.2f}"
            )
        for name in self.own:
            if name in self.scores:
                counts = win_tie_loss(self.scores, name).to_string(index=False)
                parts.append(f"{name} against each scheduler:\n{counts}")
        if len(self.problems):
            lines = [
                f"  {row['case']}, {row['scheduler']} (seeds {row['seeds']}): {row['problem']}"
                for row in self.problems.to_dict("records")
            ]
            parts.append("lost:\n" + "\n".join(lines))
        return "\n\n".join(parts)

    def write(self, folder: Path) -> None:
        """Write all files; `UserError` if the folder cannot be written."""
        about = {"own": list(self.own), "baseline": self.baseline, "settings": dict(self.settings)}
        table = self.cases[["case", "scheduler"]].join(cells(self.cases))
        files = {
            "runs.csv": self.rows.to_csv(index=False),
            "cases.csv": self.cases.to_csv(index=False),
            "standing.csv": self.standing.to_csv(index=False),
            "against-baseline.csv": against_baseline(self.scores, self.baseline).to_csv(index=False),
            "standing.tex": "\n".join(
                latex(
                    part.reset_index(names=""),
                    f"Schedulers by mean rank; {means_note(self.rows)}",
                    f"tab:league-{number}",
                )
                for number, part in enumerate(blocks(self.table), 1)
            ),
            "standing.html": self.table.to_html(),
            "cases.tex": latex(table, "Means with 95 % intervals", "tab:cases", pages=True),
            "report.txt": self.text() + "\n",
            "league.json": json.dumps(about, indent=1, default=str) + "\n",
            # A notebook, without outputs, that shows the tables in its folder.
            "league.ipynb": (resources.files(__package__) / "league.ipynb.txt").read_text(encoding="utf-8"),
        }
        for name in self.own:
            if name in self.scores:
                files[f"win-tie-loss-{name}.csv"] = win_tie_loss(self.scores, name).to_csv(index=False)
        with refused_by_system("the results cannot be written", field="out", value=str(folder)):
            for name, text in files.items():
                write_atomic(folder / name, text.encode())
            # Files of an earlier league with other schedulers would pass for results of this one.
            for kind in ("win-tie-loss-*.csv", "critical-difference.svg", "critical-difference.pdf"):
                for path in folder.glob(kind):
                    if path.name not in files:
                        path.unlink(missing_ok=True)
            if len(self.ranking.mean_ranks) > 1:
                self._draw(folder)

    def _draw(self, folder: Path) -> None:
        # Imported here because it takes long.
        from matplotlib import rc_context

        figure = diagram(self)
        # The same results must give the same bytes.
        with rc_context({"svg.hashsalt": "storm-lab"}):
            figure.savefig(folder / "critical-difference.svg", metadata={"Date": None})
        figure.savefig(folder / "critical-difference.pdf", metadata={"CreationDate": None})


def read_report(folder: Path) -> LeagueReport:
    """Read the report that `LeagueReport.write` wrote to a folder; `UserError` if there is no valid one."""
    try:
        about = json.loads((folder / "league.json").read_text(encoding="utf-8"))
        # A scheduler may be called NA or None, so only an empty field is a missing value.
        rows = pd.read_csv(
            folder / "runs.csv",
            dtype={"case": str, "scheduler": str, "run": str},
            keep_default_na=False,
            na_values=[""],
        )
        # An earlier version may have fewer measures, which become empty; a missing necessary column is a
        # KeyError.
        rows = rows[list(_NEEDED)].join(rows.reindex(columns=list(MEASURES)).astype(float))
        rows["problem"] = rows["problem"].fillna("")
        # An earlier version did not write the settings.
        return LeagueReport(rows, tuple(about["own"]), about["baseline"], about.get("settings", {}))
    except (OSError, ValueError, KeyError) as error:
        message, remedy = "does not hold the results of a league", "storm-lab league writes one"
        raise UserError(message, field="folder", value=str(folder), remedy=remedy) from error


def diagram(report: LeagueReport) -> Figure:
    """Draw the critical-difference diagram."""
    from storm_lab.reporting.figures.comparison import critical_difference

    ranking = report.ranking
    return critical_difference(
        ranking.mean_ranks,
        difference=ranking.critical_difference,
        groups=ranking.groups,
        instances=ranking.instances,
        highlight=report.own,
    )


_NEEDED = ("case", "group", "scheduler", "seed", "run", "problem", "objective", "score")
_RANKS = {
    "mean_rank": "mean rank",
    "best_on": "best on, cases",
    "lost_on": "lost on, cases",
    "gain_percent": "median gain, %",
    "p_holm": "p (Wilcoxon, Holm)",
}
_REVERSED = {"losses": "wins", "ties": "ties", "wins": "losses"}


_IN_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "%&#$_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
"""LaTeX for the signs that it does not take as text, for captions: pandas escapes only cells."""


def latex(table: pd.DataFrame, caption: str, label: str, *, pages: bool = False) -> str:
    """Format a table of texts for LaTeX, with the rules of booktabs; with ``pages``, as a longtable."""
    text = table.to_latex(
        index=False,
        escape=True,
        caption=caption.translate(_IN_LATEX),
        label=label,
        column_format="l" + "r" * (len(table.columns) - 1),
        longtable=pages,
    )
    return text.replace("±", r"$\pm$").replace(r"\begin{table}", "\\begin{table}\n\\centering\\small")
