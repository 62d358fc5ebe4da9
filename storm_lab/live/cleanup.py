"""End a cluster: its processes, namespaces, control groups and files, and nothing else."""

from __future__ import annotations

from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.cgroups import GroupTree, hierarchies, members, remove_tree, unleash
from storm_lab.live.jars import remove_drafts
from storm_lab.live.netns import namespaces_of, remove_namespaces, remove_tries
from storm_lab.live.processes import end_all, marked
from storm_lab.live.records import Place, Record, boot_id, places


def processes_of(record: Record) -> list[int]:
    """Ids of all processes of a cluster, by their mark and by its control groups."""
    return sorted({*marked(record.token), *members(map(Path, record.cgroups))})


def remove_cluster(place: Place) -> None:
    """End all processes of a cluster, and remove all that it has made.

    Raises:
        StormLabError: something could not be removed; the record stays, for another try.
    """
    record = place.record
    if record.boot == boot_id():
        left: list[str] = []
        groups = {*map(Path, record.cgroups), *GroupTree(record.token, hierarchies()).folders}
        for folder in groups:
            unleash(folder)
        if pids := end_all(lambda: processes_of(record)):
            left.append(f"processes {', '.join(map(str, pids))}")
        for switch in namespaces_of(record.token)[:1]:
            remove_namespaces(switch)
        left += [f"network namespace {name}" for name in namespaces_of(record.token)]
        left += [f"control group {folder}" for folder in sorted(groups) if not remove_tree(folder)]
        if left:
            raise StormLabError(f"of the cluster {record.token} is left: {'; '.join(left)}")
    place.remove()


def remove_orphans(root: Path | None = None, *, kept_too: bool = False) -> list[Record]:
    """End every cluster that nobody owns any more; what was ended.

    Args:
        root: folder of the clusters; the user's own if None.
        kept_too: also those that were left running on purpose.
    """
    remove_tries()
    remove_drafts()
    removed = []
    for place in places(root):
        kept = place.record.kept and place.record.boot == boot_id()
        if (kept and not kept_too) or place.owned_by_another():
            continue
        remove_cluster(place)
        removed.append(place.record)
    return removed
