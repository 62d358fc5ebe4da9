"""Checks that a cluster has left nothing behind anywhere on the machine."""

from __future__ import annotations

from pathlib import Path

from storm_lab.live.cgroups import hierarchies, slice_us
from storm_lab.live.netns import namespaces_of
from storm_lab.live.records import Record, places, processes_of, state_folder


def assert_nothing_is_left(record: Record) -> None:
    """Assert that nothing carries a cluster's token any more and that quotas have their former slices."""
    assert processes_of(record) == []
    assert namespaces_of(record.token) == []
    assert groups_of(record.token) == []
    assert record.quota_slice_us in (None, slice_us())
    assert record.token not in [place.record.token for place in places()]
    assert not [path for path in state_folder().glob("*") if record.token in path.name]


def groups_of(token: str) -> list[Path]:
    """Return the existing control groups of a cluster."""
    return [path for place in hierarchies() for path in place.folder.glob(f"storm-lab-{token}")]
