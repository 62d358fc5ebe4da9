"""A topology too large for one edge per pair of executors: its components, and what flows between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import NDArray

from storm_lab.reporting.figures.style import INK, MUTED, PAPER

MOST_EXECUTORS = 60
MOST_EDGES = 1200
"""Beyond either, single edges cannot be told apart on a page, and the file takes megabytes."""

_ROWS = 20
"""Executors of a component one below the other, before its next column starts."""
_STEP = 0.034
"""Width of such a column, as a share of the figure."""


def is_large(graph: nx.DiGraph) -> bool:
    """Whether a graph of executors is to be drawn by component."""
    return bool(graph.number_of_nodes() > MOST_EXECUTORS or graph.number_of_edges() > MOST_EDGES)


def draw_overview(
    axes: Axes,
    graph: nx.DiGraph,
    layers: Mapping[str, int],
    machines: Sequence[str],
    colours: Mapping[str, str],
) -> None:
    """Each component as a block of its executors, which carry colour and number of their machine.

    From block to block go two lines: a solid one as wide as what stays on a machine, a dashed one as wide as
    what crosses the network. ``graph`` and ``layers`` are results of `executor_graph` and `component_layers`.
    """
    blocks = _blocks(graph, layers)
    flows = _flows(graph)
    spots: list[tuple[float, float]] = []
    fills: list[str] = []
    for executors, centre in blocks.values():
        for place, executor in enumerate(executors):
            spots.append(_spot(centre, len(executors), place))
            fills.append(colours[str(graph.nodes[executor]["node"])])
            number = machines.index(str(graph.nodes[executor]["node"])) + 1
            axes.text(
                *spots[-1], f"{number}", ha="center", va="center", fontsize=6.5, color="#000000", zorder=4
            )
    _draw_flows(axes, flows, blocks)
    x, y = np.array(spots).T
    axes.scatter(x, y, s=105, c=fills, edgecolors=INK, linewidths=0.7, zorder=3)
    for name, (executors, (middle, height)) in blocks.items():
        top = height + (min(len(executors), _ROWS) - 1) / 2
        axes.annotate(
            f"{name} ({len(executors)})", (middle, top), xytext=(0, 10), textcoords="offset points",
            ha="center", fontsize=9, fontweight="bold",
        )  # fmt: skip


def _blocks(graph: nx.DiGraph, layers: Mapping[str, int]) -> dict[str, tuple[list[int], tuple[float, float]]]:
    """Executors and centre of each component: columns of components at equal gaps, middles on one line."""
    executors: dict[str, list[int]] = {name: [] for name in layers}
    for executor in sorted(graph.nodes):
        executors[graph.nodes[executor]["component"]].append(executor)
    columns: dict[int, list[str]] = {}
    for name in sorted(layers):
        columns.setdefault(layers[name], []).append(name)
    blocks: dict[str, tuple[list[int], tuple[float, float]]] = {}
    x = 0.0
    for column in sorted(columns):
        names = columns[column]
        half = max(-(-len(executors[name]) // _ROWS) for name in names) * _STEP / 2
        heights = [min(len(executors[name]), _ROWS) + 2.5 for name in names]
        top = sum(heights) / 2
        x += half
        for name, height in zip(names, heights, strict=True):
            blocks[name] = executors[name], (x, top - height / 2)
            top -= height
        x += half + 0.11
    return blocks


def _spot(centre: tuple[float, float], size: int, place: int) -> tuple[float, float]:
    columns = -(-size // _ROWS)
    rows = min(size, _ROWS)
    x = centre[0] + (place // _ROWS - (columns - 1) / 2) * _STEP
    return x, centre[1] + (rows - 1) / 2 - place % _ROWS


def _flows(graph: nx.DiGraph) -> dict[tuple[str, str], tuple[float, float]]:
    """Tuples per second from component to component: on a machine, and between machines."""
    flows: dict[tuple[str, str], tuple[float, float]] = {}
    for a, b, rate in graph.edges(data="rate"):
        one, other = graph.nodes[a], graph.nodes[b]
        key = one["component"], other["component"]
        local, crossing = flows.get(key, (0.0, 0.0))
        same = one["node"] == other["node"]
        flows[key] = (local + rate, crossing) if same else (local, crossing + rate)
    return flows


def _draw_flows(
    axes: Axes,
    flows: Mapping[tuple[str, str], tuple[float, float]],
    blocks: Mapping[str, tuple[list[int], tuple[float, float]]],
) -> None:
    highest = max((max(pair) for pair in flows.values()), default=1.0)
    for (source, target), (local, crossing) in sorted(flows.items()):
        start, end = _border(blocks[source], 1), _border(blocks[target], -1)
        system = source.startswith("__") or target.startswith("__")
        bend = 0.0
        if end[0] <= start[0]:
            # Backwards: below all blocks, so that nothing is crossed.
            start, end = _foot(blocks[source]), _foot(blocks[target])
            bend = -8.0
        path = _path(start, end, bend)
        for rate, dashed, shift in ((local, False, 0.25), (crossing, True, -0.25)):
            if rate > 0:
                axes.add_collection(
                    LineCollection(
                        [path + np.array([0.0, shift])],
                        colors=MUTED,
                        linewidths=0.6 + 5.0 * rate / highest,
                        linestyles=[(0, (2, 1)) if dashed else "-"],
                        alpha=0.35 if system else 0.85,
                        zorder=1,
                    )
                )
        if not system:
            share = crossing / (local + crossing)
            axes.annotate(
                f"{local + crossing:,.0f}/s\n{share:.0%} cross", tuple(path[len(path) // 2]), xytext=(0, 6),
                textcoords="offset points", ha="center", va="bottom", fontsize=7.5, zorder=5,
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.0},
            )  # fmt: skip


def _border(block: tuple[list[int], tuple[float, float]], side: int) -> tuple[float, float]:
    """Middle of the block's right (1) or left (-1) edge."""
    executors, (x, y) = block
    return x + side * (-(-len(executors) // _ROWS) * _STEP / 2 + 0.004), y


def _foot(block: tuple[list[int], tuple[float, float]]) -> tuple[float, float]:
    """Just below the block's middle."""
    executors, (x, y) = block
    return x, y - (min(len(executors), _ROWS) + 1) / 2


def _path(start: tuple[float, float], end: tuple[float, float], bend: float) -> NDArray[np.float64]:
    share = np.linspace(0.0, 1.0, 25)[:, None]
    line = np.array(start) * (1 - share) + np.array(end) * share
    return line + np.array([0.0, bend]) * share * (1 - share) * 2
