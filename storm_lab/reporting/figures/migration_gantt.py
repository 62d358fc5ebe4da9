"""A re-assignment in slow motion: which executor ran where, and what the control plane did meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from storm_lab.reporting.figures.style import (
    INK,
    LINES,
    About,
    colour_of,
    foot,
    house_style,
    natural,
    need,
    new_figure,
)

_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*", "<", ">")
_MOST_ROWS = 40


def migration_gantt(
    stays: pd.DataFrame,
    control: pd.DataFrame,
    *,
    start_s: float,
    end_s: float,
    about: About,
    actions: Sequence[str] = (),
    title: str = "",
) -> Figure:
    """Above, a lane for each kind of actor with its actions; below, a row for each executor that moved.

    A gap in a row is time in which the executor ran nowhere; two bars above each other are two copies.

    Args:
        stays: columns component, start_task, from_s, to_s, worker, node; of one run.
        control: columns time_s, actor, action; of one run.
        start_s, end_s: the window to show, in seconds.
        about: for the foot; a migration is that of one seed.
        actions: what to show of the control plane; everything by default.

    Raises:
        UserError: a column is missing or no executor was placed in the window.
    """
    need(stays, ["component", "start_task", "from_s", "to_s", "worker", "node"], "stays")
    need(control, ["time_s", "actor", "action"], "control events")
    within = (stays["from_s"] < end_s) & (stays["to_s"] > start_s)
    shown = need(stays[within], [], "stays in this window")
    moved, still = _moved(shown, start_s, end_s)
    events = control[(control["time_s"] >= start_s) & (control["time_s"] <= end_s)]
    if actions:
        events = events[events["action"].isin(actions)]
    lanes = sorted({_lane(actor) for actor in events["actor"]})
    nodes = sorted(set(shown["node"]), key=natural)
    colours = colour_of(nodes)
    rows = max(1, moved["start_task"].nunique())
    with house_style():
        figure = new_figure(1.9 + 0.26 * len(lanes) + 0.2 * min(rows, _MOST_ROWS))
        upper, lower = figure.subplots(
            2, 1, sharex=True, height_ratios=[max(2, len(lanes)), max(3, rows * 0.8)]
        )
        _draw_events(upper, events, lanes)
        _draw_bars(lower, moved, colours, start_s, end_s)
        lower.set_xlim(start_s, end_s)
        lower.set_xlabel("time since submission, s")
        handles = [Patch(facecolor=colours[name], edgecolor=INK, label=name) for name in nodes]
        lower.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, title="node")
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        staying = f"{still} executors stayed where they were and are left out · " if still else ""
        foot(figure, staying + about.line("one of them shown", warm_up=False))
    return figure


def _moved(shown: pd.DataFrame, start_s: float, end_s: float) -> tuple[pd.DataFrame, int]:
    """Placements of executors that started or stopped inside the window, and how many did neither."""
    changes = (shown["from_s"] > start_s) | (shown["to_s"] < end_s)
    tasks = set(shown.loc[changes, "start_task"])
    moved = shown[shown["start_task"].isin(tasks)]
    still = shown.loc[~shown["start_task"].isin(tasks), "start_task"].nunique()
    return moved.sort_values(["component", "start_task", "from_s"]), int(still)


def _lane(actor: str) -> str:
    """``supervisor:node-3`` and its like share one lane."""
    return str(actor).partition(":")[0]


def _draw_events(axes: Axes, events: pd.DataFrame, lanes: Sequence[str]) -> None:
    names = sorted(set(events["action"]))
    for place, action in enumerate(names):
        rows = events[events["action"] == action]
        axes.plot(
            rows["time_s"], [lanes.index(_lane(actor)) for actor in rows["actor"]], linestyle="",
            marker=_MARKS[place % len(_MARKS)], markersize=5.5, color=LINES[place % len(LINES)], label=action,
            alpha=0.85,
        )  # fmt: skip
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_title("control plane")
    if names:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, handletextpad=0.2)
    else:
        axes.text(0.5, 0.5, "no event in this window", transform=axes.transAxes, ha="center", va="center")


def _draw_bars(
    axes: Axes, moved: pd.DataFrame, colours: Mapping[str, str], start_s: float, end_s: float
) -> None:
    keys = list(dict.fromkeys(zip(moved["component"], moved["start_task"], strict=True)))
    keys = keys[:_MOST_ROWS]
    row_of = {task: row for row, (_, task) in enumerate(keys)}
    latest = moved.groupby("start_task")["from_s"].transform("max")
    for task, first, last, node, newest in zip(
        moved["start_task"], moved["from_s"], moved["to_s"], moved["node"], latest, strict=True
    ):
        if task not in row_of:
            continue
        left, right = max(first, start_s), min(last, end_s)
        # The newest copy lies a little lower, so that an overlap shows as two bars.
        y = row_of[task] + (0.14 if first == newest else -0.14)
        axes.barh(y, right - left, left=left, height=0.5, color=colours[node], edgecolor=INK, linewidth=0.5)
    axes.set_yticks(range(len(keys)), [f"{component} {task}" for component, task in keys], fontsize=8)
    axes.set_ylim(max(1, len(keys)) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_title(
        "executors that moved" + ("" if len(row_of) == len(set(moved["start_task"])) else " (first 40)")
    )
