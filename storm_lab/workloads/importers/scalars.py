"""Read single values from documents of other programs; values that do not fit are noted with their place."""

from __future__ import annotations

import math

from storm_lab.model.topology import Grouping
from storm_lab.workloads.importers.documents import ABSENT, Part
from storm_lab.workloads.importers.place import Notes, Place

MOST_EXECUTORS = 10_000
"""Most executors or tasks of one component; clusters in papers run some hundreds."""
_BY_NAME = {grouping.value: grouping for grouping in Grouping}


def a_text(part: Part) -> str | None:
    """Return a scalar as text; None for any other value."""
    return None if part.value is None or isinstance(part.value, dict | list) else str(part.value)


def texts(part: Part) -> tuple[str, ...]:
    """Return the texts of a list, or a single one; other members are left out."""
    items = part.value if isinstance(part.value, list) else [part]
    return tuple(text for item in items if (text := a_text(item)) is not None)


def number(part: Part) -> float | None:
    """Return a finite number, including one written as text; None for any other value."""
    if isinstance(part.value, bool) or not isinstance(part.value, int | float | str):
        return None
    try:
        value = float(part.value)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def amount(part: Part, notes: Notes, what: str, *, most: float = 1e12) -> float | None:
    """Return a number from 0 to ``most``; note any other value."""
    if part is ABSENT:
        return None
    value = number(part)
    if value is None or not 0 <= value <= most:
        notes.cannot_use(part.place, what, f"{_shown(part)} is not a number from 0 to {most:g}")
        return None
    return value


def whole(part: Part, notes: Notes, what: str, *, least: int = 0, most: int = MOST_EXECUTORS) -> int | None:
    """Return a whole number in a range; note any other value."""
    if part is ABSENT:
        return None
    value = number(part)
    if value is None or value % 1 != 0 or not least <= value <= most:
        notes.cannot_use(part.place, what, f"{_shown(part)} is not a whole number from {least} to {most}")
        return None
    return int(value)


def flag(part: Part) -> bool | None:
    """Return true or false, including those written as text; None for any other value."""
    return {"true": True, "false": False}.get(str(part.value).lower())


def _shown(part: Part) -> str:
    text = repr(part.plain())
    return text if len(text) <= 60 else f"{text[:57]}..."


def grouping_of(name: str | None, notes: Notes, place: Place) -> Grouping:
    """Return the grouping of a name in any case, with - or _; others are noted and become a shuffle."""
    plain = (name or "").lower().replace("_", "-")
    found = _BY_NAME.get(plain)
    if found is not None:
        return found
    if plain.startswith("custom"):
        notes.cannot_use(
            place, "a custom grouping", "its choice of tasks is code that is not run: played as a shuffle"
        )
    elif not plain:
        notes.cannot_use(place, "a stream without a grouping", "Storm requires one: played as a shuffle")
    else:
        notes.cannot_use(place, f"the grouping {name!r}", "there is none of this name: played as a shuffle")
    return Grouping.SHUFFLE
