"""Grouped bars: a group for each setting, a bar for each variant in it, a panel for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Printed, draw_printed

_WIDTH = 0.8


def grouped_bars(
    results: pd.DataFrame,
    metrics: Mapping[str, str],
    *,
    group: str,
    variants: Sequence[str],
    about: style.About,
    printed: Mapping[tuple[str, str, str], Sequence[Printed]] | None = None,
    title: str = "",
) -> Figure:
    """Draw panels below each other that share their groups; a cross marks a bar without a value.

    ``results`` has columns ``group`` (the groups keep the order of the table), variant, seed, and one per
    metric; one row per run. ``metrics`` is column -> label with unit, from top to bottom. ``variants`` are
    the bars of a group, from left to right. ``printed`` is (group, variant, column) -> what the paper prints
    for that bar.
    """
    style.need(results, [group, "variant", "seed", *metrics], "results by group and variant")
    groups = list(dict.fromkeys(results[group]))
    with style.house_style():
        figure = style.new_figure(0.9 + 1.55 * len(metrics))
        axes = figure.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
        cut = False
        width = _WIDTH / len(variants)
        drawn = results[results["variant"].isin(variants)]
        for axis, (column, label) in zip(axes, metrics.items(), strict=True):
            _draw(axis, results, column, group, groups, variants)
            axis.set(ylabel=label)
            cut = _scale(axis, drawn.groupby([group, "variant"])[column].mean()) or cut
            for (of_group, variant, of_column), numbers in (printed or {}).items():
                if of_column == column and of_group in groups and variant in variants:
                    at = groups.index(of_group) + (variants.index(variant) - (len(variants) - 1) / 2) * width
                    for number in numbers:
                        draw_printed(axis, number, between=(at - width / 2, at + width / 2))
            style.few_ticks(axis.yaxis, 4)
            axis.grid(axis="x", visible=False)
        axes[-1].set_xticks(range(len(groups)), groups)
        shown = drawn.groupby([group, "variant"])[list(metrics)].count()
        refused = len(shown) < len(groups) * len(variants) or bool((shown == 0).any(axis=None))
        notes = [about.line("bar: mean, line: 95 % interval")]
        notes += ["×: refused"] if refused else []
        notes += ["long lines are cut"] if cut else []
        legend = style.legend_of(axes[0])
        note = " · ".join(notes)
        style.finish(figure, title, note, printed=bool(printed), legend=legend, columns=len(variants))
    return figure


def _scale(axis: Axes, bars: pd.Series[float]) -> bool:
    """Let the axis go from 0 to at most twice the highest bar; return whether that cuts an interval.

    With two or three seeds an interval may be many times its mean, and would flatten all bars.
    """
    highest = 2.0 * float(bars.max())
    top = axis.get_ylim()[1]
    if not 0 < highest < top:
        axis.set_ylim(bottom=0)
        return False
    axis.set_ylim(0, highest)
    return True


def _draw(
    axis: Axes, results: pd.DataFrame, column: str, group: str, groups: Sequence[str], variants: Sequence[str]
) -> None:
    width = _WIDTH / len(variants)
    for place, name in enumerate(variants):
        rows = results[results["variant"] == name]
        cells = [rows.loc[rows[group] == each, column].dropna() for each in groups]
        at = np.arange(len(groups)) + (place - (len(variants) - 1) / 2) * width
        means = [float(cell.mean()) if len(cell) else 0.0 for cell in cells]
        axis.bar(at, means, width * 0.92, **style.bar_style(place), label=name)
        for x, mean, cell in zip(at, means, cells, strict=True):
            if not len(cell):
                axis.plot(x, 0, "x", color=style.MUTED, markersize=4, clip_on=False)
            elif len(cell) > 1:
                low, high = style.seed_interval(cell)
                axis.vlines(x, min(low, mean), max(high, mean), color=style.INK, linewidth=0.9)
