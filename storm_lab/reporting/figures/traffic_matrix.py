"""Who sends to whom: executor-to-executor traffic as a heat map, ordered by machine."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from storm_lab.reporting.figures.style import (
    HEAT,
    INK,
    LINES,
    About,
    foot,
    house_style,
    log_ticks,
    natural,
    need,
    new_figure,
)


def traffic_matrix(
    traffic: pd.DataFrame, placements: pd.DataFrame, *, about: About, title: str = ""
) -> Figure:
    """Tuples per second from each executor (rows) to each other (columns).

    What lies in the framed squares on the diagonal stays on its machine; everything else crosses the network.

    Args:
        traffic: columns source_task, target_task, tuples_per_s; of one run, or of several that share
            a placement (averaged).
        placements: columns component, start_task, end_task, node; one row an executor, those in force.
        about: seeds and warm-up, for the foot.
        title: above the figure; nothing if empty.

    Raises:
        UserError: a column is missing or there is nothing to draw.
    """
    need(traffic, ["source_task", "target_task", "tuples_per_s"], "traffic")
    need(placements, ["component", "start_task", "end_task", "node"], "placements")
    executors = _ordered(placements)
    matrix = _matrix(traffic, executors)
    with house_style():
        figure = new_figure(7.0)
        axes = figure.subplots()
        positive = matrix[matrix > 0]
        if positive.size:
            norm = LogNorm(float(positive.min()), max(float(positive.max()), float(positive.min()) * 1.01))
            image = axes.imshow(
                np.ma.masked_less_equal(matrix, 0), cmap=HEAT, norm=norm, interpolation="nearest"
            )
            bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
            bar.set_label("tuples/s (logarithmic; blank: none)")
            log_ticks(bar.ax.yaxis)
        _draw_machines(axes, [str(node) for node in executors["node"]])
        axes.set(xlabel="to executor, by machine", ylabel="from executor, by machine")
        axes.grid(visible=False)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        crossing = _crossing(matrix, list(executors["node"]))
        foot(figure, about.line("mean over seeds") + f" · {crossing:.0%} of tuples leave their machine")
    return figure


def _ordered(placements: pd.DataFrame) -> pd.DataFrame:
    keys = [natural(str(node)) for node in placements["node"]]
    order = sorted(range(len(keys)), key=lambda place: (keys[place], placements["start_task"].iloc[place]))
    return placements.iloc[order].reset_index(drop=True)


def _matrix(traffic: pd.DataFrame, executors: pd.DataFrame) -> NDArray[np.float64]:
    place_of = {
        task: place
        for place, (first, last) in enumerate(
            zip(executors["start_task"], executors["end_task"], strict=True)
        )
        for task in range(int(first), int(last) + 1)
    }
    matrix = np.zeros((len(executors), len(executors)))
    means = traffic.groupby(["source_task", "target_task"], as_index=False)["tuples_per_s"].mean()
    for source, target, rate in zip(
        means["source_task"], means["target_task"], means["tuples_per_s"], strict=True
    ):
        if source in place_of and target in place_of:
            matrix[place_of[source], place_of[target]] += rate
    return matrix


def _crossing(matrix: NDArray[np.float64], nodes: Sequence[str]) -> float:
    names = np.array(nodes)
    total = float(matrix.sum())
    return float(matrix[names[:, None] != names[None, :]].sum()) / total if total else 0.0


def _draw_machines(axes: Axes, nodes: Sequence[str]) -> None:
    edges = [0, *(place for place in range(1, len(nodes)) if nodes[place] != nodes[place - 1]), len(nodes)]
    centres, names = [], []
    for first, last in pairwise(edges):
        frame = [first - 0.5, last - 0.5, last - 0.5, first - 0.5, first - 0.5]
        axes.plot(frame, [first - 0.5] * 2 + [last - 0.5] * 2 + [first - 0.5], color=LINES[1], linewidth=1.4)
        if last < len(nodes):
            axes.axhline(last - 0.5, color=INK, linewidth=0.4, alpha=0.5)
            axes.axvline(last - 0.5, color=INK, linewidth=0.4, alpha=0.5)
        centres.append((first + last - 1) / 2)
        names.append(nodes[first])
    axes.set_xticks(centres, names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(centres, names)
    axes.tick_params(length=0)
