"""Schedulers side by side: by their results, and by their mean ranks over many instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.errors import UserError
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
    """Draw a panel for each metric, beside each other: a row for each scheduler, a dot for each seed.

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


def critical_difference(
    mean_ranks: Mapping[str, float],
    *,
    difference: float | None,
    groups: Sequence[Sequence[str]],
    instances: int,
    highlight: Sequence[str],
) -> Figure:
    """Draw mean ranks over a number of ``instances`` on a line; the best scheduler is on the left.

    ``difference`` is Nemenyi's critical difference of mean ranks, None to draw none. ``groups`` are
    schedulers that do not differ, each joined by a bar; the names of those in ``highlight`` are bold. Raises
    `UserError` for fewer than two schedulers.
    """
    if len(mean_ranks) < 2:
        raise UserError("a comparison needs at least two schedulers", field="mean_ranks")
    names = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    half = (len(names) + 1) // 2
    with style.house_style():
        figure = style.new_figure(1.5 + 0.24 * half + 0.16 * len(groups))
        axes = figure.subplots()
        axes.set_xlim(0.4, len(names) + 0.6)
        depth = half + 0.7 * len(groups) + 2.0
        axes.set_ylim(-depth, 2.2)
        axes.axis("off")
        axes.plot([1, len(names)], [0, 0], color=style.INK, linewidth=1.2)
        for rank in range(1, len(names) + 1):
            axes.plot([rank, rank], [0, 0.18], color=style.INK, linewidth=1.0)
            axes.annotate(str(rank), (rank, 0.3), ha="center", va="bottom", fontsize=8)
        first = 0.7 * len(groups) + 0.8
        for place, name in enumerate(names):
            left, mean = place < half, mean_ranks[name]
            level = -(first + (place if left else len(names) - 1 - place))
            edge = 0.9 if left else len(names) + 0.1
            axes.plot([mean] * 2, [0, level], color=style.MUTED, linewidth=0.8)
            axes.plot([mean, edge], [level, level], color=style.MUTED, linewidth=0.8)
            axes.annotate(
                f"{name}  {mean:.2f}", (edge, level), xytext=(-3 if left else 3, 0),
                textcoords="offset points", ha="right" if left else "left", va="center", fontsize=8.5,
                fontweight="bold" if name in highlight else "normal", annotation_clip=False,
            )  # fmt: skip
        for row, group in enumerate(groups):
            ends = [mean_ranks[name] for name in group]
            level = -(0.45 + 0.7 * row)
            span = [min(ends) - 0.04, max(ends) + 0.04]
            axes.plot(span, [level, level], color=style.LINES[0], linewidth=3.2, solid_capstyle="butt")
        foot = f"mean rank over {instances} instances, 1 is best"
        if difference is not None:
            axes.plot([1, 1 + difference], [1.5, 1.5], color=style.INK, linewidth=1.4)
            axes.annotate(
                f"critical difference {difference:.2f} (Nemenyi, 5 %)", (1 + difference, 1.5), xytext=(5, 0),
                textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
            foot += "; schedulers joined by a bar do not differ"
        figure.text(0.01, 0.01, foot, fontsize=7.5, color=style.MUTED)
    return figure
