"""What this machine has: memory, and installed packages."""

from __future__ import annotations

import os
from importlib import metadata


def memory_bytes() -> int:
    """Physical memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def installed_version(name: str) -> str | None:
    """The version of an installed distribution; None where it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
