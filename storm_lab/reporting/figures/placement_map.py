"""Placement of executors: a column for each node, a box for each worker, a tile for each executor."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from storm_lab.reporting.figures import style

_TILES = 3
"""Tiles side by side in a worker."""

_ABREAST = 12
"""Nodes side by side; further nodes are drawn below."""


def placement_map(
    placements: pd.DataFrame, nodes: Sequence[str], *, about: style.About, title: str = ""
) -> Figure:
    """Draw tiles with the number of the executor's first task, coloured by component.

    ``placements`` has columns component, start_task, worker, node, port, and one row per executor that runs
    (with one seed). If a column topology has several values, components are named with it. ``nodes`` are all
    nodes of the cluster, so that empty ones are shown.
    """
    style.need(placements, ["component", "start_task", "worker", "node", "port"], "placements")
    names = sorted({*nodes, *placements["node"]}, key=style.natural_key)
    if "topology" in placements and placements["topology"].nunique() > 1:
        # Two topologies may use the same names of components.
        placements = placements.assign(component=placements["topology"] + ": " + placements["component"])
    components = sorted(set(placements["component"]))
    colours = style.colour_of(components)
    shelves = [names[low : low + _ABREAST] for low in range(0, len(names), _ABREAST)]
    slanted = max(sum(map(len, shelf)) for shelf in shelves) > 75
    # Numbers of two digits must not touch those of the tile beside them.
    size = 7.5 if len(names) < _ABREAST else 6.3
    tallest = [max(_height(placements[placements["node"] == name]) for name in shelf) for shelf in shelves]
    with style.house_style():
        high = 0.84 + sum(0.36 + 0.36 * height for height in tallest)
        figure = style.new_figure(max(high, 1.1 + 0.2 * len(components)))
        rows = figure.subplots(len(shelves), 1, squeeze=False, height_ratios=[1 + each for each in tallest])
        for axes, shelf, height in zip(rows[:, 0], shelves, tallest, strict=True):
            for place, name in enumerate(shelf):
                _draw_node(axes, place, placements[placements["node"] == name], colours, size)
            axes.set_xlim(-0.5, min(len(names), _ABREAST) - 0.5)
            axes.set_ylim(height + 0.1, -0.35)
            axes.set_xticks(range(len(shelf)), shelf, rotation=30 if slanted else 0)
            if slanted:
                for label in axes.get_xticklabels():
                    label.set(ha="left", rotation_mode="anchor")
            axes.xaxis.tick_top()
            axes.set_yticks([])
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        # With the numbers of its tasks, which tell the components apart without colours.
        tasks = placements.groupby("component")["start_task"].agg(["min", "max"])
        handles = [
            Patch(
                facecolor=colours[name], edgecolor=style.INK,
                label=f"{name}, {_span(*(int(end) for end in tasks.loc[name]))}",
            )
            for name in components
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside right upper")
        used, workers = placements["node"].nunique(), placements["worker"].nunique()
        note = (
            f"{len(placements)} executors in {_many(workers, 'worker')} "
            f"on {used} of {_many(len(names), 'node')} · "
            f"number: first task of the executor · {about.line('one of them shown', warm_up=False)}"
        )
        style.finish(figure, title, note)
    return figure


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _height(rows: pd.DataFrame) -> float:
    return sum(0.55 + -(-len(group) // _TILES) for _, group in rows.groupby("worker")) or 1.0


def _draw_node(axes: Axes, place: int, rows: pd.DataFrame, colours: dict[str, str], size: float) -> None:
    left, width = place - 0.46, 0.92
    wide = (width - 0.04) / _TILES
    if rows.empty:
        axes.add_patch(Rectangle((left, 0), width, 0.9, fill=False, edgecolor=style.MUTED, linestyle=":"))
        axes.text(place, 0.45, "free", ha="center", va="center", fontsize=8.5, color=style.MUTED)
        return
    top = 0.0
    for _, group in rows.sort_values(["port", "start_task"]).groupby("port", sort=True):
        depth = -(-len(group) // _TILES)
        axes.add_patch(Rectangle((left, top), width, depth + 0.4, fill=False, edgecolor=style.MUTED))
        axes.text(
            left + 0.03, top + 0.2, f"{group['port'].iloc[0]}", fontsize=6.5, va="center", color=style.MUTED
        )
        for number, (component, task) in enumerate(zip(group["component"], group["start_task"], strict=True)):
            x = left + 0.02 + (number % _TILES) * (width - 0.04) / _TILES
            y = top + 0.36 + number // _TILES
            axes.add_patch(Rectangle((x, y), wide - 0.015, 0.92, facecolor=colours[component], linewidth=0))
            # Dark text keeps a contrast above 4.5 on every fill of the palette.
            middle = x + wide / 2 - 0.0075
            axes.text(
                middle, y + 0.46, f"{task}", ha="center", va="center", color="#000000",
                fontsize=size if task < 100 else 0.75 * size,
            )  # fmt: skip
        top += depth + 0.55
