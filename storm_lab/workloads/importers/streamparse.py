"""streamparse: a project's topology, read from its source, or by running it over its input.

Without leave to run Python the topology file is read as text: what it declares literally is understood
(`storm_lab.workloads.importers.streamparse_source`). With leave it is run, spouts and bolts and all
(`storm_lab.workloads.multilang`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError
from storm_lab.workloads.importers.clojure_topology import read_clojure
from storm_lab.workloads.importers.documents import read_bounded
from storm_lab.workloads.importers.draft import Draft
from storm_lab.workloads.importers.overlay import Overlay
from storm_lab.workloads.importers.place import Notes, Place
from storm_lab.workloads.importers.python_outcome import put_outcome
from storm_lab.workloads.importers.python_run import RunFailedError, run_python
from storm_lab.workloads.importers.specs import draft_of
from storm_lab.workloads.importers.streamparse_source import read_source
from storm_lab.workloads.multilang.plan import Given, Plan, component_of

_SUFFIXES = (".py", ".clj")


@dataclass(frozen=True, slots=True)
class Project:
    """A topology file in its project: ``root``, and the folders in which modules are looked for."""

    file: Path
    root: Path
    folders: tuple[Path, ...]


def is_streamparse(path: Path) -> bool:
    """Whether a path is a streamparse project or a topology file of one."""
    if path.is_dir():
        return bool(_topologies(path))
    return path.suffix in _SUFFIXES


def find_project(path: Path) -> Project:
    """The topology that a path means: a file, or the only one of a project.

    Raises:
        UserError: the project has several topologies, or there is no such file.
    """
    file = path
    if path.is_dir():
        found = _topologies(path)
        if len(found) > 1:
            raise UserError(
                "the project has several topologies",
                field="file",
                value=str(path),
                remedy="give one of: " + ", ".join(str(item.relative_to(path)) for item in found[:20]),
            )
        file = found[0]
    file = file.resolve()
    root = file.parent.parent if file.parent.name == "topologies" else file.parent
    for folder in list(file.parents)[:4]:
        if (folder / "config.json").is_file() or (folder / "src").is_dir():
            root = folder
            break
    folders = [folder for folder in (root / "src", root, file.parent) if folder.is_dir()]
    return Project(file, root, tuple(dict.fromkeys(folders)))


def read_streamparse(
    path: Path, overlay: Overlay, notes: Notes, *, run: bool, seconds: float
) -> tuple[Draft, list[str]]:
    """The draft of a project's topology, and the files it was read from.

    Raises:
        UserError: there is no such topology, or an overlay names a file that cannot be read.
    """
    project = find_project(path)
    place = Place(project.file.name)
    text = read_bounded(project.file)
    if project.file.suffix == ".clj":
        specs = read_clojure(text, project.file.name, notes)
        draft = draft_of(specs, {}, project.file.stem, place, notes)
        if run and specs:
            plan = Plan(project.file.stem, _names(project), components=specs)
            _run(plan, project, overlay, draft, seconds)
        return draft, [project.file.name]
    if run:
        plan = Plan(project.file.stem, _names(project), topology_file=str(project.file))
        ran = _run_file(plan, project, overlay, place, notes, seconds)
        if ran is not None:
            return ran, [project.file.name]
    specs, config = read_source(text, project.file.name, project.folders, notes)
    draft = draft_of(specs, config, project.file.stem, place, notes)
    if not run and draft.components:
        notes.read.append("read as text: with --run-python its spouts and bolts would run over their input")
    return draft, [project.file.name]


def given_for(overlay: Overlay) -> dict[str, Given]:
    """What an overlay says that matters while Python runs: tasks, rates, and records."""
    found: dict[str, Given] = {}
    for name, entry in overlay.given.get("components", {}).items():
        tasks = entry.get("tasks", entry.get("executors"))
        found[name] = Given(
            tasks=None if tasks is None else int(tasks),
            rate_per_s=overlay.rate(name) or None,
            records=overlay.rows(name),
        )
    return found


def run_components(
    plan: Plan, folder: Path, overlay: Overlay, seconds: float
) -> tuple[Mapping[str, Any], frozenset[str]]:
    """Run a plan with what an overlay gives; returns its outcome and the spouts whose records were given.

    Raises:
        RunFailedError: the process handed back nothing of use.
        UserError: a file of records cannot be read.
    """
    plan.given = given_for(overlay)
    plan.rate_per_s = overlay.defaults.rate_per_s or plan.rate_per_s
    plan.seconds = seconds
    given = frozenset(name for name, item in plan.given.items() if item.records is not None)
    return run_python(plan, folder), given


def _names(project: Project) -> list[str]:
    return [str(folder) for folder in project.folders]


def _run_file(
    plan: Plan, project: Project, overlay: Overlay, place: Place, notes: Notes, seconds: float
) -> Draft | None:
    """The draft of a topology file that was run; None when it has to be read as text."""
    try:
        outcome, given = run_components(plan, project.folders[0], overlay, seconds)
        if "error" in outcome:
            raise RunFailedError(str(outcome["error"]))
        specs = [component_of(item) for item in outcome["components"]]
        draft = draft_of(specs, outcome["config"], plan.name, place, notes)
        for fault in outcome["faults"]:
            notes.cannot_use(place, "the topology as it stands", str(fault))
        put_outcome(outcome, draft, given)
    except RunFailedError as error:
        notes.cannot_use(place, "running the topology", f"{error}: read as text")
        return None
    except (KeyError, TypeError, ValueError, AttributeError):
        notes.cannot_use(place, "running the topology", "what it handed back is damaged: read as text")
        return None
    return draft


def _run(plan: Plan, project: Project, overlay: Overlay, draft: Draft, seconds: float) -> None:
    try:
        outcome, given = run_components(plan, project.folders[0], overlay, seconds)
        put_ticks(outcome, draft)
        put_outcome(outcome, draft, given)
    except RunFailedError as error:
        draft.notes.cannot_use(draft.place, "running the components", str(error))
    except (KeyError, TypeError, ValueError, AttributeError):
        draft.notes.cannot_use(draft.place, "running the components", "what they handed back is damaged")


def put_ticks(outcome: Mapping[str, Any], draft: Draft) -> None:
    """Timers that components turned out to have, once they were made."""
    for item in outcome.get("components", ()):
        component = draft.components.get(item["name"])
        if component is not None and component.tick_s is None and item["tick_s"] is not None:
            component.tick_s = float(item["tick_s"])


def _topologies(folder: Path) -> list[Path]:
    """The topology files of a project's folder."""
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
