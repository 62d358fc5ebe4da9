"""Nodes in use against T-Storm's consolidation factor, a panel for each topology, with the printed counts."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from storm_lab.reporting.figures.style import LINES, foot, house_style, need, new_figure


def nodes_by_gamma(measured: pd.DataFrame, printed: pd.DataFrame, *, title: str = "") -> Figure:
    """Steps of what was measured, rings for what a paper prints.

    Args:
        measured: nodes in use; a row for each gamma (the index), a column for each topology.
        printed: columns topology, gamma and nodes; topologies that were not measured are left out.
        title: above the figure; nothing if empty.

    Raises:
        UserError: a column is missing or there is nothing to draw.
    """
    need(measured, [], "nodes by gamma")
    need(printed, ["topology", "gamma", "nodes"], "printed node counts")
    with house_style():
        figure = new_figure(3.0)
        axes = figure.subplots(1, len(measured.columns), sharey=True, squeeze=False)[0]
        for place, topology in enumerate(measured.columns):
            axis, rings = axes[place], printed[printed["topology"] == topology]
            axis.plot(measured.index, measured[topology], drawstyle="steps-post", color=LINES[0])
            axis.plot(rings["gamma"], rings["nodes"], "o", markersize=9, fillstyle="none", color=LINES[1])
            axis.set(
                title=str(topology), xlabel="gamma", ylabel="" if place else "nodes in use", ylim=(0, None)
            )
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        foot(figure, "rings: as printed · the same for every seed")
    return figure
