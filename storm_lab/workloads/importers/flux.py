"""Flux: Storm's YAML for topologies, with its includes, substitution and multi-language wrappers.

What Java classes do is not in the file; figures for it come from an overlay or from defaults.

As in Flux, an included file's own includes are not followed, and without ``override`` the existing
definitions win. Files are searched for beside the file that names them, and only below the folder of the
first file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.model.topology import Grouping
from storm_lab.model.version import StormVersion
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part, read_bounded, yaml_part
from storm_lab.workloads.importers.draft import Draft, DraftComponent
from storm_lab.workloads.importers.flux_shell import SHELL_CLASSES, ShellCommand, read_shell, run_flux
from storm_lab.workloads.importers.flux_text import is_open, restored, substituted
from storm_lab.workloads.importers.plain import Wanted
from storm_lab.workloads.importers.scalars import (
    a_text,
    add_stream,
    amount,
    flag,
    read_own_settings,
    read_settings,
    texts,
    whole,
)

FORMAT = "Flux"
BEFORE_APACHE = StormVersion((0, 10, 2))
"""Version assumed for files whose classes are in packages that Storm had until 0.10."""
_BEFORE_APACHE = ("backtype.storm.", "storm.kafka.", "storm.trident.")
_KEYS = {
    "name", "config", "includes", "components", "spouts", "bolts", "streams", "topologySource", "workerHooks",
}  # fmt: skip
_SETTINGS_ONLY = {"name", "config"}
_LOADS = {"onHeapMemoryLoad": "memory_mb", "offHeapMemoryLoad": "offheap_mb", "cpuLoad": "cpu_points"}


def looks_like_flux(part: Part) -> bool:
    """Whether a document has the keys of Flux."""
    if part.get("topologySource") is not ABSENT or part.get("includes") is not ABSENT:
        return True
    beans = part.under("spouts", "bolts", "components", "workerHooks")
    if any(bean.get("className") is not ABSENT for bean in beans):
        return True
    # A file of settings alone is meant for other files to include; it is read, and what it lacks is reported.
    return any(part.get("config").items()) and {key for key, _ in part.items()} <= _SETTINGS_ONLY


def read_flux(path: Path, wanted: Wanted, notes: Notes) -> Draft:
    """Return the topology of a Flux file; `UserError` if it, or a file of an overlay, cannot be read."""
    files: list[str] = []

    def load(file: Path) -> Part:
        files.append(file.name)
        text = substituted(read_bounded(file), wanted.properties, wanted.environment, file.name, notes)
        return restored(yaml_part(text, file.name, notes))

    top = load(path)
    merged = merge_includes(top, path, load, notes)
    name = (a_text(merged.name) or "").strip() or path.stem
    draft = Draft(FORMAT, name, top.place, notes, files=files)
    commands: dict[str, ShellCommand] = {}
    for key, part in top.items():
        if key not in _KEYS:
            notes.cannot_use(part.place, f"the key {key!r}", "Flux has no such key")
    if merged.source is not ABSENT:
        _refuse_source(merged.source, draft)
    check_references(merged, notes)
    for parts, is_spout in ((merged.spouts, True), (merged.bolts, False)):
        for part in parts.values():
            _component(part, draft, commands, is_spout=is_spout)
    for part in merged.streams:
        _stream(part, draft)
    if merged.config:
        place = next(iter(merged.config.values())).place
        read_settings(Part(merged.config, replace(place, key="config")), draft)
    _guess_version(merged, draft)
    if wanted.run_python:
        run_flux(commands, path, draft, wanted)
    return draft


def _refuse_source(source: Part, draft: Draft) -> None:
    class_name = a_text(source.get("className")) or "?"
    method = a_text(source.get("methodName")) or "getTopology"
    why = f"the topology is built by Java code, {class_name}.{method}, which is not run"
    remedy = "save the pages of Storm's UI of the running topology, or capture it with storm-loadgen"
    draft.notes.missing(source.place, "topologySource", f"{why}; {remedy}, and import those")


def _component(part: Part, draft: Draft, commands: dict[str, ShellCommand], *, is_spout: bool) -> None:
    component = draft.add(a_text(part.get("id")) or "", part.place, is_spout=is_spout)
    if component is None:
        return
    notes, name = draft.notes, component.id
    class_name = a_text(part.get("className")) or ""
    if not class_name:
        notes.cannot_use(part.place, f"{name}'s class", "there is no className; Flux would refuse the file")
    component.executors = _count(part.get("parallelism"), name, "parallelism", draft)
    tasks = part.get("numTasks")
    if tasks.value != -1:
        component.tasks = _count(tasks, name, "numTasks", draft)
    for key, attribute in _LOADS.items():
        load = part.get(key)
        if load.value != -1:
            setattr(component, attribute, amount(load, notes, f"{key} of {name}"))
    read_own_settings(part.get("config"), component, draft)
    if class_name.rpartition(".")[2] in SHELL_CLASSES:
        commands[name] = read_shell(part, component, notes)
    else:
        _note_windows(part, component, notes)


def _note_windows(part: Part, component: DraftComponent, notes: Notes) -> None:
    """Note a windowed bolt, because windows are not played."""
    for method in part.under("configMethods"):
        name = a_text(method.get("name")) or ""
        if name in ("withWindow", "withTumblingWindow"):
            why = "windows are not played: the bolt emits tuple by tuple, on the average as its figures say"
            notes.cannot_use(method.place, f"{component.id}'s {name}", why)


def _count(part: Part, name: str, key: str, draft: Draft) -> int | None:
    if is_open(part):
        draft.notes.assume(name, key, "1", f"{part.value} has no value; give its property")
        return None
    return whole(part, draft.notes, f"{key} of {name}", least=1)


def _stream(part: Part, draft: Draft) -> None:
    item = add_stream(part, draft)
    if item is not None and item.grouping in (Grouping.FIELDS, Grouping.PARTIAL_KEY):
        item.fields = texts(part.get("grouping").get("args"))


def _guess_version(merged: Merged, draft: Draft) -> None:
    played = [*merged.spouts.values(), *merged.bolts.values()]
    if any((a_text(part.get("className")) or "").startswith(_BEFORE_APACHE) for part in played):
        draft.version = BEFORE_APACHE
        draft.version_assumed = "by the names of its classes; give storm_version"


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
    file = _find(name, path)
    if file is None:
        # StormCrawler and others include defaults that are inside a jar.
        inside = "it is a resource of a jar, and " if flag(entry.get("resource")) is True else ""
        why = f"{inside}it is not beside this file"
    elif file.resolve() == path.resolve():
        why = "it is this file itself"
    else:
        try:
            return load(file)
        except UserError as error:
            why = str(error)
    notes.cannot_use(entry.place, f"the include {name}", why)
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
    items = bean.under("constructorArgs", "factoryArgs", "properties")
    items += [item for method in bean.under("configMethods") for item in method.under("args")]
    for item in items:
        single, several = item.get("ref"), item.get("reflist")
        if (name := a_text(single)) is not None:
            yield name, single
        yield from ((name, several) for name in texts(several))
