"""Latency and completed share over the offered rate, which show the load at which a setting saturates."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from storm_lab.reporting.figures.style import LINES, About, finish, house_style, log_ticks, need, new_figure


def load_curve(
    rows: pd.DataFrame, *, about: About, present_per_s: float | None = None, title: str = ""
) -> Figure:
    """Draw two panels over the offered rate: complete latency (mean and p99), and completed share.

    ``rows`` has columns offered_per_s, latency_ms, p99_ms, acked_per_s; one row per rate. The present load,
    ``present_per_s``, is marked.
    """
    need(rows, ["offered_per_s", "latency_ms", "p99_ms", "acked_per_s"], "a load curve")
    ordered = rows.sort_values("offered_per_s")
    with house_style():
        figure = new_figure(4.4)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        at = ordered["offered_per_s"]
        upper.plot(at, ordered["latency_ms"], marker="o", color=LINES[0], label="mean")
        upper.plot(at, ordered["p99_ms"], marker="s", linestyle="--", color=LINES[1], label="99th percentile")
        upper.set_yscale("log")
        log_ticks(upper.yaxis)
        upper.set_ylabel("complete latency, ms")
        lower.plot(at, 100 * ordered["acked_per_s"] / at, marker="o", color=LINES[0])
        lower.set(ylabel="completed, %", xlabel="offered, records/s", ylim=(0, 105))
        lower.set_xlim(left=0)
        if present_per_s is not None:
            for axes in (upper, lower):
                axes.axvline(present_per_s, color=LINES[2], linestyle=":", label="present load")
        # Above the panel, because the curves may be anywhere in it.
        upper.legend(loc="lower right", ncols=3, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
        finish(figure, title, about.line("means"))
    return figure
