"""Drawing what the papers print beside what was measured; values and bands come from the ledger of claims.

Every figure uses these functions, so that a printed number looks the same everywhere: a dashed line at the
value and a light area over its band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from storm_lab.experiments.ledger import load_claims
from storm_lab.reporting.figures.room import clear_height, share_of_height
from storm_lab.reporting.figures.style import INK

_SIGN = "claim:"
_DASH = (0, (5, 2))

_NAME_PART = 0.16
"""Share of the time axis that the name of a printed level takes up."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed number of a claim, in the unit of the figure it is drawn in.

    ``value`` is None if the paper only gives a bound; ``low`` or ``high`` is None if the band is open there.
    """

    claim: str
    value: float | None
    low: float | None
    high: float | None

    def mapped(self, change: Callable[[float], float]) -> Printed:
        """Convert to another quantity; ``change`` must be monotonic."""
        value, low, high = (
            None if given is None else change(given) for given in (self.value, self.low, self.high)
        )
        falls = change(1.0) < change(0.0)
        return Printed(self.claim, value, *((high, low) if falls else (low, high)))

    def below(self, level: float) -> Printed:
        """Convert a printed reduction in percent to the reduced value of ``level``."""
        return self.mapped(lambda percent: level * (1 - percent / 100))

    def above(self, level: float) -> Printed:
        """Convert a printed increase in percent to the increased value of ``level``."""
        return self.mapped(lambda percent: level * (1 + percent / 100))

    def times(self, factor: float) -> Printed:
        """Convert to another unit."""
        return self.mapped(lambda value: factor * value)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Value and ends of the band, without those that are None."""
        return tuple(given for given in (self.value, self.low, self.high) if given is not None)


@dataclass(frozen=True, slots=True)
class Mark:
    """A printed number with its place in a figure over time.

    A level applies from ``from_s`` to ``to_s``; None for the end of the axis. With ``moment`` the number is a
    time, not a level. With ``nodes`` it is a number of nodes, drawn in the strip of nodes in use. ``of`` is
    the label of the line whose level it is, written beside it; for panels with several lines.
    """

    printed: Printed
    from_s: float | None = None
    to_s: float | None = None
    moment: bool = False
    nodes: bool = False
    of: str = ""


def printed(claim: str, label: str = "") -> Printed:
    """Return a number of a claim from the ledger; ``label`` selects one if the claim has several.

    Raises:
        UserError: no such claim.
        KeyError: the claim has no number with this label.
    """
    target = load_claims().claim(claim).target(label)
    return Printed(claim, target.expected, target.low, target.high)


def draw_printed(
    axes: Axes,
    number: Printed,
    *,
    between: tuple[float, float] | None = None,
    upright: bool = False,
    colour: str = INK,
) -> None:
    """Draw a printed number where the measured values already are, and widen the axis so that it is visible.

    ``between`` is the range on the other axis; all of it by default. With ``upright`` the number belongs to
    the horizontal axis. ``colour`` is that of its series.
    """
    if any(math.isnan(given) for given in number.numbers):
        # It depends on a measurement that these runs do not have.
        return
    _make_room(axes, number.numbers, upright=upright)
    ends = axes.get_xlim() if upright else axes.get_ylim()
    low = ends[0] if number.low is None else number.low
    high = ends[1] if number.high is None else number.high
    if low <= 0 and (axes.get_xscale() if upright else axes.get_yscale()) == "log":
        # A logarithmic axis has no 0; the band extends to the end of the axis.
        low = min(ends)
    drawn: list[Any] = []
    options: dict[str, Any] = {"color": colour, "alpha": 0.16, "linewidth": 0, "zorder": 0.6}
    line: dict[str, Any] = {"color": colour, "linewidth": 1.1, "linestyle": _DASH, "zorder": 1.9}
    if between is None:
        # A value at the far end of an open band is no edge of it.
        drawn.append((axes.axvspan if upright else axes.axhspan)(low, high, **options))
        if number.value is not None:
            drawn.append((axes.axvline if upright else axes.axhline)(number.value, **line))
    else:
        area = axes.fill_betweenx if upright else axes.fill_between
        drawn.append(area(list(between), [low, low], [high, high], **options))
        if number.value is not None:
            values = [number.value, number.value]
            drawn += axes.plot(*((values, between) if upright else (between, values)), **line)
    for artist in drawn:
        artist.set_gid(_SIGN + number.claim)
    (axes.set_xlim if upright else axes.set_ylim)(*ends)


def draw_marks(axes: Axes, marks: Sequence[Mark], ends_s: tuple[float, float], unit_s: float = 1.0) -> None:
    """Draw printed numbers over time, between the ends of an axis with unit ``unit_s``."""
    first, last = ends_s
    for mark in marks:
        if mark.moment:
            draw_printed(axes, mark.printed.times(1 / unit_s), upright=True)
        else:
            begin = first if mark.from_s is None else mark.from_s
            end = last if mark.to_s is None else min(mark.to_s, last)
            draw_printed(axes, mark.printed, between=(begin / unit_s, max(begin, end) / unit_s))
    # Last, when the axis has its final ends.
    taken: list[float] = []
    for mark in marks:
        if mark.of and mark.printed.value is not None and math.isfinite(mark.printed.value):
            end = last if mark.to_s is None else min(mark.to_s, last)
            taken.append(_name_line(axes, mark, end / unit_s, (last - first) / unit_s, taken))


def _name_line(axes: Axes, mark: Mark, end: float, span: float, taken: Sequence[float]) -> float:
    """Write the name of a printed level's line at the level's end, above or below it; return its height.

    ``taken`` are the heights of other names.
    """
    assert mark.printed.value is not None
    level = share_of_height(axes, mark.printed.value)
    heights = [level + side for side in (0.11, -0.11) if 0.05 < level + side < 0.95] or [level]
    heights = [each for each in heights if all(abs(each - other) > 0.1 for other in taken)] or heights
    # The text may reach beyond the begin of a short level, but is inside the frame.
    right = max(end, axes.get_xlim()[0] + _NAME_PART * span)
    height = clear_height(axes, right - _NAME_PART * span, right, heights)
    above = height >= level
    axes.annotate(
        f"{mark.of}, printed", (right, mark.printed.value), xytext=(-3, 2 if above else -2),
        textcoords="offset points", ha="right", va="bottom" if above else "top", fontsize=7.5, color=INK,
        zorder=1.95,
    )  # fmt: skip
    return height


def _make_room(axes: Axes, numbers: Sequence[float], *, upright: bool) -> None:
    """Widen the axis so that all numbers are inside, with a little room to its ends."""
    first, last = axes.get_xlim() if upright else axes.get_ylim()
    low, high = min(first, last), max(first, last)
    logarithmic = (axes.get_xscale() if upright else axes.get_yscale()) == "log"
    inside = [number for number in numbers if number > 0] if logarithmic else list(numbers)
    new_low, new_high = min([low, *inside]), max([high, *inside])
    if logarithmic:
        share = (new_high / new_low) ** 0.03
        wide_low, wide_high = new_low / share, new_high * share
    else:
        room = 0.03 * (new_high - new_low)
        # The room must not extend the axis below 0.
        wide_low, wide_high = new_low if 0 <= new_low < room else new_low - room, new_high + room
    ends = (low if new_low == low else wide_low, high if new_high == high else wide_high)
    ends = ends if first <= last else ends[::-1]
    (axes.set_xlim if upright else axes.set_ylim)(*ends)


def claims_drawn(figure: Figure) -> tuple[str, ...]:
    """Ids of the claims whose numbers `draw_printed` drew in the figure, in ledger order."""
    marks = (str(artist.get_gid() or "") for artist in figure.findobj())
    return in_order(mark.removeprefix(_SIGN) for mark in marks if mark.startswith(_SIGN))


def in_order(claims: Iterable[str]) -> tuple[str, ...]:
    """Claims in ledger order, without repetition; `UserError` if one does not exist."""
    ledger = load_claims()
    found = {ledger.claim(claim).id for claim in claims}
    return tuple(claim.id for claim in ledger.claims if claim.id in found)
