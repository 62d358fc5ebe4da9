"""What this machine has: cores, memory, and installed packages."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path


def usable_cores() -> int:
    """Number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int:
    """Physical memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def installed_version(name: str) -> str | None:
    """Version of an installed distribution; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def lines_of(file: Path) -> list[str]:
    """Lines of a file in which the kernel states facts; none if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def values_of(file: Path, key: str) -> list[str]:
    """Values after the colons of the lines of such a file that begin with a key."""
    return [line.partition(":")[2].strip() for line in lines_of(file) if line.startswith(key)]
