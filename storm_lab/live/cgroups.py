"""CPU quotas and memory limits of hosts by the kernel's control groups, of version 1 or 2.

A cluster has one group, ``storm-lab-<token>``, with a group for each host in it. With version 1 there is such
a tree for each controller (cpu, cpuacct, memory), with version 2 one for all. With version 1 a group is made
under that of this process, whose limits then apply to the cluster too.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.facts import lines_of

PERIOD_US = 20_000
"""Default period of quotas: short compared with a window of measurement, long compared with a time slice."""

SLICE_US = 500
"""Slices in which Linux hands a quota out to the cores while hosts run under quotas, machine-wide: a tenth of
the smallest quota of the live suite.

If a slice (5 ms by default) is nearly all of a period's quota, one core takes it, and threads with work on
the others stand still until the next period, as on no smaller machine. The cluster's record keeps the former
length, which is restored when the cluster ends.
"""

_SLICE = Path("/proc/sys/kernel/sched_cfs_bandwidth_slice_us")
_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")
_V1 = ("cpu", "cpuacct", "memory")
_V2 = ("cpu", "memory")
_REMOVE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CpuUse:
    """What a host's processes have used, and how often its quota throttled them."""

    cpu_ns: int
    """CPU time used since the host was made."""
    periods: int
    """Periods of the quota in which there was something to run."""
    throttled: int
    """Those of them in which the quota was used up."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A place where groups can be made, and what they can limit."""

    version: int
    folder: Path
    controllers: frozenset[str]


def hierarchies(mounts: Path = _MOUNTS, own: Path = _OWN) -> tuple[Hierarchy, ...]:
    """Return where this process may make groups, if anywhere. Changes nothing."""
    found: dict[Path, Hierarchy] = {}
    own_paths = _own_paths(own)
    for kind, point, options in _cgroup_mounts(mounts):
        if kind == "cgroup":
            version, names = 1, frozenset(options) & frozenset(_V1)
            path = own_paths.get(next(iter(names), ""), "/")
        else:
            version, path = 2, "/"
            names = frozenset(" ".join(lines_of(point / "cgroup.controllers")).split()) & frozenset(_V2)
        below = point / path.lstrip("/")
        folder = below if below.is_dir() else point
        if names and os.access(folder, os.W_OK):
            found[folder] = Hierarchy(version, folder, names)
    return tuple(found.values())


class Group:
    """The group of a cluster or of a host: for each controller a folder, which may be the same for all."""

    def __init__(self, folders: Mapping[str, Path], version: int) -> None:
        self._folders = dict(folders)
        self._version = version

    @classmethod
    def of_cluster(cls, token: str, places: Iterable[Hierarchy]) -> Group:
        """Return the group of a whole cluster, whether it exists yet or not."""
        found: dict[str, Hierarchy] = {}
        for place in places:
            for controller in place.controllers:
                found.setdefault(controller, place)
        # A mixed machine has some controllers in version 1; those of version 2 are then not used.
        version = min((place.version for place in found.values()), default=2)
        used = {name: place.folder for name, place in found.items() if place.version == version}
        return cls({name: folder / f"storm-lab-{token}" for name, folder in used.items()}, version)

    @property
    def controllers(self) -> frozenset[str]:
        """What can be limited."""
        return frozenset(self._folders)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The group's own folders."""
        return tuple(dict.fromkeys(self._folders.values()))

    @property
    def entrances(self) -> tuple[Path, ...]:
        """Files to which a process writes its id to become a member."""
        return tuple(folder / "cgroup.procs" for folder in self.folders)

    def make(self) -> None:
        """Make the group of a cluster; `OSError` if the kernel does not permit it."""
        for folder in self.folders:
            if self._version == 2:
                _enable_controllers(folder.parent, self._folders)
            folder.mkdir(exist_ok=True)
            if self._version == 2:
                _enable_controllers(folder, self._folders)

    def make_host(self, name: str) -> Group:
        """Make the group of a host in that of its cluster."""
        host = Group({key: folder / name for key, folder in self._folders.items()}, self._version)
        for folder in host.folders:
            folder.mkdir(exist_ok=True)
        return host

    def limit_cpu(self, cores: float, period_us: int = PERIOD_US) -> None:
        """Limit the members' CPU to that of ``cores`` cores in each period; `UserError` if it is refused."""
        quota = max(1000, round(cores * period_us))
        if self._version == 2:
            self._set("cpu.max", f"{quota} {period_us}")
        else:
            self._set("cpu.cfs_period_us", period_us)
            self._set("cpu.cfs_quota_us", quota)

    def weigh(self, weight: int) -> None:
        """Set the CPU weight against the rest of the machine, up to 10,000; other programs have 100."""
        name, value = ("cpu.weight", weight) if self._version == 2 else ("cpu.shares", weight * 1024 // 100)
        self._set(name, value)

    def limit_memory(self, megabytes: float) -> None:
        """Limit the members' memory, in MB of 2^20 bytes, without swapping; `UserError` if it is refused."""
        limit = int(megabytes * 2**20)
        self._set("memory.max" if self._version == 2 else "memory.limit_in_bytes", limit)
        # Kernels that do not account for swap have no such file. In version 1 it is the sum of both.
        swap, most = ("memory.swap.max", 0) if self._version == 2 else ("memory.memsw.limit_in_bytes", limit)
        if (self._folders["memory"] / swap).exists():
            with contextlib.suppress(UserError):
                self._set(swap, most)

    def _set(self, name: str, value: object) -> None:
        """Write to a file, whose name begins with that of its controller; `UserError` if it is refused."""
        file = self._folders[name.partition(".")[0]] / name
        # In version 1 a group may not have more CPU than the container in which this process runs.
        remedy = "give the nodes less, or start outside the container that limits this process"
        with refused_by_system(
            "the kernel refuses this limit", field=str(file), value=str(value), remedy=remedy
        ):
            file.write_text(str(value))

    def cpu_use(self) -> CpuUse:
        """Return what the members have used so far."""
        stat = _numbers(self._folders["cpu"] / "cpu.stat")
        if self._version == 2:
            used = stat.get("usage_usec", 0) * 1000
        else:
            used = int((self._folders.get("cpuacct", self._folders["cpu"]) / "cpuacct.usage").read_text())
        return CpuUse(used, stat.get("nr_periods", 0), stat.get("nr_throttled", 0))

    def memory_kills(self) -> int:
        """Return how many of its processes the kernel has killed for exceeding the memory limit."""
        name = "memory.events" if self._version == 2 else "memory.oom_control"
        return _numbers(self._folders["memory"] / name).get("oom_kill", 0)

    def pids(self) -> list[int]:
        """Return the ids of the member processes."""
        return _pids(self.entrances)


def slice_us(file: Path = _SLICE) -> int | None:
    """Return the machine's slice length; None if the kernel does not report it."""
    lines = lines_of(file)
    return int(lines[0]) if lines else None


def set_slice(us: int, file: Path = _SLICE) -> bool:
    """Set the machine's slice length; returns False if this process may not."""
    try:
        file.write_text(f"{us}\n", encoding="ascii")
    except OSError:
        return False
    return True


def lift_quotas(folder: Path) -> None:
    """Lift the CPU quotas of a group and its subgroups: a process needs CPU even to end."""
    for name, text in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
        for file in folder.rglob(name):
            with contextlib.suppress(OSError):
                file.write_text(text)


def remove_tree(folder: Path) -> bool:
    """Remove a group and its subgroups, whose members have ended; returns False if something is left."""
    end = time.monotonic() + _REMOVE_SECONDS
    while folder.exists():
        inner = sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True)
        for path in (*inner, folder):
            with contextlib.suppress(OSError):
                path.rmdir()
        if time.monotonic() > end:
            return False
        if folder.exists():
            time.sleep(0.02)  # the kernel may still be busy with a process that has just ended
    return True


def members(folders: Iterable[Path]) -> list[int]:
    """Return the ids of all processes in groups and their subgroups."""
    return _pids(file for folder in folders for file in folder.rglob("cgroup.procs"))


def _pids(files: Iterable[Path]) -> list[int]:
    found: set[int] = set()
    for file in files:
        with contextlib.suppress(OSError):
            found.update(map(int, file.read_text().split()))
    return sorted(found)


def _enable_controllers(folder: Path, controllers: Iterable[str]) -> None:
    """Version 2: enable controllers in the subgroups of this group."""
    control = folder / "cgroup.subtree_control"
    enabled = control.read_text().split()
    missing = [f"+{name}" for name in sorted(controllers) if name not in enabled]
    if missing:
        control.write_text(" ".join(missing))


def _cgroup_mounts(mounts: Path) -> list[tuple[str, Path, list[str]]]:
    found = []
    for line in lines_of(mounts):
        left, _, right = line.partition(" - ")
        kind, _, options = right.partition(" ")
        if kind in ("cgroup", "cgroup2"):
            point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), left.split()[4])
            found.append((kind, Path(point), options.split()[-1].split(",")))
    return found


def _own_paths(own: Path) -> dict[str, str]:
    """Return the path of this process's group by controller; that of version 2 under the empty name."""
    fields = (line.split(":", 2) for line in lines_of(own))
    return {name: path for _, names, path in fields for name in names.split(",")}


def _numbers(file: Path) -> dict[str, int]:
    pairs = (line.split() for line in file.read_text().splitlines())
    return {name: int(value) for name, value in pairs}
