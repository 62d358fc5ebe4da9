"""One quantity against another: a panel for each quantity, a line or cloud for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

from storm_lab.reporting.figures.style import (
    DASHES,
    INK,
    LINES,
    MARKS,
    foot,
    house_style,
    legend_on_top,
    need,
    new_figure,
)


def dependence(
    points: pd.DataFrame,
    *,
    x: str,
    values: Mapping[str, str],
    series: str = "",
    x_label: str,
    note: str,
    printed: Mapping[str, float] | None = None,
    joined: bool = True,
    ticks: Sequence[float] = (),
    title: str = "",
) -> Figure:
    """Panels beside each other that share what they depend on.

    Args:
        points: a row for each point.
        x: column of the horizontal axis.
        values: column -> label with unit, a panel for each.
        series: column whose values tell the lines apart; empty for one line.
        x_label: label of the horizontal axis with unit.
        note: the foot: which runs, what was left out.
        printed: column -> what the paper prints, drawn as a horizontal line.
        joined: draw lines through the means at each x, else the points alone.
        ticks: where to put ticks; matplotlib's choice by default.
        title: above the figure.

    Raises:
        UserError: a column is missing or there is no point.
    """
    need(points, [x, *values, *([series] if series else [])], "points")
    names = list(dict.fromkeys(points[series])) if series else [""]
    with house_style():
        legend_rows = -(-len(names) // (3 if len(values) == 1 else 2)) if series else 0
        figure = new_figure(2.9 + 0.2 * legend_rows)
        for axes, (column, label) in zip(
            figure.subplots(1, len(values), squeeze=False)[0], values.items(), strict=True
        ):
            for place, name in enumerate(names):
                rows = (points[points[series] == name] if series else points).dropna(subset=[column])
                colour = LINES[place % len(LINES)]
                mark = MARKS[place % len(MARKS)]
                axes.plot(rows[x], rows[column], mark, color=colour, markersize=4, alpha=0.85)
                if joined and not rows.empty:
                    means = rows.groupby(x)[column].mean()
                    dash = DASHES[place % len(DASHES)]
                    axes.plot(
                        means.index,
                        means,
                        color=colour,
                        label=str(name),
                        linestyle=(0, dash) if dash else "-",
                    )
                elif not rows.empty:
                    axes.plot([], [], mark, color=colour, label=str(name))
            if printed and column in printed:
                axes.axhline(printed[column], color=INK, linestyle=":", linewidth=1.2)
                axes.annotate(
                    "as printed", (1, printed[column]), xycoords=("axes fraction", "data"), xytext=(-2, 2),
                    textcoords="offset points", ha="right", va="bottom", fontsize=8,
                )  # fmt: skip
            axes.set(xlabel=x_label, ylabel=_broken(label))
            # Room above for what is written over the line.
            low, high = min(0.0, axes.get_ylim()[0]), axes.get_ylim()[1]
            axes.set_ylim(low, high + 0.08 * (high - low) if printed else high)
            if ticks:
                axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
            if series:
                legend_on_top(axes, min(len(names), 3 if len(values) == 1 else 2))
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        foot(figure, note)
    return figure


def _broken(label: str) -> str:
    """The label in lines that fit the height of an axis; the unit stays with the word before it."""
    return fill(",\N{NO-BREAK SPACE}".join(label.rsplit(", ", 1)), 22)
