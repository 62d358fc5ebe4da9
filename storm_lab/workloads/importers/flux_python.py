"""Flux's Python components, run over their input: scripts of Storm's multi-language interface."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path, PurePath

from storm_lab.workloads.importers.draft import Draft
from storm_lab.workloads.importers.flux_shell import ShellCommand
from storm_lab.workloads.importers.given import fit_rows
from storm_lab.workloads.importers.overlay import Overlay
from storm_lab.workloads.importers.python_outcome import put_outcome
from storm_lab.workloads.importers.python_run import RunFailedError
from storm_lab.workloads.importers.streamparse import put_ticks, run_components
from storm_lab.workloads.importers.wiring import fields_of
from storm_lab.workloads.multilang.plan import ComponentSpec, InputSpec, Plan

MOST_SEARCHED = 20_000
"""Files looked at for a script."""


def run_flux(
    commands: Mapping[str, ShellCommand], path: Path, draft: Draft, overlay: Overlay, seconds: float
) -> None:
    """Run the Python components of a Flux file; what they did goes into the draft.

    Raises:
        UserError: an overlay names a file that cannot be read.
    """
    notes = draft.notes
    code: dict[str, dict[str, str]] = {}
    folders: list[Path] = []
    for name, command in commands.items():
        place = draft.components[name].place if name in draft.components else draft.place
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
    _declare(draft, overlay)
    specs = [_spec(name, draft, code.get(name, {}), commands.get(name)) for name in draft.components]
    searched = [str(folder) for folder in dict.fromkeys((*folders, path.parent))]
    plan = Plan(draft.name, searched, components=specs)
    try:
        outcome, given = run_components(plan, folders[0] if folders else path.parent, overlay, seconds)
        put_ticks(outcome, draft)
        put_outcome(outcome, draft, given)
    except RunFailedError as error:
        notes.cannot_use(draft.place, "running the components", str(error))
    except (KeyError, TypeError, ValueError, AttributeError):
        notes.cannot_use(draft.place, "running the components", "what they handed back is damaged")


def _declare(draft: Draft, overlay: Overlay) -> None:
    """Declare the streams that bolts read, also where Java does not say them, and those of given records."""
    for component in draft.components.values():
        rows = overlay.rows(component.id) if component.is_spout else None
        if rows is not None:
            fit_rows(component, rows, draft)
    for component in draft.components.values():
        for item in component.inputs:
            source = draft.components.get(item.source)
            if source is not None and not source.declared:
                stream = source.stream(item.stream)
                stream.fields = fields_of(draft, source, item.stream)


def _spec(name: str, draft: Draft, code: dict[str, str], command: ShellCommand | None) -> ComponentSpec:
    component = draft.components[name]
    return ComponentSpec(
        name=name,
        is_spout=component.is_spout,
        par=component.tasks or component.executors or 1,
        inputs=[
            InputSpec(item.source, item.stream, item.grouping.value, list(item.fields))
            for item in component.inputs
        ],
        outputs={stream: list(item.fields or ()) for stream, item in component.streams.items()},
        config={} if command is None else dict(command.config),
        code=code,
        java="" if code else "it is Java",
        tick_s=component.tick_s,
    )


def _code(command: ShellCommand, folder: Path, folders: list[Path]) -> dict[str, str] | None:
    """Where a command's Python is: a script below the folder, or a class, as streamparse starts it."""
    words = [word for text in command.words for word in text.split()]
    if any(PurePath(word).name == "streamparse_run" for word in words):
        module, _, cls = words[-1].rpartition(".")
        folders += [item for item in (folder / "src", folder) if item.is_dir()]
        return {"module": module, "class": cls} if module else None
    if not words or not PurePath(words[0]).name.startswith("python"):
        return None
    script = next((word for word in words[1:] if word.endswith(".py")), None)
    if script is None:
        return None
    found = _find(script, folder)
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
    for candidate in islice(root.rglob("*.py"), MOST_SEARCHED):
        if candidate.name == parts[-1]:
            return candidate
    return None
