"""Write files so that they appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storm_lab.errors import refused_by_system


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; the file written there replaces ``path`` if nothing is raised.

    The folder of ``path`` is created if it does not exist.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file so that no reader ever sees it incomplete; text is encoded as UTF-8."""
    with atomic_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


def check_folder(folder: Path, *, field: str) -> None:
    """Create a folder for results before long work; `UserError` if it cannot be created or written to."""
    with refused_by_system(
        "the results cannot be written",
        field=field,
        value=str(folder),
        remedy="name a folder that you may write to",
    ):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
