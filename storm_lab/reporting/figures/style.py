"""House style: one look for all figures, safe for colour-blind readers and legible in print.

Figures are `WIDTH` inches wide: full width in a notebook, and text still above 7 pt when a page scales them
to a text column. Colours are never the only distinction: lines also differ in dash, marks in shape or label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from storm_lab.errors import UserError
from storm_lab.experiments.measurement import over_seeds

WIDTH = 8.0
"""Width of every figure in inches."""

INK, MUTED, GRID, PAPER = "#1f2430", "#5b6270", "#d5d8de", "#fdfdfc"
"""Text, secondary text, grid and background. `saved` replaces them by colours that follow the reader's light
or dark setting, so no data may be drawn in them.
"""

LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours without black and yellow, which are invisible on one of the two backgrounds."""

DASHES: tuple[Any, ...] = ("", (4, 1.5), (1, 1), (3, 1, 1, 1), (6, 2, 1, 2), (2, 2))
"""A dash pattern for each of `LINES`."""

MARKS = "osD^vP"
"""A mark for each of `LINES`."""

HATCHES = ("", "//", "\\\\", "xx", "--", "||")
"""A hatching for each bar of a group, for print in grey. Lines only, because dots make large files."""

MACHINES = (
    "#77AADD", "#EE8866", "#EEDD88", "#FFAABB", "#99DDFF",
    "#44BB99", "#BBCC33", "#AAAA00", "#CC99BB", "#C2C2C2",
)  # fmt: skip
"""Fills for machines and components, after Paul Tol's light scheme: dark labels are legible on each."""

_SETTINGS: Any = {
    # Seaborn's style "whitegrid" in its context "paper".
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.linewidth": 1.0,
    "grid.linestyle": "-",
    "legend.title_fontsize": 9.6,
    "lines.markersize": 4.8,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "patch.linewidth": 0.8,
    **{f"axes.spines.{side}": True for side in ("left", "bottom", "right", "top")},
    **{f"{axis}tick.direction": "out" for axis in "xy"},
    **dict.fromkeys(("xtick.major.width", "ytick.major.width"), 1.0),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width"), 0.8),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 4.8),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 3.2),
    **dict.fromkeys(("xtick.bottom", "xtick.top", "ytick.left", "ytick.right"), False),
    # The project's own.
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), PAPER),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "axes.edgecolor": MUTED,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 9.5,
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 9),
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "hatch.linewidth": 0.4,
    "lines.linewidth": 1.6,
    "figure.constrained_layout.h_pad": 0.06,
    "svg.fonttype": "none",
    "svg.hashsalt": "storm_lab",
    "figure.dpi": 110,
}


@dataclass(frozen=True, slots=True)
class About:
    """Facts about a figure's data that a reader must know; printed at its foot.

    ``warm_up_s`` is the time at the start that is left out of means and distributions, in seconds; None if
    each run is measured in its own steady state. ``baseline`` names what comparisons are made with, and
    ``note`` is any other sentence, without a full stop.
    """

    seeds: int
    warm_up_s: float | None = 0.0
    baseline: str = ""
    note: str = ""

    def line(self, interval: str = "band: 95 % interval", *, warm_up: bool = True) -> str:
        """Foot line; ``interval`` says how the spread is drawn, ``warm_up`` whether to name the warm-up."""
        parts = [f"{self.seeds} seeds, {interval}" if self.seeds > 1 else "one seed"]
        if self.baseline:
            parts.append(f"baseline: {self.baseline}")
        if warm_up and self.warm_up_s is None:
            parts.append("each run in its steady state")
        elif warm_up:
            left_out = f"first {self.warm_up_s:g} s" if self.warm_up_s else "nothing"
            parts.append(f"{left_out} left out as warm-up")
        if self.note:
            parts.append(self.note)
        return " · ".join(parts)


def house_style() -> AbstractContextManager[None]:
    """Draw in house style inside the block; the caller's matplotlib settings are restored after it."""
    return mpl.rc_context(_SETTINGS)


def new_figure(height: float) -> Figure:
    """An empty figure of house width with constrained layout, so that nothing overlaps."""
    return Figure(figsize=(WIDTH, height), layout="constrained")


def line_style(place: int, *, marked: bool = True) -> dict[str, Any]:
    """Style of line number ``place``: colour, dashes and, if ``marked``, a mark."""
    dash = DASHES[place % len(DASHES)]
    options: dict[str, Any] = {
        "color": LINES[place % len(LINES)], "linestyle": (0, dash) if dash else "-",
    }  # fmt: skip
    return {**options, "marker": MARKS[place % len(MARKS)], "markersize": 4.5} if marked else options


def bar_style(place: int) -> dict[str, Any]:
    """Style of bar number ``place`` in a group: a light fill, on which printed values show, and hatching."""
    return {
        "color": MACHINES[place % len(MACHINES)], "edgecolor": INK, "linewidth": 0.4,
        "hatch": HATCHES[place % len(HATCHES)],
    }  # fmt: skip


def legend_of(axes: Axes) -> dict[str, Any]:
    """The legend of a panel: text -> handle."""
    handles, texts = axes.get_legend_handles_labels()
    return dict(zip(texts, handles, strict=True))


def head(figure: Figure, title: str, handles: Mapping[str, Any], columns: int) -> None:
    """Put the title at the left and the legend (text -> handle) at the right; stack them if too long."""
    if handles:
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper right", ncols=columns, fontsize=8.5
        )
    if not title:
        return
    # In inches: letters of either size, and the handles of a legend.
    rows = [list(handles)[low : low + columns] for low in range(0, len(handles), columns)]
    legend = max((sum(0.5 + 0.075 * len(text) for text in row) for row in rows), default=0.0)
    meets = 0.1 + 0.1 * len(title) + legend > WIDTH
    figure.suptitle("\n" * len(rows) * meets + title, x=0.01, ha="left", fontsize=11, fontweight="bold")


def finish(
    figure: Figure,
    title: str,
    note: str,
    *,
    printed: bool = False,
    legend: Mapping[str, Any] | None = None,
    columns: int = 1,
) -> None:
    """Add title, legend and foot line to a figure; ``printed``: it shows printed numbers."""
    head(figure, title, legend or {}, columns)
    foot(figure, f"{note} · dashed, light band: as printed, with the claim's band" if printed else note)


def reference_line(axes: Axes, text: str, height: float, *, zorder: float = 2.0) -> None:
    """Draw a dotted line across the axes, with text above its right end; the axis gets room for the text."""
    axes.axhline(height, color=INK, linestyle=":", linewidth=1.1, zorder=zorder)
    scale = axes.yaxis.get_transform()
    bottom, top, at = scale.transform([*axes.get_ylim(), height])
    if text and at > bottom + 0.88 * (top - bottom):
        (high,) = scale.inverted().transform([bottom + (at - bottom) / 0.88])
        axes.set_ylim(top=float(high))
    axes.annotate(
        text, (1, height), xycoords=("axes fraction", "data"), xytext=(-2, 2),
        textcoords="offset points", ha="right", va="bottom", fontsize=8,
    )  # fmt: skip


def broken_label(label: str, width: int) -> str:
    """Break the label of an axis into lines of ``width`` letters; the unit stays with the word before it."""
    return fill(",\N{NO-BREAK SPACE}".join(label.rsplit(", ", 1)), width)


def few_ticks(axis: Axis, most: int = 5) -> None:
    """Limit the ticks and write large numbers as 25k or 1.5M, so that neighbours do not overlap."""
    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (abs(value) >= size and letter == "M"):
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def log_ticks(axis: Axis, *, narrow: bool = False) -> None:
    """Use plain numbers on a logarithmic axis, and more of them if it spans fewer powers of ten.

    A ``narrow`` axis, in one of several panels, has room for fewer.
    """
    low, high = sorted(axis.get_view_interval())
    span = high / low if low > 0 else 1e3
    axis.set_minor_formatter(NullFormatter())
    if span < 8:
        few_ticks(axis, 4)
        return
    # The number of ticks does not depend on the height. Otherwise the layout is computed with other labels
    # than those finally drawn, and a label is cut.
    subs = (1.0, 2.0, 5.0) if span < (100 if narrow else 1000) else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))


def foot(figure: Figure, text: str, between: str = " · ") -> None:
    """Add text to the foot, below everything else at the left, broken ``between`` its parts to fit."""
    lines = [*filter(None, [figure.get_supxlabel()]), ""]
    for part in text.split(between):
        longer = f"{lines[-1]}{between}{part}" if lines[-1] else part
        if len(longer) > 118 and lines[-1]:
            lines[-1] += between.rstrip(" ·")
            lines.append(part)
        else:
            lines[-1] = longer
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=8, color=MUTED)


def seed_interval(values: pd.Series[float]) -> tuple[float, float]:
    """Ends of the 95 % interval over seeds, as seaborn's ``errorbar`` expects them."""
    present = [float(value) for value in values.dropna()]
    if not present:
        return float("nan"), float("nan")
    measured = over_seeds(present)
    return measured.bottom, measured.top


def colour_of(names: Sequence[str]) -> dict[str, str]:
    """A fill for each name, in order and all different; light, so that dark labels are legible on each."""
    if len(names) <= len(MACHINES):
        return dict(zip(names, MACHINES, strict=False))
    # As many hues as names; every other one is paler, so that neighbours differ in more than hue.
    # Imported here, because seaborn takes as long to import as all else together, and few figures need it.
    from seaborn import husl_palette

    hues = np.array(husl_palette(len(names), s=0.75, l=0.78))
    hues[::2] = (1 + hues[::2]) / 2
    return {name: str(to_hex((r, g, b))) for name, (r, g, b) in zip(names, hues, strict=True)}


def need(frame: pd.DataFrame, columns: Sequence[str], what: str) -> pd.DataFrame:
    """Return the frame if it has the columns and a row; `UserError` otherwise."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise UserError(f"the table of {what} lacks a column", field=missing[0])
    if frame.empty:
        raise UserError(f"the table of {what} is empty, so there is nothing to draw", field=what)
    return frame


def in_force(stays: pd.DataFrame, at_s: float) -> pd.DataFrame:
    """The stays (from_s, to_s) that include a time, at the end the last ones; `UserError` if none."""
    need(stays, ["from_s", "to_s"], "stays")
    running = (stays["from_s"] <= at_s) & ((stays["to_s"] > at_s) | (stays["to_s"] == stays["to_s"].max()))
    return need(stays[running], [], f"stays at {at_s:g} s")


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts node-2 before node-10."""
    parts = re.findall(r"\d+|\D", name + "\0")
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
