"""A re-assignment in detail: placements of executors, actions of the control plane, fates of tuples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from storm_lab.errors import UserError
from storm_lab.reporting.figures import style

_MARKS = ("o", "s", "^", "v", "D", "P", "X", "*", "<", ">")
_MOST_ROWS = 24
"""More executors are thinned out evenly, so that every component is shown."""

LOST = "lost"
BUFFERED = "buffered"
"""Fates of tuples: died with their place, or waited in a sender until it reached the receiver again."""

_FATES = {BUFFERED: (1, style.LINES[0]), LOST: (-1, style.LINES[1])}
"""Fate -> side of the axis, and colour of its bars."""

_BINS = 60


def migration_gantt(
    stays: pd.DataFrame,
    control: pd.DataFrame,
    *,
    start_s: float,
    end_s: float,
    about: style.About,
    title: str = "",
) -> Figure:
    """Draw the actions of actors, the executors that moved, and the tuples held or lost, above each other.

    A bar ends where its thread or process was stopped and begins where one was started. A dotted line from
    one to the next is the transfer, in which the executor ran nowhere, with its length. Two bars above each
    other are two copies. A cross at the end of a bar shows how many tuples died with that executor.

    ``stays`` has columns component, start_task, from_s, to_s, worker, node, and ``control`` time_s, actor,
    action, subject, detail (JSON as in the control log); both are of one run. The window is from ``start_s``
    to ``end_s``, in seconds. Raises `UserError` for a missing column, a detail that is not JSON, or a window
    in which no executor was placed.
    """
    style.need(stays, ["component", "start_task", "from_s", "to_s", "worker", "node"], "stays")
    style.need(control, ["time_s", "actor", "action", "subject", "detail"], "control events")
    within = (stays["from_s"] < end_s) & (stays["to_s"] > start_s)
    shown = style.need(stays[within], [], "stays in this window")
    moved, still = _moved(shown, start_s, end_s)
    inside = control[(control["time_s"] >= start_s) & (control["time_s"] <= end_s)]
    fates = tuple_fates(inside)
    events = inside[inside["action"] != "send-buffered"]
    lanes = sorted({_lane(actor) for actor in events["actor"]}, key=style.natural_key)
    nodes = sorted(set(shown["node"]), key=style.natural_key)
    colours = style.colour_of(nodes)
    keys = list(dict.fromkeys(zip(moved["component"], moved["start_task"], strict=True)))
    rows = min(len(keys), _MOST_ROWS)
    keys = [keys[place * len(keys) // rows] for place in range(rows)]
    heights = [0.7 + 0.26 * max(2, len(lanes)), 0.7 + 0.2 * max(3, rows), 1.3]
    with style.house_style():
        figure = style.new_figure(1.0 + sum(heights))
        upper, middle, lower = figure.subplots(3, 1, sharex=True, height_ratios=heights)
        _draw_events(upper, events, lanes)
        _draw_bars(middle, moved, keys, colours, start_s, end_s)
        _draw_losses(middle, keys, fates)
        draw_fates(lower, fates, start_s, end_s)
        lower.set_xlim(start_s, end_s)
        lower.set_xlabel("time since submission, s")
        handles = [
            Patch(facecolor=colours[name], edgecolor=style.INK, label=name, hatch=hatch)
            for name, hatch in zip(nodes, cycle(style.HATCHES), strict=False)
        ]
        middle.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, title="node")
        staying = f"{still} executors stayed where they were and are left out · " if still else ""
        style.finish(figure, title, staying + about.line("one of them shown", warm_up=False))
    return figure


def _moved(shown: pd.DataFrame, start_s: float, end_s: float) -> tuple[pd.DataFrame, int]:
    """Placements of executors that started or stopped inside the window, and the number of others."""
    changes = (shown["from_s"] > start_s) | (shown["to_s"] < end_s)
    tasks = set(shown.loc[changes, "start_task"])
    moved = shown[shown["start_task"].isin(tasks)]
    still = shown.loc[~shown["start_task"].isin(tasks), "start_task"].nunique()
    return moved.sort_values(["component", "start_task", "from_s"]), int(still)


def _lane(actor: str) -> str:
    """Each supervisor has a lane, because its phase matters; actors such as ``worker:3`` share one."""
    kind = str(actor).partition(":")[0]
    return str(actor) if kind == "supervisor" else kind


def _draw_events(axes: Axes, events: pd.DataFrame, lanes: Sequence[str]) -> None:
    names = sorted(set(events["action"]))
    for place, action in enumerate(names):
        rows = events[events["action"] == action]
        # Simultaneous actions are drawn above each other, in the order of the legend.
        raised = 0.5 * (place / max(1, len(names) - 1) - 0.5)
        axes.plot(
            rows["time_s"], [lanes.index(_lane(actor)) + raised for actor in rows["actor"]], linestyle="",
            marker=_MARKS[place % len(_MARKS)], markersize=5.5, color=style.LINES[place % len(style.LINES)],
            label=action, alpha=0.85,
        )  # fmt: skip
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_title("control plane")
    if names:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, handletextpad=0.2)
    else:
        axes.text(0.5, 0.5, "no event in this window", transform=axes.transAxes, ha="center", va="center")


def _draw_bars(
    axes: Axes,
    moved: pd.DataFrame,
    keys: Sequence[tuple[str, int]],
    colours: Mapping[str, str],
    start_s: float,
    end_s: float,
) -> None:
    row_of = {task: row for row, (_, task) in enumerate(keys)}
    latest = moved.groupby("start_task")["from_s"].transform("max")
    for task, first, last, node, newest in zip(
        moved["start_task"], moved["from_s"], moved["to_s"], moved["node"], latest, strict=True
    ):
        if task not in row_of:
            continue
        left, right = max(first, start_s), min(last, end_s)
        # The newest copy is drawn a little lower, so that an overlap shows as two bars.
        y = row_of[task] + (0.14 if first == newest else -0.14)
        _draw_transfer(axes, moved, task, first, row_of[task])
        axes.barh(
            y, right - left, left=left, height=0.5, color=colours[node], edgecolor=style.INK, linewidth=0.5,
            hatch=style.HATCHES[list(colours).index(node) % len(style.HATCHES)],
        )  # fmt: skip
    axes.set_yticks(range(len(keys)), [f"{component} {task}" for component, task in keys], fontsize=8)
    axes.set_ylim(max(1, len(keys)) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    number = moved["start_task"].nunique()
    left_out = f" ({len(row_of)} of {number})" if len(row_of) < number else ""
    axes.set_title(f"executors that moved{left_out}")


def _draw_transfer(axes: Axes, moved: pd.DataFrame, task: int, start_s: float, row: int) -> None:
    """Draw the time between an executor's last stop and this start, if it ran nowhere then."""
    before = moved[(moved["start_task"] == task) & (moved["from_s"] < start_s)]
    if before.empty or (gone := float(before["to_s"].max())) >= start_s:
        return
    axes.plot([gone, start_s], [row, row], color=style.LINES[3], linestyle=":", linewidth=1.6, zorder=1)
    axes.annotate(
        f"{start_s - gone:.1f} s", ((gone + start_s) / 2, row), ha="center", va="center", fontsize=7,
        bbox={"facecolor": style.PAPER, "edgecolor": "none", "pad": 0.6},
    )  # fmt: skip


def _draw_losses(axes: Axes, keys: Sequence[tuple[str, int]], fates: pd.DataFrame) -> None:
    """Draw a cross at the stop of each thread that lost tuples; the losses of a worker belong to no row."""
    # The log names an executor by its range of tasks, count[21,21].
    rows = {f"{component}[{task}": row for row, (component, task) in enumerate(keys)}
    lost = fates[fates["kind"] == LOST].groupby(["time_s", "subject"], as_index=False)["tuples"].sum()
    for time_s, subject, tuples in zip(lost["time_s"], lost["subject"], lost["tuples"], strict=True):
        row = rows.get(str(subject).partition(",")[0])
        if row is not None:
            axes.plot(
                time_s, row, marker="X", color=style.LINES[1], markersize=min(5 + tuples**0.5, 12), zorder=4
            )
            axes.annotate(
                f"{tuples} lost", (time_s, row), xytext=(5, 0), textcoords="offset points", va="center",
                fontsize=7,
            )  # fmt: skip


def tuple_fates(control: pd.DataFrame) -> pd.DataFrame:
    """Extract the counts of tuples from the details of a control log, without counts of 0.

    ``control`` has columns time_s, action, subject, detail (JSON or empty; `UserError` otherwise). The result
    has time_s, subject, kind (`LOST` or `BUFFERED`), place (``receive_queue``, ``executing``, ``send_queue``,
    ``transfer_queue``; ``sender`` for held tuples) and tuples.
    """
    rows = []
    columns = (control[name] for name in ("time_s", "action", "subject", "detail"))
    for time_s, action, subject, detail in zip(*columns, strict=True):
        counts = _parsed(detail)
        if action == "send-buffered":
            found = [(BUFFERED, "sender", counts.get("tuples"))]
        else:
            lost = {name: count for name, count in counts.items() if name.startswith("lost_")}
            found = [(LOST, name.removeprefix("lost_"), count) for name, count in lost.items()]
        told = [entry for entry in found if isinstance(entry[2], int) and entry[2] > 0]
        rows += [(float(time_s), subject, *entry) for entry in told]
    return pd.DataFrame(rows, columns=["time_s", "subject", "kind", "place", "tuples"])


def _parsed(detail: object) -> Mapping[str, object]:
    if not detail:
        return {}
    try:
        parsed = json.loads(str(detail))
    except ValueError as error:
        raise UserError("a control event's detail is not JSON", field="detail", value=detail) from error
    return parsed if isinstance(parsed, dict) else {}


def draw_fates(axes: Axes, fates: pd.DataFrame, start_s: float, end_s: float) -> None:
    """Draw bars over time, each a sixtieth of the window: upwards tuples sent on, downwards tuples lost.

    The legend has the totals, and for lost tuples the places where they died.
    """
    inside = fates[(fates["time_s"] >= start_s) & (fates["time_s"] <= end_s)]
    width = (end_s - start_s) / _BINS
    highest = 1.0
    handles = []
    for kind, (sign, colour) in _FATES.items():
        rows = inside[inside["kind"] == kind]
        bins = np.minimum((rows["time_s"] - start_s) // width, _BINS - 1)
        counted = rows.groupby(bins)["tuples"].sum()
        handles.append(Patch(facecolor=colour, edgecolor=style.INK, label=_total(rows, kind)))
        highest = max(highest, float(counted.max()) if len(counted) else 0.0)
        axes.bar(
            start_s + (counted.index.to_numpy(float) + 0.5) * width, sign * counted, width=width * 0.8,
            color=colour, edgecolor=style.INK, linewidth=0.4,
        )  # fmt: skip
        for place, tuples in counted.items():
            axes.annotate(
                str(int(tuples)), (start_s + (float(str(place)) + 0.5) * width, sign * tuples),
                xytext=(0, sign * 2), textcoords="offset points", ha="center",
                va="bottom" if sign > 0 else "top", fontsize=7.5,
            )  # fmt: skip
    axes.axhline(0.0, color=style.INK, linewidth=0.8)
    axes.set_ylim(-1.5 * highest, 1.5 * highest)
    axes.set_yticks([])
    axes.set_ylabel("tuples")
    axes.grid(axis="y", visible=False)
    axes.set_title("tuples: held by a sender and sent on (up), lost (down)")
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)


def _total(rows: pd.DataFrame, kind: str) -> str:
    places = rows.groupby("place")["tuples"].sum()
    parts = [f"\n  {str(place).replace('_', ' ')} {int(n)}" for place, n in places.items() if kind == LOST]
    return f"{kind} {int(places.sum())}" + "".join(parts)
