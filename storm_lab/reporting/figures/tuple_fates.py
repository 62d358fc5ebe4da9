"""What became of tuples in a migration, as the control log counts it.

They were lost with a thread or process, or held by a sender and sent on later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from storm_lab.errors import UserError
from storm_lab.reporting.figures.style import INK, LINES, need

LOST = "lost"
BUFFERED = "buffered"
"""Kinds: died with their place; waited in a sender until the receiver was reached again."""

_PREFIX = "lost_"
_BUFFER_ACTION = "send-buffered"
_COLUMNS = ("time_s", "actor", "subject", "kind", "place", "tuples")
_BINS = 60
_COLOURS = {LOST: LINES[1], BUFFERED: LINES[0]}


def tuple_fates(control: pd.DataFrame) -> pd.DataFrame:
    """The counts of tuples in the details of a control log.

    Args:
        control: columns time_s, actor, action, subject, detail (JSON, empty where there is none).

    Returns:
        Columns time_s, actor, subject, kind (`LOST` or `BUFFERED`), place (``receive_queue``, ``executing``,
        ``send_queue``, ``transfer_queue``; ``sender`` for those that were held), tuples. Counts of 0 are left
        out.

    Raises:
        UserError: a column is missing, or a detail is not JSON.
    """
    rows = []
    if not control.empty:
        need(control, ["time_s", "actor", "action", "subject", "detail"], "control events")
        entries = zip(
            *(control[name] for name in ("time_s", "actor", "action", "subject", "detail")), strict=True
        )
        for time_s, actor, action, subject, detail in entries:
            for kind, place, tuples in _counts(str(action), _parsed(detail)):
                if tuples > 0:
                    rows.append((float(time_s), actor, subject, kind, place, tuples))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _parsed(detail: object) -> Mapping[str, object]:
    if not detail:
        return {}
    try:
        parsed = json.loads(str(detail))
    except ValueError as error:
        raise UserError("a control event's detail is not JSON", field="detail", value=detail) from error
    return parsed if isinstance(parsed, dict) else {}


def _counts(action: str, detail: Mapping[str, object]) -> list[tuple[str, str, int]]:
    if action == _BUFFER_ACTION:
        tuples = detail.get("tuples", 0)
        return [(BUFFERED, "sender", tuples)] if isinstance(tuples, int) else []
    return [
        (LOST, name.removeprefix(_PREFIX), value)
        for name, value in detail.items()
        if name.startswith(_PREFIX) and isinstance(value, int)
    ]


def draw_fates(axes: Axes, fates: pd.DataFrame, start_s: float, end_s: float) -> None:
    """Bars over time: upwards tuples that were held and sent on, downwards tuples that were lost.

    Bars gather a sixtieth of the window, and say how many tuples they stand for; the legend has the totals,
    the lost ones by the place where they died.
    """
    inside = fates[(fates["time_s"] >= start_s) & (fates["time_s"] <= end_s)]
    width = (end_s - start_s) / _BINS
    highest = 1.0
    handles = []
    for kind, sign in ((BUFFERED, 1), (LOST, -1)):
        rows = inside[inside["kind"] == kind]
        bins = np.minimum((rows["time_s"] - start_s) // width, _BINS - 1)
        counted = rows.groupby(bins)["tuples"].sum()
        handles.append(Patch(facecolor=_COLOURS[kind], edgecolor=INK, label=_total(rows, kind)))
        highest = max(highest, float(counted.max()) if len(counted) else 0.0)
        axes.bar(
            start_s + (counted.index.to_numpy(float) + 0.5) * width, sign * counted, width=width * 0.8,
            color=_COLOURS[kind], edgecolor=INK, linewidth=0.4,
        )  # fmt: skip
        for place, tuples in counted.items():
            axes.annotate(
                str(int(tuples)), (start_s + (float(str(place)) + 0.5) * width, sign * tuples),
                xytext=(0, sign * 2), textcoords="offset points", ha="center",
                va="bottom" if sign > 0 else "top", fontsize=7.5,
            )  # fmt: skip
    axes.axhline(0.0, color=INK, linewidth=0.8)
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
