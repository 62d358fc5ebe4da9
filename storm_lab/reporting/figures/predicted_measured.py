"""Predicted against measured on logarithmic axes: a panel for each kind of measure, a mark for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures.style import INK, LINES, MUTED, house_style, need, new_figure

_MARKS = {"predicted": ("o", LINES[0]), "calibrates": ("^", LINES[1])}


def predicted_measured(
    results: pd.DataFrame, panels: Mapping[str, tuple[Sequence[str], str]], *, title: str = ""
) -> Figure:
    """A panel for each group of measures.

    Args:
        results: columns measure, half, measured, low, high and predicted.
        panels: label with unit -> the measures that are drawn together, and what a mark is.
        title: above all panels.

    Raises:
        UserError: a column is missing or there is nothing to draw.
    """
    need(results, ["measure", "half", "measured", "low", "high", "predicted"], "scenes with their measures")
    with house_style():
        figure = new_figure(3.4)
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for place, (label, (measures, _)) in enumerate(panels.items()):
            drawn = results[results["measure"].isin(measures)].dropna(subset=["measured", "predicted"])
            _draw(axes[place], drawn)
            axes[place].set(xlabel=f"measured, {label}", ylabel=f"predicted, {label}")
        axes[0].legend(loc="upper left", frameon=False, fontsize=8)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def _draw(axes: Axes, drawn: pd.DataFrame) -> None:
    axes.set(xscale="log", yscale="log")
    if drawn.empty:
        return
    both = drawn[["measured", "predicted"]].to_numpy(float)
    ends = np.array([both.min() / 1.5, both.max() * 1.5])
    axes.plot(ends, ends, color=INK, linewidth=0.8)
    for factor in (1.25, 1 / 1.25):
        axes.plot(ends, ends * factor, color=MUTED, linewidth=0.6, linestyle=":")
    for half, (mark, colour) in _MARKS.items():
        own = drawn[drawn["half"] == half]
        low = np.clip(own["measured"] - own["low"].fillna(own["measured"]), 0, own["measured"] * 0.9)
        high = np.clip(own["high"].fillna(own["measured"]) - own["measured"], 0, None)
        axes.errorbar(
            own["measured"],
            own["predicted"],
            xerr=[low, high],
            fmt=mark,
            color=colour,
            markersize=4,
            linewidth=0.6,
            label=half,
        )
    axes.set(xlim=ends, ylim=ends)
