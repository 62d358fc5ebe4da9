"""Checks what this machine offers for real Storm, before a cluster is started.

Each check covers one thing, leaves nothing behind, and never raises: a problem is reported as a finding.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.live.cgroups import hierarchies
from storm_lab.live.hosts import NIMBUS_PORT, SUPERVISOR_PORT, ZOOKEEPER_PORT
from storm_lab.live.jars import (
    cache_folder,
    central_of,
    is_fetched,
    ivy_jar,
    maven_program,
    ready_jars,
    size_mb,
)
from storm_lab.live.java_build import COMPILER
from storm_lab.live.netns import link_disciplines, why_no_namespaces
from storm_lab.live.processes import NOBODYS_ADDRESS, listens
from storm_lab.live.records import boot_id, places, processes_of, state_folder
from storm_lab.live.releases import RELEASES
from storm_lab.machine.doctor import Finding
from storm_lab.machine.facts import values_of
from storm_lab.machine.java import find_java
from storm_lab.model.cluster import DEFAULT_PORTS

CLUSTER_GB = 1.2
"""Memory of ZooKeeper, Nimbus, two supervisors and two workers of Storm 2.8; measured: 1.1 GB."""

DISK_GB = 1.0
"""All jars take 0.14 GB; the rest is for logs and recorded tuples."""

_REACH_SECONDS = 10.0
_FOR_LIMITS = "run as root to limit the CPU and memory of nodes"


def run_checks() -> list[Finding]:
    """Run all checks, in the order in which a cluster needs their subjects."""
    checks: tuple[Callable[[], list[Finding]], ...] = (
        check_system, check_java, check_resolver, check_jars, check_namespaces, check_groups,
        check_links, check_ports, check_memory, check_disk, check_left,
    )  # fmt: skip
    return [finding for check in checks for finding in check()]


def check_machine(logs: Path | None = None) -> None:
    """Refuse a machine or folders with which no cluster can run; `UserError` names the problem."""
    if sys.platform != "linux":
        raise UserError("real Storm runs on Linux only", field="system", value=sys.platform)
    folders = {"XDG_CACHE_HOME": cache_folder(), "XDG_STATE_HOME": state_folder(), "folder of logs": logs}
    for name, folder in folders.items():
        if folder is not None and re.search(r"[\s:*]", str(folder.absolute())):
            message = "contains a space, colon or star, which Storm's command lines do not allow"
            raise UserError(message, field=name, value=str(folder), remedy="choose another folder")


def check_system() -> list[Finding]:
    """Check that clusters can run on this system, with folders that Storm accepts."""
    try:
        check_machine()
    except UserError as error:
        return [Finding("fail", "system", str(error))]
    return [Finding("ok", "system", f"Linux {platform.release()}")]


def check_java() -> list[Finding]:
    """Check that there is a Java for Storm's daemons."""
    try:
        runtime = find_java()
    except UserError as error:
        return [Finding("fail", "Java", error.message, error.remedy)]
    return [Finding("ok", "Java", f"{runtime.version} ({runtime.home})")]


def check_resolver() -> list[Finding]:
    """Check which program would fetch jars, and whether its repository answers."""
    if all(is_fetched(lock) for lock in (*RELEASES, COMPILER)):
        return [Finding("ok", "resolver", "not needed: all jars are present")]
    if maven := maven_program():
        return [Finding("ok", "resolver", f"Maven ({maven})")]
    ivy = ivy_jar()
    if ivy is None:
        return [Finding("fail", "resolver", "neither Maven nor PySpark's Ivy is installed", "install Maven")]
    where = central_of()
    if where is not None and (fault := why_unreachable(where)) is not None:
        remedy = "connect, or set a mirror in ~/.m2/settings.xml; jars that are already fetched need none"
        return [Finding("fail", "resolver", f"{where} cannot be reached ({fault})", remedy)]
    place = where or "its own default, Maven Central"
    return [Finding("ok", "resolver", f"Ivy ({ivy.name} of PySpark), from {place}")]


def check_jars() -> list[Finding]:
    """Check which releases of Storm are in the cache, and whether their jars are intact."""
    found = []
    for lock in (*RELEASES, COMPILER):
        name = "jar of the compiler" if lock == COMPILER else f"jars of Storm {lock}"
        if not is_fetched(lock):
            found.append(Finding("ok", "jars", f"{name}: not fetched yet ({size_mb(lock):.0f} MB)"))
            continue
        try:
            ready_jars(lock)
        except UserError as error:
            found.append(Finding("fail", "jars", error.message, error.remedy))
        else:
            found.append(Finding("ok", "jars", f"{name}: complete ({size_mb(lock):.0f} MB)"))
    return found


def check_namespaces() -> list[Finding]:
    """Check whether nodes can be network namespaces."""
    why = why_no_namespaces()
    if why is None:
        return [Finding("ok", "hosts", "network namespaces can be created")]
    text = f"no network namespaces: nodes are plain processes on loopback ({why})"
    remedy = "run as root, with iproute2 and util-linux installed, to give nodes links of their own"
    return [Finding("warn", "hosts", text, remedy)]


def check_groups() -> list[Finding]:
    """Check whether nodes can have a CPU quota and a memory limit."""
    if why_no_namespaces() is not None:
        return [Finding("warn", "limits", "none for plain processes on loopback", _FOR_LIMITS)]
    versions = {name: place.version for place in hierarchies() for name in place.controllers}
    limits = {"cpu": "CPU quota", "memory": "memory limit"}
    missing = [what for name, what in limits.items() if name not in versions]
    if missing:
        text = f"no control group for: {', '.join(missing)}"
        return [Finding("warn", "limits", text, _FOR_LIMITS)]
    used = " and ".join(str(version) for version in sorted({versions["cpu"], versions["memory"]}))
    return [Finding("ok", "limits", f"CPU quota and memory limit by control groups of version {used}")]


def check_links() -> list[Finding]:
    """Check whether links can have a latency and a speed."""
    available = link_disciplines()
    if "netem" in available:
        return [Finding("ok", "links", "latency and speed by tc netem")]
    if "tbf" in available:
        text = "speed by tc tbf; no latency, as the kernel has no netem"
        return [Finding("warn", "links", text, "load the kernel's module sch_netem")]
    text = "neither latency nor speed (no tc, or no rights)"
    return [Finding("warn", "links", text, "install iproute2, run as root")]


def check_ports() -> list[Finding]:
    """Check whether the ports that plain processes on loopback need are free."""
    ports = {"ZooKeeper": ZOOKEEPER_PORT, "Nimbus": NIMBUS_PORT, "supervisors": SUPERVISOR_PORT}
    ports["workers"] = DEFAULT_PORTS[0]
    used = {port: name for name, port in ports.items() if listens(os.getpid(), port, NOBODYS_ADDRESS)}
    if used:
        taken = ", ".join(f"{port} ({name})" for port, name in used.items())
        remedy = "end that program, or use network namespaces (--hosts namespaces)"
        return [Finding("warn", "ports", f"another program listens at all addresses on {taken}", remedy)]
    return [Finding("ok", "ports", "free for plain processes on loopback")]


def check_memory(meminfo: Path = Path("/proc/meminfo")) -> list[Finding]:
    """Check whether there is enough memory for a small cluster, in GB of 10^9 bytes."""
    known = values_of(meminfo, "MemAvailable")
    if not known:
        return [Finding("warn", "memory", "free memory is unknown on this system", "Linux is needed")]
    free = int(known[0].split()[0]) * 1024 / 1e9
    text = f"{free:.1f} GB free; a cluster of two nodes takes about {CLUSTER_GB:g}"
    if free > CLUSTER_GB:
        return [Finding("ok", "memory", text)]
    return [Finding("warn", "memory", text, "close programs")]


def check_disk() -> list[Finding]:
    """Check whether there is enough disk space for jars and logs."""
    found = []
    for what, folder in (("jars", cache_folder()), ("clusters", state_folder())):
        place = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(place).free / 1e9
        text = f"{free:.1f} GB free for {what} at {folder}"
        if not place.is_dir() or not os.access(place, os.W_OK):
            remedy = f"make the folder for {what} writable"
            found.append(Finding("fail", "disk", f"{place} cannot be written to", remedy))
        elif free < DISK_GB:
            found.append(Finding("warn", "disk", text, "free some space"))
        else:
            found.append(Finding("ok", "disk", text))
    return found


def check_left() -> list[Finding]:
    """Check whether clusters run or were left behind by killed commands."""
    found = []
    for place in places():
        record = place.record
        name = f"{record.token} (Storm {record.version})"
        if record.kept and record.boot == boot_id() and processes_of(record):
            end = "end it with: storm-lab live down"
            found.append(Finding("ok", "clusters", f"{name} is running", end))
        elif record.kept or place.try_own():
            why = "was left running, but has ended" if record.kept else "was left behind by a killed command"
            found.append(Finding("warn", "clusters", f"{name} {why}", "run: storm-lab live down"))
            if not record.kept:
                place.disown()
        else:
            found.append(Finding("ok", "clusters", f"{record.token} is in use by a running command"))
    return found or [Finding("ok", "clusters", "none")]


def why_unreachable(address: str) -> str | None:
    """Return why a repository of jars does not answer; None if it does."""
    url = f"{address.rstrip('/')}/org/apache/storm/maven-metadata.xml"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=_REACH_SECONDS):
            return None
    except urllib.error.HTTPError:
        return None  # an error status is an answer too
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))
