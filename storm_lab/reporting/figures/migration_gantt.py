"""A re-assignment in slow motion.

Which executor ran where, what the control plane did, and what became of tuples meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from storm_lab.reporting.figures.style import (
    INK,
    LINES,
    PAPER,
    About,
    colour_of,
    foot,
    house_style,
    natural,
    need,
    new_figure,
)
from storm_lab.reporting.figures.tuple_fates import LOST, draw_fates, tuple_fates

_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*", "<", ">")
_MOST_ROWS = 40


def migration_gantt(
    stays: pd.DataFrame,
    control: pd.DataFrame,
    *,
    start_s: float,
    end_s: float,
    about: About,
    title: str = "",
) -> Figure:
    """Draw actors, executors and tuples of a migration, one above the other.

    Above, a lane for each supervisor and each other kind of actor with its actions, but for the sending of
    held tuples; in the middle a row for each executor that moved; below, the tuples that a sender held and
    sent on, and those lost.

    A bar ends where its thread or process was stopped and begins where one was started. A dotted line from
    one to the next is the transfer, in which the executor ran nowhere, with its length; two bars above each
    other are two copies. A cross at the end of a bar says how many tuples died with that executor.

    Args:
        stays: columns component, start_task, from_s, to_s, worker, node; of one run.
        control: columns time_s, actor, action, subject, detail (JSON as in the control log); of one run.
        start_s: start of the window to show, in seconds.
        end_s: end of the window to show, in seconds.
        about: for the foot; a migration is that of one seed.
        title: above the figure; nothing if empty.

    Raises:
        UserError: a column is missing, a detail is not JSON, or no executor was placed in the window.
    """
    need(stays, ["component", "start_task", "from_s", "to_s", "worker", "node"], "stays")
    need(control, ["time_s", "actor", "action", "subject", "detail"], "control events")
    within = (stays["from_s"] < end_s) & (stays["to_s"] > start_s)
    shown = need(stays[within], [], "stays in this window")
    moved, still = _moved(shown, start_s, end_s)
    inside = control[(control["time_s"] >= start_s) & (control["time_s"] <= end_s)]
    fates = tuple_fates(inside)
    events = inside[inside["action"] != "send-buffered"]
    lanes = sorted({_lane(actor) for actor in events["actor"]}, key=natural)
    nodes = sorted(set(shown["node"]), key=natural)
    colours = colour_of(nodes)
    rows = max(1, moved["start_task"].nunique())
    heights = [0.7 + 0.26 * max(2, len(lanes)), 0.7 + 0.2 * max(3, min(rows, _MOST_ROWS)), 1.3]
    with house_style():
        figure = new_figure(1.0 + sum(heights))
        upper, middle, lower = figure.subplots(3, 1, sharex=True, height_ratios=heights)
        _draw_events(upper, events, lanes)
        _draw_bars(middle, moved, colours, start_s, end_s)
        _draw_losses(middle, moved, fates)
        draw_fates(lower, fates, start_s, end_s)
        lower.set_xlim(start_s, end_s)
        lower.set_xlabel("time since submission, s")
        handles = [Patch(facecolor=colours[name], edgecolor=INK, label=name) for name in nodes]
        middle.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, title="node")
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
    """Each supervisor has a lane, for its phase matters; ``worker:3`` and its like share one."""
    kind = str(actor).partition(":")[0]
    return str(actor) if kind == "supervisor" else kind


def _draw_events(axes: Axes, events: pd.DataFrame, lanes: Sequence[str]) -> None:
    names = sorted(set(events["action"]))
    for place, action in enumerate(names):
        rows = events[events["action"] == action]
        # Actions of one instant lie above each other, in the order of the legend.
        raised = 0.5 * (place / max(1, len(names) - 1) - 0.5)
        axes.plot(
            rows["time_s"], [lanes.index(_lane(actor)) + raised for actor in rows["actor"]], linestyle="",
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
        _draw_transfer(axes, moved, task, first, row_of[task])
        axes.barh(y, right - left, left=left, height=0.5, color=colours[node], edgecolor=INK, linewidth=0.5)
    axes.set_yticks(range(len(keys)), [f"{component} {task}" for component, task in keys], fontsize=8)
    axes.set_ylim(max(1, len(keys)) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_title(
        "executors that moved" + ("" if len(row_of) == len(set(moved["start_task"])) else " (first 40)")
    )


def _draw_transfer(axes: Axes, moved: pd.DataFrame, task: int, start_s: float, row: int) -> None:
    """The time between an executor's last stop and this start, if it ran nowhere then."""
    before = moved[(moved["start_task"] == task) & (moved["from_s"] < start_s)]
    if before.empty or (gone := float(before["to_s"].max())) >= start_s:
        return
    axes.plot([gone, start_s], [row, row], color=LINES[3], linestyle=":", linewidth=1.6, zorder=1)
    axes.annotate(
        f"{start_s - gone:.1f} s", ((gone + start_s) / 2, row), ha="center", va="center", fontsize=7,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
    )  # fmt: skip


def _draw_losses(axes: Axes, moved: pd.DataFrame, fates: pd.DataFrame) -> None:
    """A cross at the stop of each thread that took tuples with it; a worker's losses belong to no row."""
    rows = {
        f"{component}[{task}": place
        for place, (component, task) in enumerate(
            list(dict.fromkeys(zip(moved["component"], moved["start_task"], strict=True)))[:_MOST_ROWS]
        )
    }
    lost = fates[fates["kind"] == LOST].groupby(["time_s", "subject"], as_index=False)["tuples"].sum()
    for time_s, subject, tuples in zip(lost["time_s"], lost["subject"], lost["tuples"], strict=True):
        # The log names an executor by its range of tasks, count[21,21].
        row = rows.get(str(subject).partition(",")[0])
        if row is not None:
            axes.plot(time_s, row, marker="X", color=LINES[1], markersize=min(5 + tuples**0.5, 12), zorder=4)
            axes.annotate(
                f"{tuples} lost", (time_s, row), xytext=(5, 0), textcoords="offset points", va="center",
                fontsize=7,
            )  # fmt: skip
