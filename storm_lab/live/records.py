"""Records of what live clusters make on this machine, so that all of it can be removed again.

Everything is written down before it is made. Each cluster has a folder named by its token of six characters,
and all else that it makes carries the token in its name or environment. The process that started the cluster
locks a file of the folder as long as it lives. The kernel releases the lock even after kill -9, so a later
command can tell that the cluster has no owner any more.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from storm_lab.errors import StormLabError, refused_by_system
from storm_lab.live.cgroups import Group, hierarchies, lift_quotas, members, remove_tree, set_slice
from storm_lab.live.jars import remove_drafts
from storm_lab.live.netns import namespaces_of, remove_namespaces, remove_tries
from storm_lab.live.processes import end_all, marked
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.machine.facts import lines_of
from storm_lab.machine.places import user_state

_RECORD = "record.json"
_OWNER = "owner"
_MAKING_SECONDS = 60.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a cluster."""

    token: str
    version: str
    boot: str
    """The kernel's id of the current boot: after a restart of the machine only files are left."""
    cgroups: tuple[str, ...] = ()
    """Folders of cgroups that belong to the cluster alone."""
    files: tuple[str, ...] = ()
    """Incomplete folders elsewhere, to be removed if they are never finished."""
    quota_slice_us: int | None = None
    """The machine's quota slice before this cluster made it smaller."""
    kept: bool = False
    """Whether it was left running on purpose."""


class Place:
    """The folder of one cluster, and the lock that shows that its owner lives."""

    def __init__(self, folder: Path, record: Record, lock: int | None) -> None:
        self.folder = folder
        self.record = record
        self._lock = lock

    @classmethod
    def make(cls, version: str) -> Place:
        """Make a new cluster's folder, owned by this process; `UserError` if it cannot be written to."""
        root = state_folder()
        token = secrets.token_hex(3)
        # Locked under a hidden name first, so that no other process ever finds it without an owner.
        draft = root / f".{token}"
        with refused_by_system(
            "cannot be written to",
            field="folder for live clusters",
            value=str(root),
            remedy="set XDG_STATE_HOME to a folder of your own",
        ):
            draft.mkdir(parents=True, mode=0o700)
            lock = os.open(draft / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            record = Record(token, version, boot_id())
            _write(draft, record)
            draft.rename(root / token)
        return cls(root / token, record, lock)

    def note(self, **changes: object) -> None:
        """Write down what will be made next, or what has changed."""
        self.record = replace(self.record, **changes)  # type: ignore[arg-type]
        _write(self.folder, self.record)

    def try_own(self) -> bool:
        """Take ownership of the cluster; return False if another living process owns it."""
        if self._lock is not None:
            return True
        try:
            lock = os.open(self.folder / _OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def release(self) -> None:
        """Leave the cluster running, for a later command to end."""
        self.note(kept=True)
        self.disown()

    def remove(self) -> None:
        """Remove the folder with everything in it, and the folders noted elsewhere."""
        for path in (*map(Path, self.record.files), self.folder):
            shutil.rmtree(path, ignore_errors=True)
        self.disown()

    def disown(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def state_folder() -> Path:
    """Return the folder of all clusters' folders: ``storm_lab/live`` in the user's state folder."""
    return user_state() / "live"


def places() -> Iterator[Place]:
    """Yield the folders of all known clusters, in order of their tokens."""
    root = state_folder()
    if not root.is_dir():
        return
    for folder in sorted(root.iterdir()):
        if folder.is_dir() and not _is_being_made(folder):
            yield Place(folder, _read(folder), None)


def boot_id() -> str:
    """Return the kernel's id of the current boot."""
    return next(iter(lines_of(_BOOT)), "unknown")


def _is_being_made(folder: Path) -> bool:
    """Return whether a folder may lack its owner's lock only because it has just been made."""
    try:
        return folder.name.startswith(".") and time.time() - folder.stat().st_mtime < _MAKING_SECONDS
    except OSError:
        return True


def _write(folder: Path, record: Record) -> None:
    write_atomic(folder / _RECORD, json.dumps(asdict(record), indent=1) + "\n")


def _read(folder: Path) -> Record:
    """Read the record of a folder; if its creation was interrupted, only the token is known."""
    token = folder.name.lstrip(".")
    try:
        fields = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        known = {key: value for key, value in fields.items() if key in Record.__slots__}
        lists = {key: tuple(known.get(key, ())) for key in ("cgroups", "files")}
        return Record(**known | lists | {"token": token})
    except (OSError, ValueError, TypeError, KeyError):
        return Record(token, "unknown", boot_id())


def processes_of(record: Record) -> list[int]:
    """Return the ids of all processes of a cluster, found by their mark and by its control groups."""
    return sorted({*marked(record.token), *members(map(Path, record.cgroups))})


def remove_cluster(place: Place) -> None:
    """End a cluster and remove all that it has made; `StormLabError` if something is left: call it again."""
    record = place.record
    if record.boot == boot_id():
        left: list[str] = []
        groups = {*map(Path, record.cgroups), *Group.of_cluster(record.token, hierarchies()).folders}
        for folder in groups:
            lift_quotas(folder)
        if pids := end_all(lambda: processes_of(record)):
            left.append(f"processes {', '.join(map(str, pids))}")
        remove_namespaces(namespaces_of(record.token))
        left += [f"network namespace {name}" for name in namespaces_of(record.token)]
        left += [f"control group {folder}" for folder in sorted(groups) if not remove_tree(folder)]
        if record.quota_slice_us is not None and not set_slice(record.quota_slice_us):
            left.append(f"the slice of CPU quotas, which was {record.quota_slice_us} us")
        if left:
            words = "; ".join(left)
            raise StormLabError(f"cluster {record.token} could not be removed completely; left: {words}")
    place.remove()


def remove_orphans(*, kept_too: bool = False) -> list[Record]:
    """End clusters without an owner and return them; with `kept_too` also those left running on purpose."""
    remove_tries()
    remove_drafts()
    removed = []
    for place in places():
        kept = place.record.kept and place.record.boot == boot_id()
        if (kept_too or not kept) and place.try_own():
            remove_cluster(place)
            removed.append(place.record)
    return removed
