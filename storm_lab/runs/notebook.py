"""Notebook templates, and the check whether an executed notebook is still what its template would give."""

from __future__ import annotations

import json
from pathlib import Path

from storm_lab.identity.closure import Root, own_code
from storm_lab.identity.source import imports_of
from storm_lab.machine.places import shipped
from storm_lab.runs.digest import SHOWING, library_digest, text_digest
from storm_lab.tuplelog.manifest import file_sha256

_PAGE: Root = ("storm_lab.reporting.notebook_page", "notebook_page")
"""Named, not imported: the import takes seconds, and most notebooks are current."""


def notebooks_folder() -> Path:
    """Folder of the templates; `UserError` if the installation is incomplete."""
    return shipped("notebooks")


def notebook_digest(template: Path, study_digest: str, *used: Root) -> str:
    """Digest of an executed notebook's text, study, page, and the code that its cells and ``used`` use."""
    text = template.read_text(encoding="utf-8")
    roots = [*_imported(text), *used, _PAGE]
    return text_digest(text, study_digest, own_code().closure(roots).digest, library_digest(SHOWING))


def _imported(notebook: str) -> set[Root]:
    """Modules and names that the cells of a template import."""
    cells = json.loads(notebook)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    # IPython's own lines, such as %matplotlib inline, import nothing.
    lines = [line for line in "\n".join(code).splitlines() if not line.startswith(("%", "!"))]
    return {root for root in imports_of("\n".join(lines)) if root[0].startswith("storm_lab.")}


def is_current(executed: Path, digest: str) -> bool:
    """Return whether the notebook was executed with exactly these inputs and its HTML exists."""
    try:
        found = stamp_of(executed).read_text(encoding="utf-8").split()
        return found == [digest, file_sha256(executed)] and executed.with_suffix(".html").is_file()
    except (OSError, ValueError):
        return False


def stamp_of(executed: Path) -> Path:
    """File beside a notebook with the digest of the inputs that it was made from; not committed.

    It is a separate file, so that notebooks with equal results are equal byte by byte.
    """
    return executed.with_name(f".{executed.stem}.digest")
