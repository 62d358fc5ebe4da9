"""What a tournament leaves on disk: tables as CSV and LaTeX, the diagram, a page of text, and a notebook."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from storm_lab.errors import UserError, refused_by_system
from storm_lab.league.ranking import RankTest, against_baseline, rank_test, win_tie_loss
from storm_lab.machine.whole_file import write_whole
from storm_lab.tournament.tournament import MEASURES, score_table, summary_table

if TYPE_CHECKING:
    # Matplotlib takes long to import, and who only plays draws nothing.
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LeagueReport:
    """The findings of a tournament.

    Attributes:
        rows: one row a run (`storm_lab.tournament.tournament.Tournament.play`).
        own: the entrants that the reader brought.
        baseline: what gains are taken against.
        asking_ms: how long an answer takes, by scheduler, on the machine that measured it.
    """

    rows: pd.DataFrame
    own: tuple[str, ...]
    baseline: str
    asking_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def scores(self) -> pd.DataFrame:
        """Cases by schedulers; cases that nobody finished are left out."""
        table = score_table(self.rows)
        finished: pd.DataFrame = table.loc[np.isfinite(table.to_numpy()).any(axis=1)]
        return finished

    @property
    def ranking(self) -> RankTest:
        """Friedman's test and Nemenyi's difference over the cases."""
        return rank_test(self.scores)

    @property
    def standing(self) -> pd.DataFrame:
        """One row a scheduler, best mean rank first.

        Columns: scheduler, mean_rank, best_on and lost_on (cases), gain_percent (median against the baseline)
        with p_holm, the means over cases of nodes, inter_node_percent, excess_percent and moved, asking_ms.
        """
        ranking, scores = self.ranking, self.scores
        gains = against_baseline(scores, self.baseline).set_index("scheduler")
        best = scores.eq(scores.min(axis=1), axis=0).sum()
        lost = np.isinf(scores).sum()
        rows = []
        for name, rank in ranking.mean_ranks.items():
            row: dict[str, object] = {"scheduler": name, "mean_rank": rank, "best_on": int(best[name])}
            row["lost_on"] = int(lost[name])
            for column in ("gain_percent", "p_holm"):
                row[column] = gains.loc[name, column] if name in gains.index else float("nan")
            own = self.rows[(self.rows["scheduler"] == name) & (self.rows["problem"] == "")]
            for measure in ("nodes", "inter_node_percent", "excess_percent", "moved"):
                row[measure] = own.groupby("case")[measure].mean().mean() if len(own) else float("nan")
            row["asking_ms"] = self.asking_ms.get(name, float("nan"))
            rows.append(row)
        return pd.DataFrame(rows)

    @property
    def cases(self) -> pd.DataFrame:
        """One row a case and scheduler, as `storm_lab.tournament.tournament.summary_table`."""
        return summary_table(self.rows)

    @property
    def problems(self) -> pd.DataFrame:
        """Losses: case, scheduler, seeds and the reason."""
        lost = self.rows[self.rows["problem"] != ""]
        found = lost.groupby(["case", "scheduler", "problem"], sort=False)["seed"]
        return found.agg(lambda seeds: ",".join(map(str, seeds))).reset_index(name="seeds")

    def text(self) -> str:
        """The report as plain text, a page or two."""
        ranking = self.ranking
        parts = [_shown(self.standing, _STANDING)]
        if ranking.p_value is not None:
            parts.append(
                f"Friedman over {ranking.instances} cases: chi2 = {ranking.statistic:.2f}, "
                f"p = {ranking.p_value:.2g}; critical difference of mean ranks (Nemenyi, 5 %): "
                f"{ranking.critical_difference:.2f}"
            )
        for name in self.own:
            if name in self.scores:
                parts.append(
                    f"{name} against each:\n{win_tie_loss(self.scores, name).to_string(index=False)}"
                )
        if len(self.problems):
            lines = [
                f"  {row['case']}, {row['scheduler']} (seeds {row['seeds']}): {row['problem']}"
                for row in self.problems.to_dict("records")
            ]
            parts.append("lost:\n" + "\n".join(lines))
        return "\n\n".join(parts)

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write all of it.

        Raises:
            UserError: the folder cannot be written.
        """
        about = {"own": list(self.own), "baseline": self.baseline, "asking_ms": dict(self.asking_ms)}
        files = {
            "runs.csv": self.rows.to_csv(index=False),
            "cases.csv": self.cases.to_csv(index=False),
            "standing.csv": self.standing.to_csv(index=False),
            "against-baseline.csv": against_baseline(self.scores, self.baseline).to_csv(index=False),
            "standing.tex": latex(self.standing, _STANDING, "Schedulers by mean rank", "tab:league"),
            "cases.tex": latex(
                _cells(self.cases), {}, "Means and 95 \\% intervals over seeds", "tab:cases", pages=True
            ),
            "report.txt": self.text() + "\n",
            "league.json": json.dumps(about, indent=1) + "\n",
            "league.ipynb": notebook(),
        }
        for name in self.own:
            if name in self.scores:
                files[f"win-tie-loss-{name}.csv"] = win_tie_loss(self.scores, name).to_csv(index=False)
        with refused_by_system("the results cannot be written", field="out", value=str(folder)):
            for name, text in files.items():
                write_whole(folder / name, text.encode())
            paths = [folder / name for name in files]
            if len(self.ranking.mean_ranks) > 1:
                paths += self._draw(folder)
        return tuple(paths)

    def _draw(self, folder: Path) -> list[Path]:
        # As above.
        from matplotlib import rc_context

        figure = diagram(self)
        svg, pdf = folder / "critical-difference.svg", folder / "critical-difference.pdf"
        # The same results, the same bytes.
        with rc_context({"svg.hashsalt": "storm-lab"}):
            figure.savefig(svg, metadata={"Date": None})
        figure.savefig(pdf, metadata={"CreationDate": None})
        return [svg, pdf]


def read_report(folder: Path) -> LeagueReport:
    """The report that `LeagueReport.write` left in a folder.

    Raises:
        UserError: there is none, or it is of another form.
    """
    try:
        about = json.loads((folder / "league.json").read_text(encoding="utf-8"))
        rows = pd.read_csv(folder / "runs.csv", keep_default_na=True)
        rows["problem"] = rows["problem"].fillna("")
        rows["score"] = rows["score"].astype(float)
        for measure in set(MEASURES) - set(rows):
            # An earlier version wrote the folder.
            rows[measure] = float("nan")
        return LeagueReport(rows, tuple(about["own"]), about["baseline"], about["asking_ms"])
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            "holds no league's result",
            field="folder",
            value=str(folder),
            remedy="storm-lab league writes one",
        ) from error


def diagram(report: LeagueReport) -> Figure:
    """The critical-difference diagram."""
    from storm_lab.reporting.figures.critical_difference import critical_difference

    ranking = report.ranking
    return critical_difference(
        ranking.mean_ranks,
        difference=ranking.critical_difference,
        groups=ranking.groups,
        instances=ranking.instances,
        highlight=report.own,
    )


_STANDING = {
    "scheduler": "scheduler",
    "mean_rank": "mean rank",
    "best_on": "best on",
    "lost_on": "lost on",
    "gain_percent": "median gain, %",
    "p_holm": "p (Wilcoxon, Holm)",
    "nodes": "nodes",
    "inter_node_percent": "between nodes, %",
    "excess_percent": "beyond the least, %",
    "moved": "moved",
    "asking_ms": "an answer, ms",
}


def _shown(table: pd.DataFrame, labels: Mapping[str, str]) -> str:
    return _formatted(table).rename(columns=dict(labels)).to_string(index=False)


def _formatted(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({column: [_text(value) for value in table[column]] for column in table.columns})


def _text(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _cells(cases: pd.DataFrame) -> pd.DataFrame:
    """Mean and interval in one cell."""
    table = cases[["case", "scheduler"]].copy()
    for measure, label in MEASURES.items():
        halves = cases[f"{measure}_half"]
        table[label] = [
            _text(float("nan") if value is None else float(value))
            + ("" if half is None or half != half else f" ± {_text(float(half))}")
            for value, half in zip(cases[measure], halves, strict=True)
        ]
    return table


def latex(
    table: pd.DataFrame, labels: Mapping[str, str], caption: str, label: str, *, pages: bool = False
) -> str:
    """A table for LaTeX with the rules of booktabs; with ``pages`` one that may go over several pages."""
    text = (
        _formatted(table)
        .rename(columns=dict(labels))
        .to_latex(
            index=False,
            escape=True,
            caption=caption,
            label=label,
            column_format="l" + "r" * (len(table.columns) - 1),
            longtable=pages,
        )
    )
    return text.replace("±", r"$\pm$").replace(r"\begin{table}", "\\begin{table}\n\\centering")


_INTRODUCTION = "# League\n\nThe results that lie beside this notebook: mean ranks, tests, and every case."

_CELLS = (
    "%matplotlib inline\nfrom pathlib import Path\n\n"
    "from storm_lab.tournament.report import diagram, read_report\n\n"
    "report = read_report(Path())\nprint(report.text())",
    "diagram(report)",
    "report.cases.round(2)",
    "report.rows",
)


def notebook() -> str:
    """A notebook that shows the tables beside it; without outputs."""
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "id": "league-0", "metadata": {}, "source": _INTRODUCTION}
    ]
    for number, source in enumerate(_CELLS, 1):
        cell: dict[str, object] = {"cell_type": "code", "id": f"league-{number}", "metadata": {}}
        cells.append(cell | {"source": source, "execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
