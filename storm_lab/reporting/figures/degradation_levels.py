"""Time for which throughput was below normal: bars for each level (N-Storm, figures 7, 9, 11, 13)."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from storm_lab.reporting.figures import style
from storm_lab.reporting.figures.printed import Printed, draw_printed


def degradation_levels(
    degradation: pd.DataFrame,
    variants: Mapping[str, str],
    *,
    about: style.About,
    printed: Mapping[tuple[str, int], Printed] | None = None,
    title: str = "",
) -> Figure:
    """Draw bars: mean over seeds with the 95 % interval, and what the paper prints.

    ``degradation`` has columns variant, seed, level (per cent below the smooth mean), degraded_s.
    ``variants`` is label -> variant, from left to right in each group. ``printed`` is (label, level) -> what
    the paper prints, in seconds. Raises `UserError` for a missing column, or a variant without a row.
    """
    style.need(degradation, ["variant", "seed", "level", "degraded_s"], "degradation")
    levels = sorted(degradation["level"].unique())
    width = 0.8 / len(variants)
    with style.house_style():
        figure = style.new_figure(3.2)
        axes = figure.subplots()
        marks: list[tuple[Printed, tuple[float, float]]] = []
        for place, (label, variant) in enumerate(variants.items()):
            rows = style.need(degradation[degradation["variant"] == variant], [], f"degradation of {variant}")
            groups = rows.groupby("level")["degraded_s"]
            means = groups.mean().reindex(levels)
            offsets = [number + (place - (len(variants) - 1) / 2) * width for number in range(len(levels))]
            axes.bar(offsets, means, width=width * 0.92, **style.bar_style(place, style.LINES), label=label)
            for offset, level in zip(offsets, levels, strict=True):
                low, high = style.seed_interval(rows.loc[rows["level"] == level, "degraded_s"])
                axes.plot([offset, offset], [low, high], color=style.INK, linewidth=1.2)
                if printed and (label, int(level)) in printed:
                    marks.append((printed[label, int(level)], (offset - width / 2, offset + width / 2)))
        # Last, because they keep the limits that the axis has then.
        for number, between in marks:
            draw_printed(axes, number, between=between)
        names = [f"{level} %" if level < 100 else "standstill" for level in levels]
        axes.set_xticks(range(len(levels)), names)
        axes.set_xlabel("throughput below the smooth mean by at least")
        axes.set_ylabel("seconds of the run")
        axes.grid(axis="x", visible=False)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        style.finish(figure, title, about.line("line: 95 % interval"), printed=bool(printed))
    return figure
