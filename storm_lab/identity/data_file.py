"""Data files that code names: they decide what it does as its constants do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_DATA_FILE = re.compile(r"[\w-]+(\.[\w-]+)*\.(json|ya?ml|c|csv|txt|j2|css)\b")


@cache
def _data_folders(folder: Path) -> tuple[Path, ...]:
    """A folder of modules with those folders inside that hold no modules."""
    inside = (path for path in sorted(folder.iterdir()) if path.is_dir() and path.name != "__pycache__")
    return (folder, *(path for path in inside if not any(path.glob("*.py"))))


def data_files(place: Path, text: str) -> Iterator[str]:
    """Name and digest of the data file of that name that belongs to the modules in a folder.

    A template brings those along that it includes.
    """
    if not _DATA_FILE.fullmatch(text):
        return
    beside = [folder / text for folder in _data_folders(place)]
    waiting, seen = [path for path in beside if path.is_file()], set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            content = path.read_bytes()
            yield f"{path.name} {hashlib.sha256(content).hexdigest()}"
            if path.suffix == ".j2":
                names = (found[0] for found in _DATA_FILE.finditer(content.decode()))
                waiting += [other for name in names if (other := path.with_name(name)).is_file()]
