"""Schedulers side by side: a panel for each metric, a row for each scheduler, a dot for each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Printed, draw_printed

WIDEST = 1.5
"""Limit of a bounded panel, as a multiple of the largest run."""


def comparison(
    results: pd.DataFrame,
    metrics: Mapping[str, str],
    *,
    about: style.About,
    variants: Sequence[str] = (),
    printed: Mapping[tuple[str, str], Printed] | None = None,
    bounded: bool = False,
    title: str = "",
) -> Figure:
    """Draw panels beside each other that share their rows.

    ``results`` has columns variant, seed, and one per metric; one row per run. ``metrics`` is column -> label
    with unit, from left to right. A ``baseline`` of ``about`` that is a variant is drawn as a dotted line.
    ``variants`` are the rows from top to bottom; by default those of the table, in order of appearance.
    ``printed`` is (variant, column) -> what the paper prints there. With ``bounded`` no interval reaches
    farther than `WIDEST` times the largest run. An interval from two seeds can be a hundred times wider than
    their difference, and would hide it.
    """
    style.need(results, ["variant", "seed", *metrics], "results by variant")
    rows = list(variants) or list(dict.fromkeys(results["variant"]))
    with style.house_style():
        figure = style.new_figure(1.15 + 0.34 * len(rows))
        axes = figure.subplots(1, len(metrics), sharey=True, squeeze=False)[0]
        for place, (column, label) in enumerate(metrics.items()):
            _draw(axes[place], results, rows, column, about.baseline)
            for (variant, of_column), number in (printed or {}).items():
                if of_column == column and variant in rows:
                    at = rows.index(variant)
                    draw_printed(axes[place], number, between=(at - 0.36, at + 0.36), upright=True)
            values = results[column].dropna()
            if bounded and (reach := WIDEST * float(values.abs().max())) > 0:
                low, high = axes[place].get_xlim()
                axes[place].set_xlim(max(low, 0.0 if values.min() >= 0 else -reach), min(high, reach))
            axes[place].set(xlabel=label, ylabel="")
            style.few_ticks(axes[place].xaxis, 5 if len(metrics) > 1 else 8)
        note = about.line("dots: seeds, bar: mean and 95 % interval")
        style.finish(figure, title, note, printed=bool(printed))
    return figure


def _draw(axes: Axes, results: pd.DataFrame, rows: Sequence[str], column: str, baseline: str) -> None:
    for place, variant in enumerate(rows):
        values = results.loc[results["variant"] == variant, column]
        if values.dropna().empty:
            spot = (0.02, place)
            axes.annotate("no result", spot, xycoords=("axes fraction", "data"), va="center", fontsize=8)
            continue
        axes.plot(values, [place - 0.24] * len(values), "o", markersize=3.2, color=style.LINES[5], alpha=0.9)
        low, high = style.seed_interval(values)
        axes.plot([low, high], [place, place], color=style.LINES[0], linewidth=2.2, solid_capstyle="butt")
        axes.plot(values.mean(), place, marker="D", markersize=5.5, color=style.LINES[1], linestyle="")
    if baseline in rows:
        mean = results.loc[results["variant"] == baseline, column].mean()
        axes.axvline(mean, color=style.INK, linestyle=":", linewidth=1.1)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.6)
    low, high = axes.get_xlim()
    low = min(0.0, low)
    # Without room, the dots of the largest value would be cut at the frame.
    axes.set_xlim(low, high + 0.04 * (high - low))
    axes.grid(axis="y", visible=False)
