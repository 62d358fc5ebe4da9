"""Flux's beans: what Java objects are made of. They are not made here; references are checked."""

from __future__ import annotations

from collections.abc import Iterator

from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.draft import DraftComponent
from storm_lab.workloads.importers.flux_includes import Merged
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.scalars import a_text, texts

_WINDOWS = ("withWindow", "withTumblingWindow")


def check_references(merged: Merged, notes: Notes) -> None:
    """Note references to components that the file does not define: Flux would refuse it."""
    beans = [*merged.components.values(), *merged.spouts.values(), *merged.bolts.values()]
    for bean in beans:
        for name, part in _references(bean):
            if name not in merged.components:
                owner = a_text(bean.get("id")) or "a component"
                why = "no component has this id; Flux would refuse the file"
                notes.cannot_use(part.place, f"{owner}'s reference to {name!r}", why)


def note_windows(part: Part, component: DraftComponent, notes: Notes) -> None:
    """Note a windowed bolt: when its windows end is not played."""
    for method in part.under("configMethods"):
        name = a_text(method.get("name")) or ""
        if name in _WINDOWS:
            notes.cannot_use(
                method.place,
                f"{component.id}'s {name}",
                "windows are not played: the bolt emits tuple by tuple, on the average as its figures say",
            )


def _references(bean: Part) -> Iterator[tuple[str, Part]]:
    for key in ("constructorArgs", "factoryArgs"):
        for item in bean.under(key):
            yield from _named(item)
    for item in bean.under("properties"):
        yield from _named(item)
    for method in bean.under("configMethods"):
        for item in method.under("args"):
            yield from _named(item)


def _named(item: Part) -> Iterator[tuple[str, Part]]:
    single = item.get("ref")
    if single is not None and (name := a_text(single)) is not None:
        yield name, single
    several = item.get("reflist")
    for name in texts(several):
        assert several is not None
        yield name, several
