"""Several quantities over the same time, a panel for each: steps, bands over seeds, and printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Mark, draw_marks


@dataclass(frozen=True, slots=True)
class Quantity:
    """One panel: a column of the table, and its label with unit.

    Axes that are not ``logarithmic`` begin at 0. ``reference`` is text -> height of a dotted line;
    ``printed`` is what a paper prints.
    """

    column: str
    label: str
    logarithmic: bool = False
    reference: Mapping[str, float] = field(default_factory=dict)
    printed: tuple[Mark, ...] = ()


def time_panels(
    series: pd.DataFrame,
    quantities: Sequence[Quantity],
    *,
    note: str,
    line: str = "",
    faults_s: Sequence[float] = (),
    spans: Mapping[str, tuple[float, float]] | None = None,
    minutes: bool = False,
    ends_s: tuple[float | None, float | None] = (None, None),
    x_label: str = "time since submission",
) -> Figure:
    """Draw panels below each other that share the time axis; each value holds from its time to the next.

    Args:
        series: columns t_s, those of the quantities, ``line`` if given, and seed if there are several: then
            the mean over seeds is drawn, with the 95 % interval as a band.
        quantities: from top to bottom.
        note: the foot: which runs, what was left out.
        line: column whose values distinguish the lines; empty for one line.
        faults_s: times of vertical lines.
        spans: text -> begin and end of a shaded background.
        minutes: whether the axis counts minutes instead of seconds.
        ends_s: ends of the time axis in seconds; those of the data by default.
        x_label: label of the time axis, without unit.
    """
    columns = ["t_s", *(each.column for each in quantities), *([line] if line else [])]
    style.need(series, columns, "values over time")
    names = list(dict.fromkeys(series[line])) if line else [""]
    unit = 60.0 if minutes else 1.0
    edges = (series["t_s"].min(), series["t_s"].max())
    first, last = (float(edge if end is None else end) for end, edge in zip(ends_s, edges, strict=True))
    with style.house_style():
        figure = style.new_figure(1.0 + 1.75 * len(quantities) + (0.25 if line else 0.0))
        panels = figure.subplots(len(quantities), 1, sharex=True, squeeze=False)[:, 0]
        for axes, quantity in zip(panels, quantities, strict=True):
            for text, (begin, end) in (spans or {}).items():
                axes.axvspan(
                    begin / unit, end / unit, color=style.LINES[1], alpha=0.15, linewidth=0, label=text
                )
            for place, name in enumerate(names):
                rows = (series[series[line] == name] if line else series).dropna(subset=[quantity.column])
                if not rows.empty:
                    _draw(axes, rows, quantity.column, place, str(name), unit)
            _finish(axes, quantity, unit, (first, last))
            for at in faults_s:
                axes.axvline(at / unit, color=style.INK, linewidth=0.8)
        panels[-1].set_xlabel(f"{x_label}, {'min' if minutes else 's'}")
        panels[-1].set_xlim(first / unit, last / unit)
        legend = style.legend_of(panels[0]) if line or spans else {}
        marked = any(quantity.printed for quantity in quantities)
        style.finish(figure, "", note, printed=marked, legend=legend, columns=3)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, column: str, place: int, name: str, unit: float) -> None:
    options = style.line_style(place, marked=False)
    own = rows.groupby("t_s")[column]
    means = own.mean()
    axes.step(means.index / unit, means, where="post", label=name or None, **options)
    if "seed" in rows and rows["seed"].nunique() > 1:
        low, high = zip(*(style.seed_interval(values) for _, values in own), strict=True)
        axes.fill_between(
            means.index / unit, low, high, step="post", color=options["color"], alpha=0.25, linewidth=0
        )


def _finish(axes: Axes, quantity: Quantity, unit: float, ends_s: tuple[float, float]) -> None:
    axes.set_ylabel(quantity.label)
    if quantity.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    for text, height in quantity.reference.items():
        style.reference_line(axes, text, height)
    draw_marks(axes, quantity.printed, ends_s, unit)
    if quantity.logarithmic:
        style.log_ticks(axes.yaxis)
    else:
        style.few_ticks(axes.yaxis, 6)
