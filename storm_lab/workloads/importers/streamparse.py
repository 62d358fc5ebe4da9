"""streamparse: a project's topology, read from its source, or by running it over its input.

The file is run with its spouts and bolts (`storm_lab.workloads.multilang`) if Python may be run; otherwise it
is read as text (`storm_lab.workloads.importers.streamparse_source`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.workloads.importers.clojure_topology import read_clojure
from storm_lab.workloads.importers.documents import Notes, Part, Place, part_of, read_bounded
from storm_lab.workloads.importers.draft import Draft, DraftInput, DraftStream
from storm_lab.workloads.importers.plain import Wanted
from storm_lab.workloads.importers.python_run import RunFailedError, put_outcome, run_components, run_into
from storm_lab.workloads.importers.scalars import (
    MOST_EXECUTORS,
    grouping_of,
    read_own_settings,
    read_settings,
)
from storm_lab.workloads.importers.streamparse_source import read_source
from storm_lab.workloads.multilang.plan import ComponentSpec, Plan, component_of

FORMAT = "streamparse"
_SUFFIXES = (".py", ".clj")


def is_streamparse(path: Path) -> bool:
    """Whether a path is a streamparse project or a topology file of one."""
    if path.is_dir():
        return bool(_topologies(path))
    return path.suffix in _SUFFIXES


def _find_project(path: Path) -> tuple[Path, list[Path]]:
    """Return a path's topology file and the folders of its modules; `UserError` for several topologies."""
    file = path
    if path.is_dir():
        found = _topologies(path)
        if len(found) > 1:
            message = "the project has several topologies"
            remedy = "give one of: " + ", ".join(str(item.relative_to(path)) for item in found[:20])
            raise UserError(message, field="file", value=str(path), remedy=remedy)
        file = found[0]
    file = file.resolve()
    around = list(file.parents)[:4]
    marked = (folder for folder in around if (folder / "config.json").is_file() or (folder / "src").is_dir())
    root = next(marked, file.parent.parent if file.parent.name == "topologies" else file.parent)
    folders = [folder for folder in (root / "src", root, file.parent) if folder.is_dir()]
    return file, list(dict.fromkeys(folders))


def read_streamparse(path: Path, wanted: Wanted, notes: Notes) -> Draft:
    """Return the draft of a project's topology.

    Raises `UserError` if there is no topology, or if a file of an overlay cannot be read.
    """
    file, folders = _find_project(path)
    place = Place(file.name)
    text = read_bounded(file)
    plan = Plan(file.stem, [str(folder) for folder in folders])
    if file.suffix == ".clj":
        plan.components = read_clojure(text, file.name, notes)
        draft = _draft_of(plan.components, {}, plan.name, place, notes)
        if wanted.run_python and plan.components:
            run_into(draft, plan, folders[0], wanted)
        return draft
    if wanted.run_python:
        plan.topology_file = str(file)
        ran = _run_file(plan, folders[0], wanted, place, notes)
        if ran is not None:
            return ran
    specs, config = read_source(text, file.name, folders, notes)
    draft = _draft_of(specs, config, plan.name, place, notes)
    if not wanted.run_python and draft.components:
        notes.read.append("read as text: with --run-python its spouts and bolts would run over their input")
    return draft


def _run_file(plan: Plan, folder: Path, wanted: Wanted, place: Place, notes: Notes) -> Draft | None:
    """Return the draft of a topology file that was run; None if it has to be read as text."""
    try:
        with run_components(plan, folder, wanted) as (outcome, given):
            if "error" in outcome:
                raise RunFailedError(str(outcome["error"]))
            specs = [component_of(item) for item in outcome["components"]]
            draft = _draft_of(specs, outcome["config"], plan.name, place, notes)
            for fault in outcome["faults"]:
                notes.cannot_use(place, "the topology as it stands", str(fault))
            put_outcome(outcome, draft, given)
            return draft
    except RunFailedError as error:
        notes.cannot_use(place, "running the topology", f"{error}: read as text")
    return None


def _topologies(folder: Path) -> list[Path]:
    """Return the topology files of a project's folder."""
    specified = "topologies"
    config = folder / "config.json"
    if config.is_file():
        try:
            loaded = json.loads(read_bounded(config))
            given = loaded.get("topology_specs") if isinstance(loaded, dict) else None
            specified = given if isinstance(given, str) and given.strip("/.") else specified
        except (UserError, ValueError, RecursionError):
            pass
    named = folder / specified
    if not named.is_dir() or not named.resolve().is_relative_to(folder.resolve()):
        return []
    found = sorted(item for item in named.iterdir() if item.suffix in _SUFFIXES and item.is_file())
    return [item for item in found if item.name != "__init__.py"]


def _draft_of(
    specs: Sequence[ComponentSpec], config: Mapping[str, Any], name: str, place: Place, notes: Notes
) -> Draft:
    """Return a draft of declared components with the topology's settings."""
    draft = Draft(FORMAT, name, place, notes, files=[place.file])
    for spec in specs:
        _component(spec, draft, place)
    read_settings(part_of(dict(config), place.file), draft)
    return draft


def _component(spec: ComponentSpec, draft: Draft, place: Place) -> None:
    component = draft.add(spec.name, Place(place.file, spec.line, spec.name), is_spout=spec.is_spout)
    if component is None:
        return
    if not 1 <= spec.par <= MOST_EXECUTORS:
        why = f"{spec.par} is not a whole number from 1 to {MOST_EXECUTORS}"
        draft.notes.cannot_use(component.place, f"par of {spec.name}", why)
    else:
        component.executors = spec.par
    component.declared = spec.outputs_known
    component.streams = {stream: DraftStream(fields=tuple(names)) for stream, names in spec.outputs.items()}
    for item in spec.inputs:
        kind = grouping_of(item.grouping, draft.notes, component.place)
        read = DraftInput(item.component, component.place, item.stream, kind, tuple(item.fields))
        component.inputs.append(read)
    config = Part(part_of(dict(spec.config), place.file).value, component.place)
    read_own_settings(config, component, draft)
    # Some bolts have timers of their own.
    component.tick_s = spec.tick_s
