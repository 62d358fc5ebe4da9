"""Flux's includes: merge the definitions of other files into one.

As in Flux, an included file's own includes are not followed, and without ``override`` the existing
definitions win. Files are searched for beside the file that names them, and only below the folder of the
first file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.workloads.importers.documents import ABSENT, Part
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.scalars import a_text, flag, texts

MOST_INCLUDES = 50
_PLAYED = ("spouts", "bolts", "streams")
"""Sections without which a topology would be another one."""


@dataclass(slots=True)
class Merged:
    """The sections of a file and of the files that it includes."""

    name: Part = ABSENT
    source: Part = ABSENT
    config: dict[str, Part] = field(default_factory=dict)
    components: dict[str, Part] = field(default_factory=dict)
    spouts: dict[str, Part] = field(default_factory=dict)
    bolts: dict[str, Part] = field(default_factory=dict)
    streams: list[Part] = field(default_factory=list)


def merge_includes(top: Part, path: Path, load: Callable[[Path], Part], notes: Notes) -> Merged:
    """Merge a file with everything that it includes."""
    merged = Merged()
    _add(top, merged, notes, override=True)
    entries = top.under("includes")
    if len(entries) > MOST_INCLUDES:
        notes.cannot_use(top.place, "includes", f"there are more than {MOST_INCLUDES}: the rest is left out")
    for entry in entries[:MOST_INCLUDES]:
        included = _included(entry, path, load, notes)
        if included is None:
            continue
        if included.get("includes") is not ABSENT:
            notes.cannot_use(entry.place, "includes of an included file", "Flux does not follow them either")
        _add(included, merged, notes, override=flag(entry.get("override")) is True)
    return merged


def _included(entry: Part, path: Path, load: Callable[[Path], Part], notes: Notes) -> Part | None:
    name = a_text(entry.get("file"))
    if not name:
        notes.cannot_use(entry.place, "an include", "it does not name a file")
        return None
    file, what = _find(name, path), f"the include {name}"
    if file is not None and file.resolve() == path.resolve():
        notes.cannot_use(entry.place, what, "it is this file itself")
        return None
    if file is None:
        # StormCrawler and others include defaults that are inside a jar.
        inside = flag(entry.get("resource")) is True
        why = "it is not beside this file"
        notes.cannot_use(entry.place, what, f"it is a resource of a jar, and {why}" if inside else why)
        return None
    try:
        return load(file)
    except UserError as error:
        notes.cannot_use(entry.place, what, str(error))
        return None


def _find(name: str, path: Path) -> Path | None:
    """Return the included file; leading folders of its name are dropped until it is found."""
    folder = path.parent.resolve()
    parts = [part for part in Path(name.replace("\\", "/")).parts if part not in ("/", ".", "..")]
    for first in range(len(parts)):
        candidate = folder.joinpath(*parts[first:])
        try:
            if candidate.is_file() and candidate.resolve().is_relative_to(folder):
                return candidate
        except (OSError, ValueError):
            # A name that no file can have.
            return None
    return None


def _add(part: Part, merged: Merged, notes: Notes, *, override: bool) -> None:
    """Add the sections of one file to those that are merged already."""
    name = part.get("name")
    if name is not ABSENT and (merged.name is ABSENT or override):
        merged.name = name
    source = part.get("topologySource")
    merged.source = merged.source if source is ABSENT else source
    for key, value in part.get("config").items():
        if override or key not in merged.config:
            merged.config[key] = value
    for section in ("components", "spouts", "bolts"):
        for item in _list(part, section, notes):
            _add_component(item, section, getattr(merged, section), notes, override=override)
    merged.streams += _list(part, "streams", notes)
    for hook in _list(part, "workerHooks", notes):
        hook_name = a_text(hook.get("className")) or a_text(hook.get("id")) or "?"
        notes.cannot_use(hook.place, f"the worker hook {hook_name}", "code of hooks is not run")


def _add_component(item: Part, section: str, known: dict[str, Part], notes: Notes, *, override: bool) -> None:
    identity = a_text(item.get("id"))
    if identity is None:
        notes.cannot_use(item.place, f"one of the {section}", "it has no id")
        return
    existing = known.get(identity)
    if existing is not None and not override:
        return
    if existing is not None and existing.place.file == item.place.file:
        notes.cannot_use(item.place, f"{identity!r} of the {section}", "it is given twice: the last counts")
    known[identity] = item


def _list(part: Part, section: str, notes: Notes) -> list[Part]:
    found = part.get(section)
    if found is not ABSENT and not isinstance(found.value, list):
        notes.cannot_use(found.place, section, "it is not a list", missing=section in _PLAYED)
    return found.parts()


def check_references(merged: Merged, notes: Notes) -> None:
    """Note references to components that the file does not define; Flux would refuse them."""
    beans = [*merged.components.values(), *merged.spouts.values(), *merged.bolts.values()]
    for bean in beans:
        for name, part in _references(bean):
            if name not in merged.components:
                owner = a_text(bean.get("id")) or "a component"
                why = "no component has this id; Flux would refuse the file"
                notes.cannot_use(part.place, f"{owner}'s reference to {name!r}", why)


def _references(bean: Part) -> Iterator[tuple[str, Part]]:
    items = [*bean.under("constructorArgs"), *bean.under("factoryArgs"), *bean.under("properties")]
    items += [item for method in bean.under("configMethods") for item in method.under("args")]
    for item in items:
        single, several = item.get("ref"), item.get("reflist")
        if (name := a_text(single)) is not None:
            yield name, single
        yield from ((name, several) for name in texts(several))
