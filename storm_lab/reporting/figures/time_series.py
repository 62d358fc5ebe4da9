"""Values over time, a panel for each setting, with re-assignments and a strip of nodes in use.

The layout follows T-Storm's figures 5, 6 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Mark, draw_marks

_LABEL_PART = 0.16
"""Share of the time axis that an event's label takes up."""


@dataclass(frozen=True, slots=True)
class Event:
    """A vertical mark at ``t_s`` seconds; ``label`` is written beside it."""

    t_s: float
    label: str = "re-assignment"


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: title, variants (label -> variant), marks on the time axis, and what a paper prints."""

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
    """Draw values over time: mean over seeds with the 95 % interval as a band.

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
            _draw_events(upper, panel.events, labels_apart_s=_LABEL_PART * right)
            draw_marks(upper, [mark for mark in panel.printed if not mark.nodes], (0.0, right))
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
    axes.legend(loc="upper right", ncols=len(panel.variants), bbox_to_anchor=(1.0, 1.16), borderaxespad=0)
    axes.margins(x=0)


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
        axes.annotate(
            f"{len(times)} × {text}" if len(times) > 1 else text, (times[0], 0.96),
            xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points",
            va="top", fontsize=8, color=style.INK, zorder=6,
            bbox={"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )  # fmt: skip
