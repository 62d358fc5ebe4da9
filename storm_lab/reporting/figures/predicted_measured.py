"""Predicted against measured on logarithmic axes: a panel for each kind of measure, a mark for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from storm_lab.reporting.figures import style

_BANDS = {1.1: 0.28, 1.25: 0.14}
"""Opacity of the bands around equality, by factor: the goals for rates and CPU, and for latencies."""

_WIDE = 60.0
"""Largest over smallest value above which only powers of ten are written at an axis."""

_MARKERS: dict[str, dict[str, Any]] = {
    "predicted": {"marker": "o", "color": style.LINES[0], "markerfacecolor": style.LINES[0]},
    "calibrates": {"marker": "^", "color": style.LINES[1], "markerfacecolor": "none"},
}


def predicted_measured(
    results: pd.DataFrame, panels: Mapping[str, tuple[Sequence[str], str]], *, title: str = "", note: str = ""
) -> Figure:
    """Draw a panel for each group of measures, two in a row.

    ``results`` has columns measure, half, measured, low, high and predicted; rows without a measured or
    predicted value are left out. ``panels`` is name -> the measures that are drawn together, and their unit.
    """
    columns = ["measure", "half", "measured", "low", "high", "predicted"]
    style.need(results, columns, "scenes with their measures")
    with style.house_style():
        rows = -(-len(panels) // 2)
        figure = style.new_figure(0.7 + 3.6 * rows)
        axes = figure.subplots(rows, 2, squeeze=False).ravel()
        for place, (name, (measures, unit)) in enumerate(panels.items()):
            drawn = results[results["measure"].isin(measures)].dropna(subset=["measured", "predicted"])
            _draw(axes[place], drawn)
            axes[place].set(title=f"{name}, {unit}", xlabel="real Storm", ylabel="emulator")
        for spare in axes[len(panels) :]:
            spare.set_visible(False)
        style.finish(figure, title, note, legend=_handles(), columns=2)
    return figure


def _handles() -> dict[str, object]:
    handles: dict[str, object] = {}
    for half, options in _MARKERS.items():
        handles[half] = Line2D([], [], linestyle="", markersize=5, **options)
    for factor, alpha in _BANDS.items():
        handles[f"factor {factor:g}"] = Patch(color=style.MUTED, alpha=alpha, linewidth=0)
    return handles


def _draw(axes: Axes, drawn: pd.DataFrame) -> None:
    axes.set(xscale="log", yscale="log", aspect="equal")
    if drawn.empty:
        axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", color=style.MUTED)
        axes.set(xticks=[], yticks=[])
        return
    both = drawn[["measured", "predicted"]].to_numpy(float)
    ends = np.array([both.min() / 1.6, both.max() * 1.6])
    for factor, alpha in _BANDS.items():
        axes.fill_between(ends, ends / factor, ends * factor, color=style.MUTED, alpha=alpha, linewidth=0)
    axes.plot(ends, ends, color=style.INK, linewidth=0.8)
    for half, options in _MARKERS.items():
        own = drawn[drawn["half"] == half]
        low = np.clip(own["measured"] - own["low"].fillna(own["measured"]), 0, own["measured"] * 0.9)
        high = np.clip(own["high"].fillna(own["measured"]) - own["measured"], 0, None)
        axes.errorbar(
            own["measured"], own["predicted"], xerr=[low, high], linestyle="", markersize=4.5,
            markeredgewidth=1.0, elinewidth=0.8, **options,
        )  # fmt: skip
    axes.set(xlim=ends, ylim=ends)
    for axis in (axes.xaxis, axes.yaxis):
        style.log_ticks(axis)
        if ends[1] / ends[0] > _WIDE:
            # A panel of half the width has no room for more.
            axis.set_major_locator(LogLocator())
