"""Import a topology: detect the format, call its importer, apply an overlay, and return the result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.model.machines import Machines
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.documents import (
    ABSENT,
    Notes,
    Part,
    Place,
    json_part,
    read_bounded,
    yaml_part,
)
from storm_lab.workloads.importers.draft import Draft
from storm_lab.workloads.importers.finish import finish
from storm_lab.workloads.importers.flux import looks_like_flux, read_flux
from storm_lab.workloads.importers.flux_text import read_properties, substituted
from storm_lab.workloads.importers.imported import Imported
from storm_lab.workloads.importers.loadgen import looks_like_loadgen, read_loadgen
from storm_lab.workloads.importers.machines_file import load_machines
from storm_lab.workloads.importers.plain import Overlay, Wanted, load_overlay, read_plain
from storm_lab.workloads.importers.storm_ui import read_ui
from storm_lab.workloads.importers.streamparse import is_streamparse, read_streamparse
from storm_lab.workloads.importers.ui_pages import fetch_pages, kind_of_page, machines_of, sort_pages

_TEXTS = (".yaml", ".yml", ".flux", ".json")
"""Suffixes of files that are distinguished by their content; streamparse has .py and .clj."""
_MOST_FILES = 2000
PYTHON_S = 60.0
"""Seconds that Python components may run."""
FORMATS = "Flux YAML, storm-loadgen YAML, streamparse, pages of Storm's UI as JSON, storm-lab YAML"


def import_topology(
    *sources: str | Path,
    overlay: str | Path | None = None,
    machines: str | Path | None = None,
    run_python: bool = False,
    python_seconds: float = PYTHON_S,
    environment: Mapping[str, str] | bool = False,
) -> Imported:
    """Read a topology that was written for real Storm.

    Args:
        sources: the file; for Storm's UI any number of saved pages, or its URL; for streamparse the
            project's folder or a topology file in it. A ``.properties`` file given with a Flux file sets its
            variables.
        overlay: a YAML file with rates, costs, sizes and keys that the sources do not state.
        machines: a YAML file of machines, or the name of a paper's cluster.
        run_python: run Python components over their input, bounded in time and memory. Their code runs
            with your rights.
        python_seconds: how long they may run, once they have started.
        environment: values for ``${ENV-NAME}`` in a Flux file; True takes this process's environment.

    Raises:
        UserError: a file cannot be read, has none of the formats, or violates its own.
    """
    notes = Notes()
    laid_over = Overlay() if overlay is None else load_overlay(Path(overlay))
    loaded = None if machines is None else load_machines(machines)
    names = [str(source) for source in sources]
    properties: dict[str, str] = {}
    for name in names:
        if name.endswith(".properties"):
            properties |= read_properties(read_bounded(Path(name)))
    properties |= laid_over.properties
    variables = (dict(os.environ) if environment else None) if isinstance(environment, bool) else environment
    wanted = Wanted(properties, variables, laid_over, run_python, python_seconds)
    draft = _read([name for name in names if not name.endswith(".properties")], wanted, notes)
    loaded = loaded or draft.machines
    _to_reference_clock(draft, laid_over, loaded)
    laid_over.lay_over(draft)
    playable = finish(draft, laid_over.defaults)
    return Imported(
        format=draft.format,
        name=draft.name,
        files=tuple(draft.files),
        playable=playable,
        unusable=tuple(notes.unusable),
        assumed=tuple(notes.assumed) if playable is not None else (),
        read=tuple(notes.read),
        machines=loaded,
    )


def _read(names: Sequence[str], wanted: Wanted, notes: Notes) -> Draft:
    if not names:
        raise UserError("no source is given", field="file", remedy=f"give {FORMATS}")
    if len(names) > _MOST_FILES:
        raise UserError("there are too many sources", field="file", value=len(names))
    if len(names) == 1 and names[0].startswith(("http://", "https://")):
        return _ui(fetch_pages(names[0], notes), [names[0]], notes)
    paths = [Path(name) for name in names]
    if len(paths) == 1 and is_streamparse(paths[0]):
        return read_streamparse(paths[0], wanted, notes)
    if len(paths) == 1 and paths[0].is_dir():
        return _folder(paths[0], notes)
    own = Notes()
    parts = [_part(path, wanted, own) for path in paths]
    if all(map(kind_of_page, parts)):
        return _ui(parts, [path.name for path in paths], notes)
    if len(parts) != 1:
        message = "several files are one topology only if they are pages of Storm's UI"
        remedy = "import one topology at a time"
        raise UserError(message, field="file", value=", ".join(names[:5]), remedy=remedy)
    path, part = paths[0], parts[0]
    is_plain = part.get("storm_lab") is not ABSENT
    if is_plain or looks_like_loadgen(part):
        notes.unusable += own.unusable
        return (read_plain if is_plain else read_loadgen)(part, path, notes)
    if looks_like_flux(part):
        return read_flux(path, wanted, notes)
    message = "is empty" if part.value is None else "is of none of the formats"
    raise UserError(message, field="file", value=str(path), remedy=f"give {FORMATS}")


def _folder(folder: Path, notes: Notes) -> Draft:
    """Read the pages of Storm's UI in a folder; other files in it are ignored."""
    files = sorted(path for path in folder.iterdir() if path.suffix == ".json")[:_MOST_FILES]
    found = [(path, json_part(read_bounded(path), path.name)) for path in files]
    pages = [(path, part) for path, part in found if kind_of_page(part)]
    if not pages:
        message = "is neither a streamparse project (there is no topologies folder) nor one of pages"
        remedy = "give the file of the topology"
        raise UserError(f"{message} of Storm's UI", field="file", value=str(folder), remedy=remedy)
    return _ui([part for _, part in pages], [path.name for path, _ in pages], notes)


def _part(path: Path, wanted: Wanted, notes: Notes) -> Part:
    """Return the document of a file."""
    if path.suffix not in _TEXTS:
        known = ", ".join(_TEXTS)
        message = f"its name does not end in one of {known}, .py, .clj"
        raise UserError(message, field="file", value=str(path), remedy=f"give {FORMATS}")
    text = read_bounded(path)
    if path.suffix == ".json":
        return json_part(text, path.name)
    try:
        return yaml_part(text, path.name, notes)
    except UserError:
        # Flux substitutes variables before it parses; until then their braces may not be valid YAML.
        filled = substituted(text, wanted.properties, wanted.environment, path.name, notes)
        if filled == text:
            raise
        return yaml_part(filled, path.name, notes)


def _ui(parts: Sequence[Part], files: list[str], notes: Notes) -> Draft:
    pages = sort_pages(parts, notes)
    draft = read_ui(pages, Place(files[0]), notes)
    draft.files = files
    draft.machines = machines_of(pages.supervisors, notes)
    return draft


def _to_reference_clock(draft: Draft, overlay: Overlay, machines: Machines | None) -> None:
    """Convert measured costs to the reference clock, from the clock that is stated for their machine."""
    if not draft.measured:
        return
    mhz = overlay.cost_mhz
    if mhz is None and machines is not None and not draft.measured_here:
        mhz = machines.core_mhz
    draft.scale_costs((mhz or REFERENCE_MHZ) / REFERENCE_MHZ)
    given = {name for name, entry in overlay.given.get("components", {}).items() if "cost_us" in entry}
    kept = [item.id for item in draft.components.values() if item.has_cost and item.id not in given]
    if mhz is None and kept:
        what = f"clock behind {draft.measured}"
        why = "give measured_on" if draft.measured_here else "give measured_on, or machines of one clock"
        draft.notes.assume(", ".join(kept[:6]), what, f"{REFERENCE_MHZ:g} MHz of the cost model's cores", why)
