"""One quantity against another: in general, and three pairs that have a form of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Printed, draw_printed


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of an axis: logarithmic or linear; with ``falling``, large values come first.

    ``low`` and ``high`` are its ends. None leaves them to matplotlib, but a linear axis begins at 0 or below.
    With ``shared`` all panels have the same vertical axis.
    """

    logarithmic: bool = False
    falling: bool = False
    low: float | None = None
    high: float | None = None
    shared: bool = False


def dependence(
    points: pd.DataFrame,
    *,
    x: str,
    values: Mapping[str, str],
    series: str = "",
    x_label: str,
    note: str,
    printed: Mapping[str, Sequence[Printed] | Mapping[float, Printed]] | None = None,
    printed_across: Sequence[Printed] = (),
    reference: Mapping[str, float] | None = None,
    joined: bool = True,
    ticks: Sequence[float] | Mapping[float, str] = (),
    labels: str = "",
    across: Scale | None = None,
    up: Scale | None = None,
    title: str = "",
) -> Figure:
    """Draw a panel for each quantity, beside each other, with a line or cloud for each series.

    Args:
        points: a row for each point; several at one place are drawn as dots and as the line of their mean.
        x: column of the horizontal axis.
        values: column -> label with unit, a panel for each.
        series: column whose values distinguish the lines; empty for one line.
        x_label: label of the horizontal axis with unit.
        note: the foot: which runs, what was left out.
        printed: column -> what the paper prints for it, at every x or, as a mapping, at some x.
        printed_across: what the paper prints for the quantity of the horizontal axis.
        reference: text, written in the first panel -> height of a dotted line in every panel.
        joined: whether to draw lines through the means at each x, instead of the points alone.
        ticks: positions of ticks, or position -> text; matplotlib's choice by default.
        labels: column of the text beside each mean; none by default.
        across: scale of the horizontal axis.
        up: scale of the vertical axes.
        title: above the figure.
    """
    style.need(points, [x, *values, *([series] if series else [])], "points")
    names = list(dict.fromkeys(points[series])) if series else [""]
    rows_of = {name: points[points[series] == name] if series else points for name in names}
    across, up = across or Scale(), up or Scale()
    named_ticks = ticks if isinstance(ticks, Mapping) else {tick: f"{tick:g}" for tick in ticks}
    with style.house_style():
        columns = 3 if len(values) < 3 else 4
        legend_rows = -(-len(names) // columns) if series else 0
        figure = style.new_figure(2.9 + 0.2 * legend_rows + (0.4 if len(names) > 1 else 0))
        panels = figure.subplots(1, len(values), squeeze=False, sharey=up.shared)[0]
        legend: dict[str, Any] = {}
        for axes, (column, label) in zip(panels, values.items(), strict=True):
            for place, (name, rows) in enumerate(rows_of.items()):
                known = rows.dropna(subset=[column])
                if not known.empty:
                    texts = known[labels] if labels else None
                    _draw(axes, str(name), place, known[x], known[column], joined=joined, texts=texts)
            if points[column].isna().all():
                # The panel keeps its horizontal axis.
                axes.plot(sorted(points[x]), [0.0] * len(points), alpha=0.0)
                spot = {"transform": axes.transAxes, "ha": "center", "fontsize": 8.5}
                axes.text(0.5, 0.12, "no value in these runs", **spot)
            _scale(axes, across, up)
            if named_ticks:
                axes.set_xticks(list(named_ticks), list(named_ticks.values()))
            elif not across.logarithmic:
                style.few_ticks(axes.xaxis, 10 if len(values) == 1 else 6)
            for text, height in (reference or {}).items():
                low, high = sorted(axes.get_ylim())
                if not low <= height <= high:
                    axes.set_ylim(min(low, height), max(high, height + 0.08 * (max(high, height) - low)))
                style.reference_line(axes, text if axes is panels[0] else "", height, zorder=1.5)
            _draw_printed(axes, (printed or {}).get(column, ()), points[x])
            for number in printed_across:
                draw_printed(axes, number, upright=True)
            axes.set(xlabel=x_label, ylabel=style.broken_label(label, 22))
            if up.logarithmic:
                style.log_ticks(axes.yaxis)
            else:
                style.few_ticks(axes.yaxis, 6)
            if series:
                legend |= style.legend_of(axes)
        marked = bool(printed or printed_across)
        style.finish(figure, title, note, printed=marked, legend=legend, columns=columns)
    return figure


def _draw(
    axes: Axes,
    name: str,
    place: int,
    x: pd.Series[float],
    y: pd.Series[float],
    *,
    joined: bool,
    texts: pd.Series[float] | None,
) -> None:
    """Draw series number ``place``; ``texts`` are written beside its means."""
    options = style.line_style(place)
    means = y.groupby(x).mean()
    several = len(y) > len(means)
    if several or not joined:
        label = None if joined else name
        axes.plot(x, y, options["marker"], color=options["color"], markersize=4, alpha=0.85, label=label)
    if several:
        options["marker"] = ""
    if joined:
        axes.plot(means.index, means, label=name, **options)
    if texts is not None:
        for spot, height, text in zip(means.index, means, texts.groupby(x).first(), strict=True):
            axes.annotate(
                f"{text:g}", (float(str(spot)), height), xytext=(3, 5 if place % 2 == 0 else -12),
                textcoords="offset points", color=options["color"], fontsize=8.5,
            )  # fmt: skip


def _scale(axes: Axes, across: Scale, up: Scale) -> None:
    if across.logarithmic:
        axes.set_xscale("log")
        style.log_ticks(axes.xaxis)
    if across.falling:
        axes.invert_xaxis()
    axes.set_xlim(left=across.low, right=across.high)
    if up.logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(bottom=up.low, top=up.high)
        return
    low, high = axes.get_ylim()
    if up.low is None and low > 0:
        # The room above was chosen for the span of the values, which is larger from 0 on.
        high *= 1.05
    axes.set_ylim(min(0.0, low) if up.low is None else up.low, high if up.high is None else up.high)


def _draw_printed(
    axes: Axes, printed: Sequence[Printed] | Mapping[float, Printed], at: pd.Series[float]
) -> None:
    if not isinstance(printed, Mapping):
        for number in printed:
            draw_printed(axes, number)
        return
    # Wide enough to be seen, and never as wide as to overlap; on a logarithmic axis in its own units.
    scale = axes.xaxis.get_transform()
    spots = dict(zip(printed, scale.transform([float(place) for place in printed]), strict=True))
    ends = scale.transform([float(at.min()), float(at.max())])
    apart = min((b - a for a, b in pairwise(sorted(spots.values()))), default=float("inf"))
    half = min(0.35 * apart, 0.025 * float(ends[1] - ends[0]) or 0.18)
    for place, number in printed.items():
        low, high = scale.inverted().transform([spots[place] - half, spots[place] + half])
        draw_printed(axes, number, between=(float(low), float(high)))


def load_curve(
    rows: pd.DataFrame, *, about: style.About, present_per_s: float | None = None, title: str = ""
) -> Figure:
    """Draw complete latency (mean and p99) and completed share over the offered rate, a panel for each.

    ``rows`` has columns offered_per_s, latency_ms, p99_ms, acked_per_s; one row per rate. The present load,
    ``present_per_s``, is marked.
    """
    style.need(rows, ["offered_per_s", "latency_ms", "p99_ms", "acked_per_s"], "a load curve")
    ordered = rows.sort_values("offered_per_s")
    with style.house_style():
        figure = style.new_figure(4.4)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        at = ordered["offered_per_s"]
        upper.plot(at, ordered["latency_ms"], marker="o", color=style.LINES[0], label="mean")
        upper.plot(
            at, ordered["p99_ms"], marker="s", linestyle="--", color=style.LINES[1], label="99th percentile"
        )
        upper.set_yscale("log")
        style.log_ticks(upper.yaxis)
        upper.set_ylabel("complete latency, ms")
        lower.plot(at, 100 * ordered["acked_per_s"] / at, marker="o", color=style.LINES[0])
        lower.set(ylabel="completed, %", xlabel="offered, records/s", ylim=(0, 105))
        lower.set_xlim(left=0)
        if present_per_s is not None:
            for axes in (upper, lower):
                axes.axvline(present_per_s, color=style.LINES[2], linestyle=":", label="present load")
        # Above the panel, because the curves may be anywhere in it.
        upper.legend(loc="lower right", ncols=3, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
        style.finish(figure, title, about.line("means"))
    return figure


_HALF = 0.35
"""Half the length of a printed number's line, in units of gamma."""


def nodes_by_gamma(
    measured: pd.DataFrame, printed: Mapping[tuple[str, float], Printed], *, title: str = ""
) -> Figure:
    """Draw nodes in use against T-Storm's consolidation factor, a panel for each topology, as steps.

    ``measured`` has a row for each gamma (the index) and a column for each topology. ``printed``, what the
    paper prints, is (topology, gamma) -> nodes; topologies that were not measured are left out.
    """
    style.need(measured, [], "nodes by gamma")
    with style.house_style():
        figure = style.new_figure(3.0)
        axes = figure.subplots(1, len(measured.columns), sharey=True, squeeze=False)[0]
        for axis, topology in zip(axes, measured.columns, strict=True):
            axis.plot(measured.index, measured[topology], drawstyle="steps-post", color=style.LINES[0])
            axis.set(title=str(topology), xlabel="gamma", ylim=(0, None))
            for (of_topology, gamma), number in printed.items():
                if of_topology == topology:
                    draw_printed(axis, number, between=(gamma - _HALF, gamma + _HALF))
                    if number.value is not None:
                        axis.plot(gamma, number.value, "o", markersize=7, fillstyle="none", color=style.INK)
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes[0].set_ylabel("nodes in use")
        note = "the same for every seed · circles: printed at that gamma"
        style.finish(figure, title, note, printed=True)
    return figure


def trade_off(
    points: pd.DataFrame, *, x: str, y: str, panel: str, label: str, names: Mapping[str, str], note: str
) -> Figure:
    """Draw two quotients, a gain and its cost, against each other: dots with labels, two panels in a row.

    ``x``, ``y``, ``panel`` and ``label`` (the text beside a dot) are columns of ``points``; ``names`` has the
    labels of the axes by column. Dotted lines at 1 mark no gain and no loss.
    """
    style.need(points, [x, y, panel, label], "quotients")
    kinds = list(dict.fromkeys(points[panel]))
    rows = -(-len(kinds) // 2)
    # All panels have the same axes, which include 1.
    x_span, y_span = (max(1.0, points[name].max()) - min(1.0, points[name].min()) or 1.0 for name in (x, y))
    spans = (float(x_span), float(y_span))
    with style.house_style():
        figure = style.new_figure(0.8 + 1.9 * rows)
        grid = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
        for axes in grid.flat[len(kinds) :]:
            axes.set_visible(False)
        for axes, kind in zip(grid.flat, kinds, strict=False):
            _draw_dots(axes, points[points[panel] == kind], x, y, label, spans)
            axes.set(title=kind)
        for axes in grid[-1]:
            axes.set(xlabel=names[x])
        figure.supylabel(names[y], fontsize=9.5)
        style.finish(figure, "", f"{note} · dotted: nothing gained, nothing lost")
    return figure


_SIDES = (
    (5, 0, "left", "center"),
    (-5, 0, "right", "center"),
    (0, 5, "center", "bottom"),
    (0, -5, "center", "top"),
)
"""Places of a dot's label, best first: offsets in points, and what of the text is there."""


def _draw_dots(
    axes: Axes, dots: pd.DataFrame, x: str, y: str, label: str, spans: tuple[float, float]
) -> None:
    """Draw dots, each with its label on a side where no other dot or label is."""
    axes.plot(dots[x], dots[y], "o", color=style.LINES[0], markersize=5)
    # A label of two letters takes some 5 % of the width and 8 % of the height of a panel.
    wide, high = 0.05 * spans[0], 0.08 * spans[1]
    taken = [(float(at), float(height)) for at, height in zip(dots[x], dots[y], strict=True)]
    for at, height, text in zip(dots[x], dots[y], dots[label], strict=True):
        places = [(at + np.sign(right) * wide, height + np.sign(up) * 1.2 * high) for right, up, *_ in _SIDES]
        crowds = [
            sum(abs(px - qx) < wide and abs(py - qy) < high for qx, qy in taken if (qx, qy) != (at, height))
            for px, py in places
        ]
        best = crowds.index(min(crowds))
        taken.append(places[best])
        right, up, across, along = _SIDES[best]
        axes.annotate(
            str(text), (at, height), xytext=(right, up), fontsize=8.5, textcoords="offset points",
            ha=across, va=along,
        )  # fmt: skip
    axes.axvline(1, color=style.MUTED, linewidth=0.8, linestyle=":")
    axes.axhline(1, color=style.MUTED, linewidth=0.8, linestyle=":")
    axes.margins(0.12)
