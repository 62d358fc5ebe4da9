"""Grouped bars: a group for each setting or level, and a bar for each variant in it."""

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
    """Draw a panel for each metric, all with the same groups; a cross marks a bar without a value.

    ``results`` has columns ``group`` (it names the axis; the groups keep the order of the table), variant,
    seed, and one per metric; one row per run. ``metrics`` is column -> label with unit, from top to bottom.
    ``variants`` are the bars of a group, from left to right. ``printed`` is (group, variant, column) -> what
    the paper prints for that bar.
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
        axes[-1].set_xlabel(group)
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


def degradation_levels(
    degradation: pd.DataFrame,
    variants: Mapping[str, str],
    *,
    about: style.About,
    printed: Mapping[tuple[str, int], Printed] | None = None,
    title: str = "",
) -> Figure:
    """Draw the time for which throughput was below normal, by level (N-Storm, figures 7, 9, 11, 13).

    ``degradation`` has columns variant, seed, level (per cent below the smooth mean), degraded_s. Bars are
    means over seeds, with the 95 % interval. ``variants`` is label -> variant, from left to right in each
    group. ``printed`` is (label, level) -> what the paper prints, in seconds. Raises `UserError` for a
    missing column, or a variant without a row.
    """
    style.need(degradation, ["variant", "seed", "level", "degraded_s"], "degradation")
    levels = sorted(degradation["level"].unique())
    width = 0.8 / len(variants)
    with style.house_style():
        figure = style.new_figure(3.2)
        axes = figure.subplots()
        marks: list[tuple[Printed, tuple[float, float]]] = []
        for place, (label, variant) in enumerate(variants.items()):
            rows = style.need(degradation[degradation["variant"] == variant], [], f"degradation of {variant}")
            groups = rows.groupby("level")["degraded_s"]
            means = groups.mean().reindex(levels)
            offsets = [number + (place - (len(variants) - 1) / 2) * width for number in range(len(levels))]
            axes.bar(offsets, means, width=width * 0.92, **style.bar_style(place), label=label)
            for offset, level in zip(offsets, levels, strict=True):
                low, high = style.seed_interval(rows.loc[rows["level"] == level, "degraded_s"])
                axes.plot([offset, offset], [low, high], color=style.INK, linewidth=1.2)
                if printed and (label, int(level)) in printed:
                    marks.append((printed[label, int(level)], (offset - width / 2, offset + width / 2)))
        # Last, because they keep the limits that the axis has then.
        for number, between in marks:
            draw_printed(axes, number, between=between)
        names = [f"{level} %" if level < 100 else "standstill" for level in levels]
        axes.set_xticks(range(len(levels)), names)
        axes.set_xlabel("throughput below the smooth mean by at least")
        axes.set_ylabel("seconds of the run")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        style.finish(figure, title, about.line("line: 95 % interval"), printed=bool(printed))
    return figure
