"""A topology at work: executors as dots in the colour of their machine, edges as wide as their traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from storm_lab.reporting.figures.style import (
    INK,
    MUTED,
    About,
    colour_of,
    foot,
    house_style,
    natural,
    need,
    new_figure,
)
from storm_lab.reporting.figures.topology_overview import draw_overview, is_large

_IN_A_COLUMN = 32
"""Entries of the legend in one column."""


def topology_graph(
    traffic: pd.DataFrame, placements: pd.DataFrame, *, about: About, title: str = ""
) -> Figure:
    """Components from left to right in the direction of the tuples, their executors one below the other.

    Dots carry the machine's number in the legend's order; dashed edges cross the network, solid ones stay on
    a machine. Where there are too many executors or edges for that, edges go from component to component.

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
    graph = executor_graph(traffic, placements)
    layers = component_layers(graph)
    machines = sorted({str(data["node"]) for _, data in graph.nodes(data=True)}, key=natural)
    colours = colour_of(machines)
    large = is_large(graph)
    place = _places(graph, layers)
    tallest = max(
        sum(1 for x, _ in place.values() if x == column) for column in {x for x, _ in place.values()}
    )
    many = len(machines) > 20
    with house_style():
        figure = new_figure(7.0 if large else 2.0 + min(6.5, 0.36 * tallest))
        axes = figure.subplots()
        if large:
            draw_overview(axes, graph, layers, machines, colours)
        else:
            _draw_executors(axes, graph, place, machines, colours)
        axes.set_axis_off()
        # Limits first: texts at data points would otherwise be laid out before the axes are scaled.
        axes.autoscale_view()
        axes.set_xlim(*_widened(axes.get_xlim(), 0.05))
        axes.set_ylim(*_widened(axes.get_ylim(), 0.06))
        handles = [
            Line2D([], [], marker="o", linestyle="", markersize=9, color=colours[name], markeredgecolor=INK,
                   label=f"{number} {name}")
            for number, name in enumerate(machines, 1)
        ]  # fmt: skip
        handles += [
            Line2D([], [], color=MUTED, linewidth=2, label="on one machine"),
            Line2D([], [], color=MUTED, linewidth=2, linestyle=(0, (3, 2)), label="between machines"),
        ]
        figure.legend(
            handles=handles, loc="outside right upper", ncols=-(-len(handles) // _IN_A_COLUMN),
            fontsize=7.5 if many else 9, columnspacing=0.8, handletextpad=0.3 if many else 0.8,
        )  # fmt: skip
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        rates = [rate for _, _, rate in graph.edges(data="rate")]
        widest = f"widest edge {max(rates):.3g} tuples/s" if rates else "no traffic"
        if large:
            widest = "from component to component, acker traffic pale"
        foot(figure, f"edge width: tuples/s, {widest} · " + about.line("mean over seeds"))
    return figure


def _draw_executors(
    axes: Axes,
    graph: nx.DiGraph,
    place: Mapping[int, tuple[float, float]],
    machines: Sequence[str],
    colours: Mapping[str, str],
) -> None:
    _draw_edges(axes, graph, place)
    for executor, (x, y) in place.items():
        node = str(graph.nodes[executor]["node"])
        axes.plot(x, y, marker="o", markersize=13, color=colours[node], markeredgecolor=INK, zorder=3)
        number = f"{machines.index(node) + 1}"
        axes.text(x, y, number, ha="center", va="center", fontsize=7, color="#000000", zorder=4)
    _draw_components(axes, graph, place)


def _widened(limits: tuple[float, float], share: float) -> tuple[float, float]:
    low, high = limits
    return low - share * (high - low), high + share * (high - low)


def executor_graph(traffic: pd.DataFrame, placements: pd.DataFrame) -> nx.DiGraph:
    """Executors (by first task) with ``component`` and ``node``; edges with ``rate``, tuples/s above 0."""
    graph = nx.DiGraph()
    executor_of: dict[int, int] = {}
    columns = ("component", "start_task", "end_task", "node")
    for component, first, last, node in zip(*(placements[name] for name in columns), strict=True):
        graph.add_node(int(first), component=str(component), node=str(node))
        executor_of.update(dict.fromkeys(range(int(first), int(last) + 1), int(first)))
    means = traffic.groupby(["source_task", "target_task"])["tuples_per_s"].mean()
    for (source, target), rate in zip(means.index.to_list(), means.to_list(), strict=True):
        if rate > 0 and source in executor_of and target in executor_of:
            a, b = executor_of[source], executor_of[target]
            known = graph.edges[a, b]["rate"] if graph.has_edge(a, b) else 0.0
            graph.add_edge(a, b, rate=known + float(rate))
    return graph


def component_layers(graph: nx.DiGraph) -> dict[str, int]:
    """Column of each component: its longest distance from a source. System components stand last.

    Ackers send back to the spouts; that edge is left out, as are cycles of the topology itself, whose
    components share a column.
    """
    between = nx.DiGraph()
    component = nx.get_node_attributes(graph, "component")
    between.add_nodes_from(sorted(set(component.values())))
    for a, b in graph.edges:
        system = component[a].startswith("__") or component[b].startswith("__")
        if component[a] != component[b] and not system:
            between.add_edge(component[a], component[b])
    condensed = nx.condensation(between)
    depth: dict[int, int] = {}
    for group in nx.topological_sort(condensed):
        depth[group] = max((depth[before] + 1 for before in condensed.predecessors(group)), default=0)
    layers = {name: depth[condensed.graph["mapping"][name]] for name in between.nodes}
    last = max((layers[name] for name in layers if not name.startswith("__")), default=-1) + 1
    return {name: last if name.startswith("__") else layer for name, layer in layers.items()}


def _places(graph: nx.DiGraph, layers: Mapping[str, int]) -> dict[int, tuple[float, float]]:
    """Columns centred on one line; executors by component and task from top to bottom."""
    columns: dict[int, list[int]] = {}
    for executor in sorted(graph.nodes, key=lambda task: (graph.nodes[task]["component"], task)):
        columns.setdefault(layers[graph.nodes[executor]["component"]], []).append(executor)
    places: dict[int, tuple[float, float]] = {}
    for column, executors in columns.items():
        heights: list[float] = []
        y = 0.0
        for before, executor in zip([None, *executors], executors, strict=False):
            apart = (
                before is not None and graph.nodes[before]["component"] != graph.nodes[executor]["component"]
            )
            y += 2.0 if apart else (1.0 if heights else 0.0)
            heights.append(y)
        middle = (heights[0] + heights[-1]) / 2
        for executor, height in zip(executors, heights, strict=True):
            places[executor] = (float(column), middle - height)
    return places


def _draw_edges(axes: Axes, graph: nx.DiGraph, place: Mapping[int, tuple[float, float]]) -> None:
    edges = sorted(graph.edges(data="rate"), key=lambda edge: edge[2])
    highest = edges[-1][2] if edges else 1.0
    crosses = [graph.nodes[a]["node"] != graph.nodes[b]["node"] for a, b, _ in edges]
    lines = LineCollection(
        [_curve(place[a], place[b]) for a, b, _ in edges],
        colors=MUTED,
        linewidths=[0.4 + 3.2 * rate / highest for _, _, rate in edges],
        linestyles=[(0, (3, 2)) if crossing else "-" for crossing in crosses],
        alpha=[0.35 if crossing else 0.9 for crossing in crosses],
        zorder=1,
    )
    axes.add_collection(lines)


def _curve(start: tuple[float, float], end: tuple[float, float]) -> NDArray[np.float64]:
    """A straight line forwards; an arc below everything else backwards and within a column."""
    share = np.linspace(0.0, 1.0, 2 if end[0] > start[0] else 24)[:, None]
    line = np.array(start) * (1 - share) + np.array(end) * share
    bend = np.array([0.35, 0.0] if end[0] == start[0] else [0.0, -0.6 * (start[0] - end[0])])
    return line if end[0] > start[0] else line + bend * 4 * share * (1 - share)


def _draw_components(axes: Axes, graph: nx.DiGraph, place: Mapping[int, tuple[float, float]]) -> None:
    tops: dict[str, tuple[float, float]] = {}
    for executor, (x, y) in place.items():
        name = graph.nodes[executor]["component"]
        tops[name] = max(tops.get(name, (x, y)), (x, y), key=lambda spot: spot[1])
    for name, (x, y) in tops.items():
        axes.annotate(
            name,
            (x, y),
            xytext=(0, 11),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            fontweight="bold",
        )
