"""Where code comes from, and the data files that it names.

A module comes from the package, a user's file, an installed library, or only from memory. Data files affect
what code does just as its constants do, so they count as well.
"""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_DATA_FILE = re.compile(
    r"[\w-]+(\.[\w-]+)*\.(json|ya?ml|toml|ini|cfg|c|csv|txt|npy|npz|pkl|parquet|j2|css|js)\b"
)


class Origin(Enum):
    """Where code comes from."""

    SOURCE = "the package or a file of a reader's"
    LIBRARY = "an installed distribution, or Python's own"
    MEMORY = "a notebook or an interactive session"


def origin(module: str) -> Origin:
    """Return where the module of that name comes from."""
    first = module.split(".")[0]
    if first == "storm_lab":
        return Origin.SOURCE
    if first == "__main__" or not first:
        return Origin.MEMORY
    if first in sys.stdlib_module_names:
        return Origin.LIBRARY
    file = module_file(module)
    if file is None:
        return Origin.MEMORY
    if libraries() & {file.parent, *file.parents}:
        return Origin.LIBRARY
    return Origin.SOURCE if file.suffix == ".py" else Origin.LIBRARY


def source_file(module: str) -> Path | None:
    """Return the Python file that a module was, or would be, imported from; None if there is none."""
    file = None if module == "__main__" else module_file(module)
    return file if file is not None and file.suffix == ".py" and file.is_file() else None


def module_file(module: str) -> Path | None:
    """Return the file that a module was, or would be, imported from; None if there is none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if module not in sys.modules:
        with suppress(ImportError, ValueError):
            spec = find_spec(module)
            file = spec.origin if spec is not None and spec.has_location else None
    return Path(file).resolve() if file else None


@cache
def libraries() -> frozenset[Path]:
    """Return the folders of installed packages, where the files beside a module are not the user's own."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    return frozenset(Path(sysconfig.get_path(kind)).resolve() for kind in kinds)


@cache
def _data_folders(folder: Path) -> tuple[Path, ...]:
    """Return a folder of modules and those of its subfolders that contain no modules."""
    inside = (path for path in sorted(folder.iterdir()) if path.is_dir() and path.name != "__pycache__")
    return (folder, *(path for path in inside if not any(path.glob("*.py"))))


def data_files(place: Path, text: str) -> Iterator[str]:
    """Yield name and digest of each data file called ``text`` that belongs to the modules in a folder.

    A template adds the files that it includes.
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
