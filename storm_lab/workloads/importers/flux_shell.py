"""Flux's components in other languages: the commands that run them and the streams that they declare.

Python scripts of Storm's multi-language interface can be run over their input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath

from storm_lab.model.topology import DEFAULT_STREAM
from storm_lab.workloads.importers.documents import Notes, Part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftStream
from storm_lab.workloads.importers.plain import Overlay, Wanted
from storm_lab.workloads.importers.python_run import run_into
from storm_lab.workloads.importers.scalars import a_text, amount, texts
from storm_lab.workloads.multilang.plan import TICK, ComponentSpec, InputSpec, Plan

SHELL_CLASSES = ("FluxShellSpout", "FluxShellBolt", "GenericShellBolt", "GenericShellSpout")
"""Flux's wrappers around a program in another language."""
_NOTHING = "NONE_BUT_FLUX_WANTS_SOMETHING_HERE"
"""What streamparse writes for a component without output fields."""
MOST_SEARCHED = 20_000  # most files searched for a script


@dataclass(slots=True)
class ShellCommand:
    """The command line of a component in another language, with its settings."""

    words: tuple[str, ...] = ()
    config: dict[str, object] = field(default_factory=dict)


def read_shell(part: Part, component: DraftComponent, notes: Notes) -> ShellCommand:
    """Read a wrapper's arguments: command, output fields, and what ``configMethods`` add to them."""
    lists = part.under("constructorArgs")
    command = ShellCommand(texts(lists[0]) if lists else ())
    component.declared = True
    if len(lists) > 1:
        _declare(component, DEFAULT_STREAM, texts(lists[1]))
    for method in part.under("configMethods"):
        name, arguments = a_text(method.get("name")) or "method", method.under("args")
        if name == "setDefaultStream" and arguments:
            _declare(component, DEFAULT_STREAM, _fields(arguments[0]))
        elif name == "setNamedStream" and len(arguments) > 1:
            _declare(component, a_text(arguments[0]) or DEFAULT_STREAM, _fields(arguments[1]))
        elif name == "addComponentConfig" and len(arguments) > 1:
            key = a_text(arguments[0]) or ""
            command.config[key] = arguments[1].plain()
            if key == TICK:
                component.tick_s = amount(arguments[1], notes, TICK, most=86400) or component.tick_s
        else:
            idle = name in ("changeChildCWD", "setEnv")
            why = "it has no effect on what is played" if idle else "Flux's wrappers have no such method"
            notes.cannot_use(method.place, f"{component.id}'s {name}", why)
    return command


def _fields(part: Part) -> tuple[str, ...]:
    # A wrapper takes an array of names; some files nest the names one level deeper.
    inner = part.parts()
    if len(inner) == 1 and isinstance(inner[0].value, list):
        return texts(inner[0])
    return texts(part)


def _declare(component: DraftComponent, stream: str, fields: tuple[str, ...]) -> None:
    if fields != (_NOTHING,):
        component.streams[stream] = DraftStream(fields=fields)


def run_flux(commands: Mapping[str, ShellCommand], path: Path, draft: Draft, wanted: Wanted) -> None:
    """Run a Flux file's Python components and put the result into the draft.

    Raises `UserError` if a file of an overlay cannot be read.
    """
    notes = draft.notes
    code: dict[str, dict[str, str]] = {}
    folders: list[Path] = []
    for name, command in commands.items():
        place = draft.components[name].place
        found = _code(command, path.parent, folders)
        if found is None:
            shown = " ".join(command.words) or "no command"
            why = f"{shown}: no Python of this name lies below this folder"
            notes.cannot_use(place, f"running {name}", why)
        else:
            code[name] = found
    if not code:
        notes.read.append("there is no Python in it that can be run")
        return
    _declare_all(draft, wanted.overlay)
    specs = [_spec(name, draft, code.get(name, {}), commands.get(name)) for name in draft.components]
    searched = [str(folder) for folder in dict.fromkeys((*folders, path.parent))]
    plan = Plan(draft.name, searched, components=specs)
    run_into(draft, plan, folders[0] if folders else path.parent, wanted)


def _declare_all(draft: Draft, overlay: Overlay) -> None:
    """Declare the streams of given records, and those that bolts read, also if Java code omits them."""
    for component in draft.components.values():
        rows = overlay.rows(component.id) if component.is_spout else None
        if rows is not None:
            component.records = rows
            draft.fit_rows(component)
    for component in draft.components.values():
        for item in component.inputs:
            source = draft.components.get(item.source)
            if source is not None and not source.declared:
                stream = source.stream(item.stream)
                stream.fields = draft.fields_of(source, item.stream)


def _spec(name: str, draft: Draft, code: dict[str, str], command: ShellCommand | None) -> ComponentSpec:
    component = draft.components[name]
    inputs = [InputSpec(i.source, i.stream, i.grouping.value, list(i.fields)) for i in component.inputs]
    return ComponentSpec(
        name=name,
        is_spout=component.is_spout,
        par=component.tasks or component.executors or 1,
        inputs=inputs,
        outputs={stream: list(item.fields or ()) for stream, item in component.streams.items()},
        config={} if command is None else dict(command.config),
        code=code,
        java="" if code else "it is Java",
        tick_s=component.tick_s,
    )


def _code(command: ShellCommand, folder: Path, folders: list[Path]) -> dict[str, str] | None:
    """Return where a command's Python is: a script below the folder, or a class that streamparse starts."""
    words = [word for text in command.words for word in text.split()]
    if any(PurePath(word).name == "streamparse_run" for word in words):
        module, _, cls = words[-1].rpartition(".")
        folders += [item for item in (folder / "src", folder) if item.is_dir()]
        return {"module": module, "class": cls} if module else None
    if not words or not PurePath(words[0]).name.startswith("python"):
        return None
    script = next((word for word in words[1:] if word.endswith(".py")), None)
    found = None if script is None else _find(script, folder)
    if found is None:
        return None
    folders.append(found.parent)
    return {"script": str(found)}


def _find(script: str, folder: Path) -> Path | None:
    root = folder.resolve()
    parts = [part for part in PurePath(script).parts if part not in ("/", ".", "..")]
    for below in ("", "resources", "multilang/resources", "src/main/resources/resources", "multilang"):
        candidate = root.joinpath(below, *parts)
        if candidate.is_file():
            return candidate
    files = islice(root.rglob("*.py"), MOST_SEARCHED)
    return next((file for file in files if file.name == parts[-1]), None)
