"""Nodes in use against T-Storm's consolidation factor, a panel for each topology, with the printed counts."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from storm_lab.reporting.figures.printed import Printed, draw_printed
from storm_lab.reporting.figures.style import LINES, finish, house_style, need, new_figure

_HALF = 0.35
"""Half the length of a printed number's line, in units of gamma."""


def nodes_by_gamma(
    measured: pd.DataFrame, printed: Mapping[tuple[str, float], Printed], *, title: str = ""
) -> Figure:
    """Draw the measured values as steps, with what a paper prints.

    ``measured`` holds the nodes in use, with a row for each gamma (the index) and a column for each topology.
    ``printed`` is (topology, gamma) -> nodes; topologies that were not measured are left out.
    """
    need(measured, [], "nodes by gamma")
    with house_style():
        figure = new_figure(3.0)
        axes = figure.subplots(1, len(measured.columns), sharey=True, squeeze=False)[0]
        for axis, topology in zip(axes, measured.columns, strict=True):
            axis.plot(measured.index, measured[topology], drawstyle="steps-post", color=LINES[0])
            axis.set(title=str(topology), xlabel="gamma", ylim=(0, None))
            for (of_topology, gamma), number in printed.items():
                if of_topology == topology:
                    draw_printed(axis, number, between=(gamma - _HALF, gamma + _HALF), colour=LINES[1])
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes[0].set_ylabel("nodes in use")
        finish(figure, title, "the same for every seed", printed=True)
    return figure
