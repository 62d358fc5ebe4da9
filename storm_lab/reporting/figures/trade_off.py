"""Two quotients against each other, a panel for each topology: the gain and its cost."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures.style import LINES, MUTED, finish, house_style, need, new_figure


def trade_off(
    points: pd.DataFrame, *, x: str, y: str, panel: str, label: str, names: Mapping[str, str], note: str
) -> Figure:
    """Draw dots with labels, two panels beside each other; dotted lines at 1 mark no gain and no loss.

    ``points`` has a row for each dot, with columns ``x``, ``y``, ``panel`` (its panel) and ``label`` (the
    text beside it). ``names`` is ``x`` and ``y`` -> label of the axis. ``note`` is the foot.
    """
    need(points, [x, y, panel, label], "quotients")
    kinds = list(dict.fromkeys(points[panel]))
    rows = -(-len(kinds) // 2)
    with house_style():
        figure = new_figure(0.8 + 1.9 * rows)
        grid = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
        for axes in grid.flat[len(kinds) :]:
            axes.set_visible(False)
        for axes, kind in zip(grid.flat, kinds, strict=False):
            _draw(axes, points[points[panel] == kind], x, y, label)
            axes.set(title=kind)
        for axes in grid[-1]:
            axes.set(xlabel=names[x])
        figure.supylabel(names[y], fontsize=9.5)
        finish(figure, "", f"{note} · dotted: nothing gained, nothing lost")
    return figure


def _draw(axes: Axes, dots: pd.DataFrame, x: str, y: str, label: str) -> None:
    axes.plot(dots[x], dots[y], "o", color=LINES[0], markersize=5)
    # Labels are placed alternately to the right and to the left.
    for place, (at, height, text) in enumerate(zip(dots[x], dots[y], dots[label], strict=True)):
        axes.annotate(
            str(text), (at, height), xytext=(5, -3) if place % 2 == 0 else (-5, -3), fontsize=8.5,
            textcoords="offset points", ha="left" if place % 2 == 0 else "right",
        )  # fmt: skip
    axes.axvline(1, color=MUTED, linewidth=0.8, linestyle=":")
    axes.axhline(1, color=MUTED, linewidth=0.8, linestyle=":")
    axes.margins(0.12)
