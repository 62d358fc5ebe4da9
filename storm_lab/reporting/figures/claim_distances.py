"""Distance of measured from printed values: a row for each number of some claims.

Each row has its own scale: 0 is the printed value (or bound), 100 % is a distance of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from storm_lab.experiments.claim import Target, number, with_unit
from storm_lab.experiments.measurement import Measured
from storm_lab.reporting.figures.style import INK, LINES, finish, house_style, new_figure
from storm_lab.reporting.verdict import Outcome, Verdict

_EDGE = 1.25
"""End of the axis; values beyond it are drawn as an arrow at the edge."""

_LEAST_HEIGHT = 2.2
"""In inches: a single number, above the names of all claims of an experiment."""

_MARKERS = {
    Outcome.REPRODUCED: ("o", LINES[2]),
    Outcome.DIRECTION: ("D", LINES[4]),
    Outcome.NOT_REPRODUCED: ("X", LINES[1]),
}


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    target: Target
    value: float
    measured: Measured
    others: tuple[Measured, ...]
    outcome: Outcome
    alike: bool = False
    """Whether it stands for several numbers, all measured exactly as printed."""

    @property
    def origin(self) -> float:
        """The printed value, or the bound if there is no value."""
        given = (self.target.expected, self.target.low, self.target.high)
        return next((value for value in given if value is not None), 0.0)

    @property
    def unit(self) -> float:
        """The distance that counts as 100 %: the printed value, or if that is 0 the band's larger end."""
        if self.origin:
            return abs(self.origin)
        ends = [abs(end) for end in (self.target.low, self.target.high) if end]
        return max(ends, default=1.0)

    @property
    def texts(self) -> str:
        """The printed and the measured value in words."""
        if self.alike:
            return "all as printed"
        return f"{self.target.expected_text}, {with_unit(number(self.value), self.target.unit)}"

    def at(self, value: float) -> float:
        return (value - self.origin) / self.unit


def claim_distances(verdicts: Sequence[Verdict]) -> Figure | None:
    """Draw the figure; None if no claim states a number that was measured. Orders are left out.

    A claim whose numbers are all exactly as printed takes one row. Hollow marks are other readings of what
    the paper leaves open, and trials with one input changed.
    """
    rows = [row for verdict in verdicts for row in _rows(verdict)]
    if not rows:
        return None
    with house_style():
        figure = new_figure(max(_LEAST_HEIGHT, 1.3 + 0.27 * len(rows)))
        axes = figure.subplots()
        for place, row in enumerate(rows):
            _draw(axes, row, place)
        axes.axvline(0, color=INK, linewidth=1.1, linestyle=(0, (5, 2)), zorder=1)
        axes.set_xlim(-_EDGE, _EDGE)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=8.5)
        axes.set_xticks([-1, -0.5, 0, 0.5, 1])
        percent = FuncFormatter(lambda share, _: f"{100 * share:+.0f} %" if share else "0")
        axes.xaxis.set_major_formatter(percent)
        axes.set_xlabel("distance from the printed value")
        axes.grid(axis="y", visible=False)
        labels = [row.texts for row in rows]
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(rows)), labels, fontsize=8)
        right.tick_params(length=0)
        legend = _legend(rows)
        beyond = " · arrows: beyond the axis" if any(map(_leaves, rows)) else ""
        note = "mean over seeds, line: 95 % interval · at the right: printed, measured" + beyond
        if any(row.origin == 0 and row.unit != 1.0 for row in rows):
            note += " · if 0 is printed, 100 % is the end of the band"
        finish(figure, "Claims: measured against printed", note, legend=legend, columns=len(legend))
    return figure


def _rows(verdict: Verdict) -> list[_Row]:
    claim, measurement = verdict.claim, verdict.measurement
    if measurement is None or not claim.targets or verdict.outcome not in _MARKERS:
        return []
    rows = []
    for target in claim.targets:
        own = measurement.value(target.label)
        if own.value is None:
            continue
        readings = (reading.measurement for reading in verdict.readings)
        others = tuple(each.value(target.label) for each in readings if each is not None)
        label = f"{claim.id}, {target.label}" if target.label else claim.id
        rows.append(_Row(label, target, own.value, own, others, verdict.outcome))
    if len(rows) > 1 and all(row.value == row.target.expected for row in rows):
        return [replace(rows[0], label=f"{claim.id}, {len(rows)} numbers", alike=True)]
    return rows


def _leaves(row: _Row) -> bool:
    """Return whether some value of the row is beyond the axis."""
    values = [row.value, *(other.value for other in row.others)]
    return any(abs(row.at(value)) > _EDGE for value in values if value is not None)


def _placed(at: float, mark: str) -> tuple[float, str]:
    """Position and mark of a value; beyond the axis an arrow at its edge."""
    if abs(at) <= _EDGE:
        return at, mark
    return (0.985 * _EDGE, ">") if at > 0 else (-0.985 * _EDGE, "<")


def _draw(axes: Axes, row: _Row, place: int) -> None:
    low, high = (
        end if given is None else row.at(given)
        for given, end in ((row.target.low, -_EDGE), (row.target.high, _EDGE))
    )
    axes.fill_betweenx([place - 0.36, place + 0.36], low, high, color=INK, alpha=0.14, linewidth=0)
    if low == high:
        axes.plot([low, low], [place - 0.36, place + 0.36], color=INK, linewidth=1.2)
    mark, colour = _MARKERS[row.outcome]
    if row.measured.low is not None and row.measured.high is not None:
        axes.plot([row.at(row.measured.low), row.at(row.measured.high)], [place] * 2, color=colour)
    for other in row.others:
        if other.value is not None:
            at, sign = _placed(row.at(other.value), "o")
            axes.plot(at, place, sign, markersize=6, fillstyle="none", color=INK, zorder=3)
    at, sign = _placed(row.at(row.value), mark)
    size, order = (6.0, 4) if sign == mark else (6.5, 2)
    axes.plot(at, place, sign, markersize=size, color=colour, zorder=order)


def _legend(rows: Sequence[_Row]) -> dict[str, Line2D | Patch]:
    shown: dict[str, Line2D | Patch] = {"band": Patch(facecolor=INK, alpha=0.14)}
    for outcome, (mark, colour) in _MARKERS.items():
        if any(row.outcome is outcome for row in rows):
            shown[outcome.value] = Line2D([], [], marker=mark, linestyle="", color=colour)
    if any(row.others for row in rows):
        shown["another reading"] = Line2D([], [], marker="o", linestyle="", fillstyle="none", color=INK)
    return shown
