"""The slices in which Linux hands a group's CPU quota out to the cores; their length is set machine-wide.

A core takes a complete slice of a quota at a time (5 ms by default). If that is nearly all of a period's
quota, one core runs, and threads with work on the other cores stand still until the next period. No smaller
machine behaves like this. The slices are therefore short while a cluster's hosts run under quotas. The
cluster's record keeps their former length, which is restored when the cluster ends.
"""

from __future__ import annotations

from pathlib import Path

SLICE_US = 500
"""A tenth of the smallest quota of the live suite."""

FILE = Path("/proc/sys/kernel/sched_cfs_bandwidth_slice_us")


def slice_us(file: Path = FILE) -> int | None:
    """Return the machine's slice length; None if the kernel does not report it."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def set_slice(us: int, file: Path = FILE) -> bool:
    """Set the machine's slice length; returns False if this process may not."""
    try:
        file.write_text(f"{us}\n", encoding="ascii")
    except OSError:
        return False
    return True
