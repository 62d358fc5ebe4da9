"""A run as a film: placements, queue lengths, utilisation of nodes, and actions of the control plane.

The film is HTML with its pictures inside (matplotlib's JavaScript player), so that it plays in JupyterLab and
in an exported page without a server. It reads the log of one run.
"""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from storm_lab.errors import UserError
from storm_lab.model.checks import check_number
from storm_lab.reporting.figures.style import (
    INK,
    LINES,
    MUTED,
    colour_of,
    house_style,
    natural_key,
    new_figure,
)
from storm_lab.tuplelog.reader import Run

MOST_FRAMES = 200
"""Most pictures of a film; each takes some 10 to 30 KB of the page."""

_NS = 1e9
_TILES = 4
_FULL_BAR_TUPLES = 50.0
"""Waiting tuples at which a tile's bar is as high as the tile; beyond, only the number shows more."""


class _Film:
    """The tables of a run from which a film is drawn."""

    def __init__(self, run: Run) -> None:
        self.sample_every = run.manifest.identity.sample_every
        self.nodes, self.placements, self.executions, self.traffic, self.cpu, self.control = (
            _with_plain_names(run.table(name).to_pandas())
            for name in ("nodes", "placements", "executions", "traffic", "cpu", "control")
        )

    def placed(self, at_s: float) -> pd.DataFrame:
        """The executors that are ready at that time."""
        at, rows = at_s * _NS, self.placements
        return rows[(rows["start_ns"] <= at) & (rows["end_ns"].isna() | (rows["end_ns"] > at))]

    def waiting(self, at_s: float) -> pd.Series[float]:
        """Tuples in each task's queue at that time: those logged, times how many each stands for."""
        at, rows = at_s * _NS, self.executions
        inside = rows[(rows["enqueue_ns"] <= at) & (rows["start_ns"] > at)]
        return inside.groupby("task").size() * float(self.sample_every)

    def busy(self, at_s: float) -> pd.Series[float]:
        """Utilisation of each node in the window around that time, 0 to 1."""
        inside = self._around(self.cpu, at_s)
        spent = inside.groupby("node")["cpu_ms"].sum() * 1e6
        length = (inside["end_ns"] - inside["start_ns"]).max() if len(inside) else 1.0
        cores = self.nodes.set_index("node")["cores"]
        return (spent / length / cores).reindex(cores.index).fillna(0.0)

    def flows(self, at_s: float) -> dict[tuple[str, str], float]:
        """Tuples a second from node to node in the window around that time."""
        inside = self._around(self.traffic, at_s)
        node_of: dict[int, str] = {}
        for row in self.placed(at_s).to_dict("records"):
            node_of.update(dict.fromkeys(range(row["start_task"], row["end_task"] + 1), row["node"]))
        found: dict[tuple[str, str], float] = {}
        for row in inside.to_dict("records"):
            pair = (node_of.get(row["source_task"], ""), node_of.get(row["target_task"], ""))
            if all(pair) and pair[0] != pair[1]:
                rate = row["tuples"] / ((row["end_ns"] - row["start_ns"]) / _NS)
                found[pair] = found.get(pair, 0.0) + rate
        return found

    def _around(self, windows: pd.DataFrame, at_s: float) -> pd.DataFrame:
        at = at_s * _NS
        return windows[(windows["start_ns"] <= at) & (windows["end_ns"] > at)]

    def recent_events(self, at_s: float) -> list[str]:
        """The control plane's last four entries up to that time."""
        rows = self.control[self.control["time_ns"] <= at_s * _NS].tail(4)
        return [
            f"{row['time_ns'] / _NS:8.1f} s  {row['actor']}: {row['action']} {row['subject']}"[:88]
            for row in rows.to_dict("records")
        ]


def watch(run: Run, *, from_s: float, to_s: float, every_s: float = 2.0, title: str = "") -> str:
    """Return the film of a part of a run, as HTML, with a picture after every ``every_s`` virtual seconds.

    Queues are exact if the run logged every execution (``sample_every`` 1). Raises `UserError` if a time is
    not a number, or the film would have no picture or too many.
    """
    for name, seconds in (("from_s", from_s), ("to_s", to_s), ("every_s", every_s)):
        check_number("a film", name, seconds, unit="s")
    times_s = np.arange(from_s, to_s, every_s) if every_s > 0 else np.empty(0)
    if not 0 < len(times_s) <= MOST_FRAMES:
        message = (
            f"makes {len(times_s)} pictures of {from_s:g} to {to_s:g} s; 1 to {MOST_FRAMES} can be shown"
        )
        remedy = "choose another step or other times"
        raise UserError(message, field="every_s", value=every_s, remedy=remedy)
    film = _Film(run)
    with house_style(), mpl.rc_context({"animation.embed_limit": 64.0, "savefig.bbox": "standard"}):
        figure = new_figure(4.2)
        axes = figure.subplots()

        def picture(number: int) -> list[Axes]:
            axes.clear()
            _draw(axes, film, float(times_s[number]), title)
            return [axes]

        moving = FuncAnimation(figure, picture, frames=len(times_s), interval=200, blit=False)
        return without_icon_font(str(moving.to_jshtml(default_mode="once")))


def _with_plain_names(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(dict.fromkeys(table.select_dtypes("category"), str))


def without_icon_font(player: str) -> str:
    """Make the player independent of a server's icon font; add button signs and a text alternative."""
    player = player.replace("<img ", '<img alt="frame shown" ', 1)
    player = re.sub(r"<link[^>]*font-awesome[^>]*>", "", player)
    return re.sub(r'<i class="fa ([\w -]+)"></i>', lambda found: _SIGNS[found[1]], player)


_SIGNS = {
    "fa-minus": "−",
    "fa-fast-backward": "«",
    "fa-step-backward": "‹",
    "fa-play fa-flip-horizontal": "◀",
    "fa-pause": "‖",
    "fa-play": "▶",
    "fa-step-forward": "›",
    "fa-fast-forward": "»",
    "fa-plus": "+",
}


def _draw(axes: Axes, film: _Film, at_s: float, title: str) -> None:
    names = sorted(film.nodes["node"], key=natural_key)
    components = sorted(set(film.placements["component"]))
    colours = colour_of(components)
    placed, waiting, busy = film.placed(at_s), film.waiting(at_s), film.busy(at_s)
    for place, name in enumerate(names):
        _draw_node(axes, place, placed[placed["node"] == name], waiting, colours)
        share = min(float(busy.get(name, 0.0)), 1.0)
        axes.add_patch(Rectangle((place - 0.46, -0.5), 0.92, 0.22, fill=False, edgecolor=MUTED))
        axes.add_patch(Rectangle((place - 0.46, -0.5), 0.92 * share, 0.22, facecolor=LINES[0]))
        axes.text(place, -0.7, f"{name}: CPU {100 * share:.0f} %", ha="center", fontsize=7.5, color=INK)
    flows = film.flows(at_s)
    most = max(flows.values(), default=1.0)
    for (source, target), rate in flows.items():
        axes.annotate(
            "", (names.index(target), 5.05), (names.index(source), 5.05),
            arrowprops={"arrowstyle": "-|>", "connectionstyle": "arc3,rad=-0.25",
                        "lw": 0.3 + 2.7 * rate / most, "color": LINES[1], "alpha": 0.6},
        )  # fmt: skip
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylim(8.4, -1.0)
    axes.set_axis_off()
    axes.set_title(f"{title + ', ' if title else ''}{at_s:.1f} s", loc="left", fontsize=10)
    recent = "\n".join(film.recent_events(at_s))
    axes.text(-0.55, 8.3, recent, fontsize=6.5, family="monospace", va="bottom", color=INK)
    handles = [Patch(facecolor=colours[name], label=name) for name in components]
    axes.legend(handles=handles, loc="lower right", fontsize=7, ncols=min(4, len(handles)), frameon=False)


def _draw_node(
    axes: Axes, place: int, rows: pd.DataFrame, waiting: pd.Series[float], colours: dict[str, str]
) -> None:
    """Draw a node: a tile per executor, with its queue as a bar from below and as a number if tuples wait."""
    axes.add_patch(Rectangle((place - 0.47, -0.15), 0.94, 5.1, fill=False, edgecolor=MUTED))
    shown = rows.sort_values(["port", "start_task"])
    wide, high = 0.9 / _TILES, 5.0 / max(4, -(-len(shown) // _TILES))
    for number, row in enumerate(shown.to_dict("records")):
        x, y = place - 0.45 + (number % _TILES) * wide, -0.1 + number // _TILES * high
        queue = sum(float(waiting.get(task, 0.0)) for task in range(row["start_task"], row["end_task"] + 1))
        colour, bottom = colours[row["component"]], y + high * 0.9
        axes.add_patch(Rectangle((x, y), wide * 0.93, high * 0.9, facecolor=colour, linewidth=0))
        filled = high * 0.9 * min(queue / _FULL_BAR_TUPLES, 1.0)
        bar = Rectangle((x, bottom - filled), wide * 0.93, filled, facecolor=LINES[1], alpha=0.75)
        axes.add_patch(bar)
        if queue >= 1:
            axes.text(x + wide / 2, y + high / 2, f"{queue:.0f}", ha="center", va="center", fontsize=6)
