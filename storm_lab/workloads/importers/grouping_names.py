"""Groupings by the names that Flux, storm-loadgen, streamparse and Storm's UI give them."""

from __future__ import annotations

from storm_lab.model.topology import Grouping
from storm_lab.workloads.importers.place import Notes, Place

_BY_NAME = {grouping.value: grouping for grouping in Grouping}


def grouping_of(name: str | None, notes: Notes, place: Place) -> Grouping:
    """The grouping of that name, in any case and with - or _.

    One that cannot be played is a shuffle, and noted.
    """
    plain = (name or "").lower().replace("_", "-")
    found = _BY_NAME.get(plain)
    if found is not None:
        return found
    if plain.startswith("custom"):
        notes.cannot_use(
            place, "a custom grouping", "its choice of tasks is code that is not run: played as a shuffle"
        )
    elif not plain:
        notes.cannot_use(place, "a stream without a grouping", "Storm wants one: played as a shuffle")
    else:
        notes.cannot_use(place, f"the grouping {name!r}", "there is none of this name: played as a shuffle")
    return Grouping.SHUFFLE
