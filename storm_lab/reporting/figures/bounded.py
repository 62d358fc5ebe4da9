"""Panels whose axes are bounded by the runs, not by the intervals of too few of them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

WIDEST = 1.5
"""How far beyond the largest run a panel may reach for the sake of intervals."""


def bounded(figure: Figure, results: pd.DataFrame, metrics: Sequence[str]) -> Figure:
    """The figure of `storm_lab.reporting.figures.comparison.comparison`, with panels that show its runs.

    An interval from two seeds that differ a little can be a hundred times wider than they are apart, and
    would make them invisible; it is cut off at the frame. ``metrics`` are the columns of ``results`` that the
    panels show, in their order.
    """
    for axes, metric in zip(figure.axes, metrics, strict=False):
        values = results[metric].dropna()
        reach = float(values.abs().max()) if len(values) else 0.0
        if not reach:
            continue
        low, high = axes.get_xlim()
        least = 0.0 if float(values.min()) >= 0 else -WIDEST * reach
        axes.set_xlim(max(low, least), min(high, WIDEST * reach))
    return figure
