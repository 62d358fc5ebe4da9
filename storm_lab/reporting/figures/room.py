"""Finding room for a text in a panel: at heights where no line runs behind it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

_CLEAR = 0.1
"""Distance from the middle of a text, as a share of the panel's height, at which a line does not touch it."""


def share_of_height(axes: Axes, value: float) -> float:
    """Height of a value in a panel: 0 at the lower edge, 1 at the upper one."""
    bottom, top, at = axes.yaxis.get_transform().transform([*axes.get_ylim(), value])
    return float((at - bottom) / (top - bottom))


def clear_height(axes: Axes, start: float, end: float, heights: Sequence[float]) -> float:
    """The first of ``heights`` near which no line runs from ``start`` to ``end``; else that with most room.

    Heights are shares of the panel's height, ``start`` and ``end`` values of the horizontal axis.
    """
    passed: list[float] = []
    for line in axes.get_lines():
        if line.get_transform() != axes.transData:
            continue  # A line across all of the panel.
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        if len(x):
            between = np.interp(np.linspace(start, end, 41), x, y, left=np.nan, right=np.nan)
            passed += [share_of_height(axes, value) for value in between if np.isfinite(value)]
    room = [min((abs(share - height) for share in passed), default=1.0) for height in heights]
    clear = [height for height, own in zip(heights, room, strict=True) if own > _CLEAR]
    return clear[0] if clear else heights[room.index(max(room))]
