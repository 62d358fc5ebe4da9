"""Flux's wrappers of multi-language components: the command that they run, the streams that they declare."""

from __future__ import annotations

from dataclasses import dataclass, field

from storm_lab.model.topology import DEFAULT_STREAM
from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.draft import DraftComponent, DraftStream
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.scalars import a_text, amount, texts
from storm_lab.workloads.importers.settings import TICK

SHELL_CLASSES = ("FluxShellSpout", "FluxShellBolt", "GenericShellBolt", "GenericShellSpout")
_NOTHING = "NONE_BUT_FLUX_WANTS_SOMETHING_HERE"
"""What streamparse writes for a component without output fields."""


@dataclass(slots=True)
class ShellCommand:
    """The command line of a component in another language, with its settings."""

    words: tuple[str, ...] = ()
    config: dict[str, object] = field(default_factory=dict)


def is_shell(class_name: str) -> bool:
    """Whether a class is a wrapper of Flux around a program in another language."""
    return class_name.rpartition(".")[2] in SHELL_CLASSES


def read_shell(part: Part, component: DraftComponent, notes: Notes) -> ShellCommand:
    """Read a wrapper's arguments: command, output fields, and what ``configMethods`` add to them."""
    lists = part.under("constructorArgs")
    command = ShellCommand(texts(lists[0]) if lists else ())
    component.declared = True
    if len(lists) > 1:
        _declare(component, DEFAULT_STREAM, texts(lists[1]))
    for method in part.under("configMethods"):
        _apply(a_text(method.get("name")) or "", method, component, command, notes)
    return command


def _apply(name: str, method: Part, component: DraftComponent, command: ShellCommand, notes: Notes) -> None:
    arguments = method.under("args")
    if name == "setDefaultStream" and arguments:
        _declare(component, DEFAULT_STREAM, _fields(arguments[0]))
    elif name == "setNamedStream" and len(arguments) > 1:
        _declare(component, a_text(arguments[0]) or DEFAULT_STREAM, _fields(arguments[1]))
    elif name == "addComponentConfig" and len(arguments) > 1:
        key = a_text(arguments[0]) or ""
        command.config[key] = arguments[1].plain()
        if key == TICK:
            component.tick_s = amount(arguments[1], notes, TICK, most=86400) or component.tick_s
    elif name in ("changeChildCWD", "setEnv"):
        notes.cannot_use(method.place, f"{component.id}'s {name}", "it has no effect on what is played")
    else:
        what = f"{component.id}'s {name or 'method'}"
        notes.cannot_use(method.place, what, "Flux's wrappers have no such method")


def _fields(part: Part) -> tuple[str, ...]:
    # A wrapper takes an array of names; some files write the names one level deeper.
    inner = part.parts()
    if len(inner) == 1 and isinstance(inner[0].value, list):
        return texts(inner[0])
    return texts(part)


def _declare(component: DraftComponent, stream: str, fields: tuple[str, ...]) -> None:
    if fields != (_NOTHING,):
        component.streams[stream] = DraftStream(fields=fields)
