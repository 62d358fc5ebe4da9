"""Distribution of latency: a histogram on a logarithmic axis for each variant, with p50, p95 and p99."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.experiments.claim import number
from storm_lab.reporting.figures import style


def latency_distribution(
    cells: pd.DataFrame,
    percentiles: pd.DataFrame,
    variants: Mapping[str, str],
    *,
    about: style.About,
    title: str = "",
) -> Figure:
    """Draw one row per variant, all on the same axis, so that they can be compared from top to bottom.

    ``cells`` has columns variant, seed, low_ms, high_ms, tuples, equally wide on a logarithmic axis; seeds
    are added up. ``percentiles`` has columns variant, seed and ``processing_p50_ms``, ``_p95_ms``,
    ``_p99_ms``: those of each run, drawn as their mean. ``variants`` is label -> variant, from the top.
    """
    style.need(cells, ["variant", "low_ms", "high_ms", "tuples"], "latency cells")
    columns = {f"processing_{name}_ms": name for name in ("p50", "p95", "p99")}
    style.need(percentiles, ["variant", *columns], "latency percentiles")
    with style.house_style():
        figure = style.new_figure(0.9 + 1.25 * len(variants))
        axes = figure.subplots(len(variants), 1, sharex=True, squeeze=False)[:, 0]
        for place, (label, variant) in enumerate(variants.items()):
            colour = style.LINES[place % len(style.LINES)]
            _draw_cells(axes[place], cells[cells["variant"] == variant], colour)
            marks = percentiles[percentiles["variant"] == variant][list(columns)].mean()
            _draw_percentiles(axes[place], {name: float(marks[column]) for column, name in columns.items()})
            axes[place].set(title=label, ylabel="share of\ntuples, %")
        axes[-1].set_xscale("log")
        style.log_ticks(axes[-1].xaxis)
        axes[-1].set_xlabel("processing time, ms (logarithmic)")
        style.finish(figure, title, about.line("percentiles: mean over seeds"))
    return figure


def _draw_cells(axes: Axes, cells: pd.DataFrame, colour: str) -> None:
    summed = cells.groupby(["low_ms", "high_ms"], as_index=False)["tuples"].sum()
    share = 100 * summed["tuples"] / summed["tuples"].sum()
    axes.bar(
        summed["low_ms"], share, width=summed["high_ms"] - summed["low_ms"], align="edge", color=colour,
        alpha=0.75, linewidth=0,
    )  # fmt: skip
    # Head room for the labels of the percentiles.
    axes.set_ylim(0, float(share.max()) * 1.9)
    axes.grid(axis="x", visible=False)


def _draw_percentiles(axes: Axes, marks: Mapping[str, float]) -> None:
    """Draw vertical lines, with labels at different heights so that neighbours do not overlap."""
    for place, (name, value) in enumerate(marks.items()):
        axes.axvline(value, color=style.INK, linewidth=1.1, linestyle=("-", "--", ":")[place])
        axes.annotate(
            f"{name} {number(value)} ms", (value, (0.97, 0.81, 0.65)[place]),
            xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points", va="top",
            bbox={"boxstyle": "square,pad=0.1", "facecolor": style.PAPER, "edgecolor": "none"},
            color=style.INK, fontsize=8, zorder=5,
        )  # fmt: skip
