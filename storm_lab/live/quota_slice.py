"""How finely Linux hands a group's CPU quota out to the cores: in slices, which are the machine's.

A core takes a whole slice of a quota for itself (5 ms unless somebody has changed it). Where that is nearly
all of a period's quota, one core runs and the threads on the others stand still until the next period, with
work to do; no machine that is smaller does that. So while a cluster's hosts are held by quotas the slices
are small. Whoever makes them so writes down what they were, and the end of that cluster sets them back.
"""

from __future__ import annotations

from pathlib import Path

SLICE_US = 500
"""A tenth of the smallest quota of the live suite."""

FILE = Path("/proc/sys/kernel/sched_cfs_bandwidth_slice_us")


def slice_us(file: Path = FILE) -> int | None:
    """The machine's slices; None where the kernel does not tell."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def set_slice(us: int, file: Path = FILE) -> bool:
    """Make the machine's slices so long; False where this process may not."""
    try:
        file.write_text(f"{us}\n", encoding="ascii")
    except OSError:
        return False
    return True
