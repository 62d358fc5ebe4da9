"""Sensitivity of a result to single settings: a row for each setting, a mark for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Printed, draw_printed

_MARKS = "oDs^v"


def sensitivity(
    values: pd.DataFrame,
    panels: Mapping[str, str],
    *,
    about: style.About,
    printed: Mapping[str, Printed] | Mapping[tuple[str, str], Printed] | None = None,
    zero: bool = True,
    logarithmic: bool = False,
    most: float | None = None,
    title: str = "",
) -> Figure:
    """Draw panels beside each other that share their rows, one per column of ``values``.

    ``values`` has columns label (row), series, and one for each panel; the rows are in order of appearance.
    ``panels`` is column -> label of its axis with unit, from left to right. ``printed`` is what the paper
    prints for each series in every panel or, by (series, column), in one; it is drawn in the colour of the
    series. ``zero`` draws a line at 0. A value above ``most`` is drawn at ``most`` with an arrow and its
    number, so that it does not compress all others.
    """
    style.need(values, ["label", "series", *panels], "values by setting")
    rows = list(dict.fromkeys(values["label"]))
    series = list(dict.fromkeys(values["series"]))
    with style.house_style():
        figure = style.new_figure(1.35 + 0.3 * len(rows))
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (column, label) in zip(axes, panels.items(), strict=True):
            for place, name in enumerate(series):
                own = values[values["series"] == name]
                at = [rows.index(row) + 0.16 * (place - (len(series) - 1) / 2) for row in own["label"]]
                colour, mark = style.LINES[place % len(style.LINES)], _MARKS[place % len(_MARKS)]
                axis.plot(own[column].clip(upper=most), at, mark, color=colour, markersize=5, label=name)
            if most is not None:
                _name_distant(axis, values[values[column] > most], column, rows, series, most)
            if logarithmic:
                axis.set_xscale("log")
            # Last, because they keep the limits that the axis has then.
            for place, name in enumerate(series):
                for key, number in (printed or {}).items():
                    if key in (name, (name, column)):
                        draw_printed(axis, number, upright=True, colour=style.LINES[place % len(style.LINES)])
            if logarithmic:
                style.log_ticks(axis.xaxis, narrow=len(panels) > 1)
            else:
                style.few_ticks(axis.xaxis, 5 if len(panels) > 1 else 8)
                if zero:
                    axis.axvline(0, color=style.INK, linewidth=0.8)
            axis.set_xlabel(label)
        axes[0].set_yticks(range(len(rows)), rows)
        axes[0].set_ylim(len(rows) - 0.5, -0.5)
        axes[-1].legend(loc="lower right", ncols=len(series), bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
        beyond = most is not None and bool((values[list(panels)] > most).any(axis=None))
        note = about.line("dots: means over seeds") + (" · → beyond the axis" if beyond else "")
        style.finish(figure, title, note, printed=bool(printed))
    return figure


def _name_distant(
    axis: Axes, distant: pd.DataFrame, column: str, rows: Sequence[str], series: Sequence[str], most: float
) -> None:
    """Write the values above ``most`` beside their marks; those of one row below each other."""
    for label, own in distant.groupby("label"):
        ordered = sorted(
            own[["series", column]].itertuples(index=False), key=lambda each: series.index(each[0])
        )
        for place, (_, value) in enumerate(ordered):
            above = 8.5 * ((len(ordered) - 1) / 2 - place)
            axis.annotate(
                f"{value:.0f} →", (most, rows.index(str(label))), xytext=(-6, above),
                textcoords="offset points", ha="right", va="center", fontsize=8,
            )  # fmt: skip
