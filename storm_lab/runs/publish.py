"""Publishing the results of a study in the reports folder, and whether that has been done.

The stamp of the notebook that they are from is kept in the study's workspace once all of them are published.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.places import reports_folder
from storm_lab.reporting.record import read_verdicts
from storm_lab.runs.study import Study


def publish(study: Study, stamp: str) -> None:
    """Copy a study's results to the reports folder; `UserError` if its notebook left no verdicts.

    ``stamp`` is the notebook's.
    """
    slug, home = study.experiment.slug, reports_folder()
    figures = home / "figures" / slug
    made = study.workspace / "figures" / slug
    if made.is_dir():
        # A killed process may have left its own.
        for leftover in figures.parent.glob(f".{slug}.*.part"):
            shutil.rmtree(leftover, ignore_errors=True)
        new = figures.with_name(f".{slug}.{os.getpid()}.part")
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, new)
        shutil.rmtree(figures, ignore_errors=True)
        new.rename(figures)
    document = study.workspace / "documents" / f"{slug}.json"
    if document.is_file():
        write_atomic(home / "documents" / document.name, document.read_text(encoding="utf-8"))
    verdicts = home / "verdicts" / f"{slug}.json"
    try:
        text = (study.workspace / "verdicts" / verdicts.name).read_text(encoding="utf-8")
        if not _only_code_differs(text, verdicts):
            write_atomic(verdicts, text)
    except FileNotFoundError:
        message = "the notebook left no verdicts for these parameters"
        remedy = "run an experiment in one process at a time, and keep the defaults of its notebook"
        raise UserError(message, field=slug, remedy=remedy) from None
    write_atomic(_published_stamp(study), stamp)


def is_published(study: Study, stamp: str) -> bool:
    """Whether the results of this notebook reached the reports folder, and are still there unchanged."""
    slug, made, home = study.experiment.slug, study.workspace, reports_folder()
    verdicts = Path("verdicts", f"{slug}.json")
    copied = [*made.glob(f"figures/{slug}/*"), *made.glob(f"documents/{slug}.json")]
    try:
        return (
            _published_stamp(study).read_text(encoding="utf-8") == stamp
            and _only_code_differs((made / verdicts).read_text(encoding="utf-8"), home / verdicts)
            and all(filecmp.cmp(file, home / file.relative_to(made), shallow=False) for file in copied)
        )
    except (OSError, ValueError):
        return False


def has_own_verdicts(study: Study) -> bool:
    """Whether the study's workspace has an undamaged verdict file."""
    try:
        read_verdicts(study.workspace / "verdicts" / f"{study.experiment.slug}.json")
    except UserError:
        return False
    return True


def _published_stamp(study: Study) -> Path:
    return study.workspace / "published"


def _only_code_differs(text: str, published: Path) -> bool:
    """Return whether existing verdicts differ only in the digest of the code that measured them."""
    try:
        old = json.loads(published.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(old, dict) and {**old, "code_digest": ""} == {**json.loads(text), "code_digest": ""}
