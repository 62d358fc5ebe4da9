"""CPU use over time, a small panel for each node, with the line that the node cannot cross."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from storm_lab.reporting.figures.style import (
    DASHES,
    LINES,
    About,
    foot,
    house_style,
    natural,
    need,
    new_figure,
    seed_interval,
)

_COLUMNS = 5


def node_cpu(
    cpu: pd.DataFrame,
    nodes: pd.DataFrame,
    variants: Mapping[str, str],
    *,
    about: About,
    title: str = "",
) -> Figure:
    """Cores in use by node and time: mean over seeds with the 95 % interval as a band.

    Args:
        cpu: columns variant, seed, node, t_s, cores_used (CPU seconds per second).
        nodes: columns node, cores; every node gets a panel, idle ones too.
        variants: label -> variant.
        about: seeds and warm-up, for the foot.
        title: above the figure; nothing if empty.

    Raises:
        UserError: a column is missing or there is nothing to draw.
    """
    need(cpu, ["variant", "seed", "node", "t_s", "cores_used"], "CPU use")
    need(nodes, ["node", "cores"], "nodes")
    cores = {str(name): float(number) for name, number in zip(nodes["node"], nodes["cores"], strict=True)}
    names = sorted(cores, key=natural)
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    with house_style():
        figure = new_figure(1.1 + 1.35 * rows)
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for place, name in enumerate(names):
            _draw(
                axes[place // columns][place % columns], cpu[cpu["node"] == name], variants, name, cores[name]
            )
        for empty in np.ravel(axes)[len(names) :]:
            empty.set_visible(False)
        axes[0][0].set_ylim(0, max(cores.values()) * 1.12)
        axes[0][0].set_xlim(0, float(cpu["t_s"].max()))
        figure.supylabel("cores in use", fontsize=9.5)
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels))
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        foot(figure, "x: time since submission, s · " + about.line())
    return figure


def _draw(axes: Axes, cpu: pd.DataFrame, variants: Mapping[str, str], name: str, capacity: float) -> None:
    for place, (label, variant) in enumerate(variants.items()):
        dash = DASHES[place % len(DASHES)]
        rows = cpu[cpu["variant"] == variant]
        style: dict[str, Any] = {
            "color": LINES[place % len(LINES)],
            "linestyle": (0, dash) if dash else "-",
            "linewidth": 1.3,
        }
        if rows.empty:
            # An idle node still belongs in the legend.
            axes.plot([], [], label=label, **style)
            continue
        sns.lineplot(
            rows, x="t_s", y="cores_used", ax=axes, label=label, errorbar=seed_interval, legend=False,
            err_kws={"alpha": 0.25, "linewidth": 0}, **style,
        )  # fmt: skip
    axes.axhline(capacity, color=LINES[1] if len(variants) < 2 else LINES[3], linewidth=1.2, label="capacity")
    axes.set_title(name, fontsize=9)
    axes.set(xlabel="", ylabel="")
    axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
