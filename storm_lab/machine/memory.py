"""How much memory this machine has."""

from __future__ import annotations

import os


def memory_bytes() -> int:
    """Physical memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
