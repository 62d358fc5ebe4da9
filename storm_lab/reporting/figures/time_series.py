"""Values over time: one quantity with a panel for each setting, or several with a panel for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Mark, draw_marks
from storm_lab.reporting.figures.room import clear_height

_LABEL_PART = 0.16
"""Share of the time axis that an event's label takes up."""


@dataclass(frozen=True, slots=True)
class Event:
    """A vertical mark at ``t_s`` seconds; ``label`` is written beside it."""

    t_s: float
    label: str = "re-assignment"


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel of `time_series`: title, label -> variant, marks on the time axis, and what a paper prints."""

    title: str
    variants: Mapping[str, str]
    events: tuple[Event, ...] = ()
    printed: tuple[Mark, ...] = ()


def time_series(
    values: pd.DataFrame,
    panels: Sequence[Panel],
    *,
    value: str,
    unit: str,
    about: style.About,
    nodes: pd.DataFrame | None = None,
    end_s: float | None = None,
    logarithmic: bool = False,
    title: str = "",
) -> Figure:
    """Draw one quantity over time, laid out as T-Storm's figures 5, 6 and 8: mean and 95 % interval.

    The axis is scaled to the values after the warm-up. Higher ones are marked by triangles at its upper edge,
    so that a start-up does not flatten the rest. A ``logarithmic`` axis is never cut.

    ``values`` has columns variant, seed, t_s and the one named by ``value``, in ``unit``. ``panels`` are
    drawn from top to bottom. ``nodes`` has columns variant, seed, from_s, nodes: steps of nodes in use; None
    omits the strips. ``end_s`` is the end of the time axis; the last time by default.
    """
    style.need(values, ["variant", "seed", "t_s", value], "values over time")
    if nodes is not None:
        style.need(nodes, ["variant", "seed", "from_s", "nodes"], "nodes in use")
    right = end_s if end_s is not None else float(values["t_s"].max())
    with style.house_style():
        ratios = [4.0, 1.0] if nodes is not None else [4.0]
        figure = style.new_figure(0.7 + len(panels) * (2.35 if nodes is not None else 1.9))
        axes = figure.subplots(
            len(panels) * len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios * len(panels)
        )[:, 0]
        top = None if logarithmic else _top(values, panels, value, about.warm_up_s or 0.0)
        if top is not None:
            # Printed numbers must be visible, and all panels have the same scale.
            marks = (mark for panel in panels for mark in panel.printed if not (mark.moment or mark.nodes))
            top = max([top, *(1.05 * number for mark in marks for number in mark.printed.numbers)])
        for place, panel in enumerate(panels):
            upper = axes[place * len(ratios)]
            _draw_values(upper, values, panel, value, top, logarithmic)
            draw_marks(upper, [mark for mark in panel.printed if not mark.nodes], (0.0, right))
            _draw_events(upper, panel.events, labels_apart_s=_LABEL_PART * right)
            # Without the strip, a panel is too low for a long label in one line.
            label = unit if nodes is not None else style.broken_label(unit, 16)
            upper.set(title=panel.title, ylabel=label, xlabel="")
            if nodes is not None:
                strip = axes[place * 2 + 1]
                _draw_nodes(strip, nodes, panel, right)
                draw_marks(strip, [mark for mark in panel.printed if mark.nodes], (0.0, right))
                _draw_events(strip, panel.events, labels_apart_s=None)
        axes[-1].set_xlabel("time since submission, s")
        axes[-1].set_xlim(0, right)
        clipped = top is not None and bool((_means(values, panels, value) > top).any())
        marked = any(panel.printed for panel in panels)
        style.finish(figure, title, about.line() + (" · ▲ above the axis" if clipped else ""), printed=marked)
    return figure


def _means(values: pd.DataFrame, panels: Sequence[Panel], value: str) -> pd.Series[float]:
    drawn = {variant for panel in panels for variant in panel.variants.values()}
    return values[values["variant"].isin(drawn)].groupby(["variant", "t_s"])[value].mean()


def _top(values: pd.DataFrame, panels: Sequence[Panel], value: str, warm_up_s: float) -> float | None:
    means = _means(values, panels, value)
    settled = means[means.index.get_level_values("t_s") >= warm_up_s].dropna()
    if settled.empty:
        return None
    # Show spikes from re-assignments; cut start-up and overload, which are higher by orders of magnitude.
    return float(min(settled.max(), 6 * settled.median())) * 1.12


def _draw_values(
    axes: Axes, values: pd.DataFrame, panel: Panel, value: str, top: float | None, logarithmic: bool
) -> None:
    # Imported here, because seaborn takes as long to import as all else together.
    from seaborn import lineplot

    for place, (label, variant) in enumerate(panel.variants.items()):
        rows = values[values["variant"] == variant]
        options = style.line_style(place, marked=False)
        lineplot(
            rows, x="t_s", y=value, ax=axes, errorbar=style.seed_interval, label=label, dashes=False,
            legend=False, err_kws={"alpha": 0.25, "linewidth": 0}, **options,
        )  # fmt: skip
        if top:
            means = rows.groupby("t_s")[value].mean()
            over = means[means > top]
            axes.plot(over.index, [top * 0.965] * len(over), "^", markersize=5, color=options["color"])
    if logarithmic:
        axes.set_yscale("log")
        style.log_ticks(axes.yaxis)
    elif top:
        axes.set_ylim(0, top)
    axes.margins(x=0)
    if list(panel.variants) == [panel.title]:
        return  # A legend would only repeat the title.
    # In inches, as in `style.head`: a legend too long for the line of the title is above it.
    crowded = 0.09 * len(panel.title) + sum(0.5 + 0.075 * len(label) for label in panel.variants) > 7.0
    spot: dict[str, Any] = {"loc": "upper right", "bbox_to_anchor": (1.0, 1.16), "borderaxespad": 0}
    if crowded:
        spot = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 2.2}
    axes.legend(ncols=len(panel.variants), **spot)


def _draw_nodes(axes: Axes, nodes: pd.DataFrame, panel: Panel, right: float) -> None:
    highest = 1.0
    last: dict[float, str] = {}
    for place, variant in enumerate(panel.variants.values()):
        rows = nodes[nodes["variant"] == variant]
        if rows.empty:
            continue
        # The steps of the seeds may be at different times.
        steps = rows.pivot_table(index="from_s", columns="seed", values="nodes", aggfunc="last").sort_index()
        mean = steps.ffill().mean(axis=1)
        highest = max(highest, float(mean.max()))
        options = style.line_style(place, marked=False)
        axes.step([*mean.index, right], [*mean, mean.iloc[-1]], where="post", **options)
        value = float(mean.iloc[-1])
        last[value] = style.INK if value in last else options["color"]
    axes.set_ylim(0, highest * 1.3)
    axes.set_ylabel("nodes")
    axes.set_yticks([0, round(highest)])
    _draw_last(axes, last, highest * 0.55)


def _draw_last(axes: Axes, colours: Mapping[float, str], apart: float) -> None:
    """Write the last values at the right edge, at least ``apart`` from each other."""
    below = float("inf")
    for value in sorted(colours, reverse=True):
        below = min(value, below - apart)
        axes.annotate(
            f"{value:g}", (1, below), xycoords=("axes fraction", "data"), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8.5, color=colours[value],
            fontweight="bold", annotation_clip=False,
        )  # fmt: skip


def _draw_events(axes: Axes, events: Sequence[Event], *, labels_apart_s: float | None) -> None:
    """Mark events; a run of equal events too close for labels gets one label with their number."""
    for event in events:
        axes.axvline(event.t_s, color=style.MUTED, linewidth=1.1, linestyle=":")
    if labels_apart_s is None:
        return
    groups: list[tuple[str, list[float]]] = []
    for event in sorted(events, key=lambda event: event.t_s):
        if groups and groups[-1][0] == event.label and event.t_s - groups[-1][1][-1] < labels_apart_s:
            groups[-1][1].append(event.t_s)
        else:
            groups.append((event.label, [event.t_s]))
    for text, times in groups:
        height = clear_height(axes, times[0], times[0] + labels_apart_s, (0.9, 0.1, 0.5))
        # Behind the lines, which no label may hide.
        axes.annotate(
            f"{len(times)} × {text}" if len(times) > 1 else text, (times[0], height),
            xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=8, color=style.INK, zorder=1.95,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """One panel of `time_panels`: a column of the table, and its label with unit.

    Axes that are not ``logarithmic`` begin at 0. ``reference`` is text -> height of a dotted line;
    ``printed`` is what a paper prints.
    """

    column: str
    label: str
    logarithmic: bool = False
    reference: Mapping[str, float] = field(default_factory=dict)
    printed: tuple[Mark, ...] = ()


def time_panels(
    series: pd.DataFrame,
    quantities: Sequence[Quantity],
    *,
    note: str,
    line: str = "",
    faults_s: Sequence[float] = (),
    spans: Mapping[str, tuple[float, float]] | None = None,
    minutes: bool = False,
    ends_s: tuple[float | None, float | None] = (None, None),
    x_label: str = "time since submission",
) -> Figure:
    """Draw panels below each other that share the time axis; each value holds from its time to the next.

    ``series`` has columns t_s, those of the quantities, ``line`` if given (its values distinguish the lines),
    and seed if there are several: then the mean over seeds is drawn, with the 95 % interval as a band.
    ``note`` is the foot. ``faults_s`` are times of vertical lines, ``spans`` text -> begin and end of a
    shaded background. ``ends_s`` are the ends of the time axis in seconds, by default those of the data.
    """
    columns = ["t_s", *(each.column for each in quantities), *([line] if line else [])]
    style.need(series, columns, "values over time")
    names = list(dict.fromkeys(series[line])) if line else [""]
    unit = 60.0 if minutes else 1.0
    edges = (series["t_s"].min(), series["t_s"].max())
    first, last = (float(edge if end is None else end) for end, edge in zip(ends_s, edges, strict=True))
    with style.house_style():
        figure = style.new_figure(1.0 + 1.75 * len(quantities) + (0.25 if line else 0.0))
        panels = figure.subplots(len(quantities), 1, sharex=True, squeeze=False)[:, 0]
        for axes, quantity in zip(panels, quantities, strict=True):
            for text, (begin, end) in (spans or {}).items():
                axes.axvspan(
                    begin / unit, end / unit, color=style.LINES[1], alpha=0.15, linewidth=0, label=text
                )
            for place, name in enumerate(names):
                rows = (series[series[line] == name] if line else series).dropna(subset=[quantity.column])
                if not rows.empty:
                    _draw_steps(axes, rows, quantity.column, place, str(name), unit)
            _finish_quantity(axes, quantity, unit, (first, last))
            for at in faults_s:
                axes.axvline(at / unit, color=style.INK, linewidth=0.8)
        panels[-1].set_xlabel(f"{x_label}, {'min' if minutes else 's'}")
        panels[-1].set_xlim(first / unit, last / unit)
        legend = style.legend_of(panels[0]) if line or spans else {}
        marked = any(quantity.printed for quantity in quantities)
        style.finish(figure, "", note, printed=marked, legend=legend, columns=3)
    return figure


def _draw_steps(axes: Axes, rows: pd.DataFrame, column: str, place: int, name: str, unit: float) -> None:
    options = style.line_style(place, marked=False)
    own = rows.groupby("t_s")[column]
    means = own.mean()
    axes.step(means.index / unit, means, where="post", label=name or None, **options)
    if "seed" in rows and rows["seed"].nunique() > 1:
        low, high = zip(*(style.seed_interval(values) for _, values in own), strict=True)
        axes.fill_between(
            means.index / unit, low, high, step="post", color=options["color"], alpha=0.25, linewidth=0
        )


def _finish_quantity(axes: Axes, quantity: Quantity, unit: float, ends_s: tuple[float, float]) -> None:
    axes.set_ylabel(quantity.label)
    if quantity.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    for text, height in quantity.reference.items():
        style.reference_line(axes, text, height)
    draw_marks(axes, quantity.printed, ends_s, unit)
    if quantity.logarithmic:
        style.log_ticks(axes.yaxis)
    else:
        style.few_ticks(axes.yaxis, 6)
