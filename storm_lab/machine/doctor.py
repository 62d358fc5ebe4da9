"""Check what the machine has and what is wrong with it; no check changes anything or raises."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import click
from packaging.requirements import InvalidRequirement, Requirement

from storm_lab.errors import UserError
from storm_lab.machine.facts import installed_version, memory_bytes
from storm_lab.machine.java import NEWEST_TRIED_JAVA, find_java
from storm_lab.machine.options import print_json
from storm_lab.machine.places import checkout, reports_folder, runs_folder, user_cache

Level = Literal["ok", "warn", "fail"]

DISTRIBUTION = "storm-lab"
OLDEST_PYTHON = (3, 11)
LITTLE_DISK = 2.0
"""With less free space in GB, a large experiment may not find room for its tuple logs."""
TOO_LITTLE_DISK = 0.3
"""With less free space in GB, not even a small experiment finds room."""
LITTLE_MEMORY = 3.0
"""With less memory in GB, Spark and the emulator begin to compete for it."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    level: Level
    """`ok`; `warn`: works, but differs from what was tested; `fail`: something will not work."""
    subject: str
    """What was checked, in a word or two."""
    text: str
    """What was found, in one line."""
    remedy: str | None = None
    """What to do about it; None if there is nothing to do."""


def run_checks() -> list[Finding]:
    """Run all checks, in the order in which their subjects come into play."""
    checks: tuple[Callable[[], list[Finding]], ...] = (
        check_python, check_packages, check_lock, check_java, check_spark_environment,
        check_memory, check_disk, check_write_access, check_kernel_cache, check_kernel,
    )  # fmt: skip
    return [finding for check in checks for finding in check()]


def print_findings(findings: Sequence[Finding], as_json: bool) -> None:
    """Print findings for people or for programs; exit with status 1 if something will not work."""
    if as_json:
        rows = [asdict(finding) | {"remedy": finding.remedy or ""} for finding in findings]
        print_json(rows)
    else:
        for finding in findings:
            remedy = f" -> {finding.remedy}" if finding.remedy else ""
            click.echo(f"{finding.level:4}  {finding.subject}: {finding.text}{remedy}")
    if any(finding.level == "fail" for finding in findings):
        sys.exit(1)


def check_python(version: tuple[int, int, int] = sys.version_info[:3]) -> list[Finding]:
    """Check that this Python is new enough."""
    text = f"{'.'.join(map(str, version))} ({sys.executable})"
    if version[:2] < OLDEST_PYTHON:
        return [Finding("fail", "Python", text, "use Python {}.{} or newer".format(*OLDEST_PYTHON))]
    return [Finding("ok", "Python", text)]


def check_packages(requirements: list[str] | None = None) -> list[Finding]:
    """Check that every required package is installed in a version inside its range."""
    if requirements is None:
        try:
            requirements = metadata.requires(DISTRIBUTION) or []
        except metadata.PackageNotFoundError:
            return [Finding("fail", "packages", f"{DISTRIBUTION} is not installed", "run: make venv")]
    wrong: list[str] = []
    count = 0
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        count += 1
        version = installed_version(requirement.name)
        if version is None:
            wrong.append(f"{requirement.name} is missing")
        elif not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} is {version}, but {requirement.specifier} is required")
    if wrong:
        return [Finding("fail", "packages", text, "run: make venv") for text in wrong]
    return [Finding("ok", "packages", f"{count} installed, all in their required ranges")]


def check_lock(lock: Path | None = None) -> list[Finding]:
    """Check that the versions are those of the lock file, with which the committed results were made."""
    root = checkout()
    path = lock or (root / "requirements.lock" if root else None)
    if path is None or not path.is_file():
        return [Finding("ok", "lock", "none beside the package; versions are those of the ranges")]
    different: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue  # a comment or an empty line
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        version = installed_version(requirement.name)
        if version is None:
            different.append(f"{requirement.name} missing")
        elif not requirement.specifier.contains(version, prereleases=True):
            different.append(f"{requirement.name} {version} for {str(requirement.specifier).lstrip('=')}")
    if different:
        shown = ", ".join(different[:5]) + (f" and {len(different) - 5} more" if len(different) > 5 else "")
        remedy = "fine for use; for the exact versions run: make venv"
        return [Finding("warn", "lock", f"{len(different)} packages differ: {shown}", remedy)]
    return [Finding("ok", "lock", "all versions are those of requirements.lock")]


def check_java() -> list[Finding]:
    """Find the Java that PySpark will run on, and those that were passed over."""
    try:
        runtime = find_java()
    except UserError as error:
        return [Finding("fail", "Java", error.message, error.remedy)]
    notes = [
        Finding("warn", "Java", note, "set JAVA_HOME to the Java that is meant") for note in runtime.notes
    ]
    shim = ", through a shim" if runtime.shimmed else ""
    text = f"{runtime.version} from {runtime.source} ({runtime.home}{shim})"
    if runtime.major > NEWEST_TRIED_JAVA:
        remedy = f"if Spark does not start, set JAVA_HOME to a Java 17 to {NEWEST_TRIED_JAVA}"
        return [*notes, Finding("warn", "Java", f"{text}, newer than any that was tried", remedy)]
    return [*notes, Finding("ok", "Java", text)]


def check_spark_environment(env: Mapping[str, str] = os.environ) -> list[Finding]:
    """Check that settings of another Spark on this machine do not interfere."""
    found = []
    if home := env.get("SPARK_HOME"):
        text = f"SPARK_HOME leads to {home}, which is used instead of the installed PySpark"
        found.append(Finding("warn", "Spark", text, "unset SPARK_HOME"))
    if (remote := env.get("SPARK_REMOTE")) and not env.get("STORM_LAB_SPARK_REMOTE"):
        text = f"SPARK_REMOTE is {remote}, with which no session starts"
        found.append(Finding("fail", "Spark", text, "unset it, or set STORM_LAB_SPARK_REMOTE"))
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        if env.get(name) and not _same_file(env[name], sys.executable):
            text = f"{name} is {env[name]}, another Python than this one"
            found.append(Finding("warn", "Spark", text, f"unset {name}"))
    return found or [Finding("ok", "Spark", "no settings of another Spark in the way")]


def check_memory() -> list[Finding]:
    """Check how much memory the machine has, in GB of 10^9 bytes."""
    try:
        total = memory_bytes() / 1e9
    except (ValueError, OSError):
        return [Finding("ok", "memory", "cannot be determined on this system")]
    if total < LITTLE_MEMORY:
        return [Finding("warn", "memory", f"{total:.1f} GB", "close other programs before large experiments")]
    return [Finding("ok", "memory", f"{total:.1f} GB")]


def check_disk(folder: Path | None = None) -> list[Finding]:
    """Check how much disk space is free for runs."""
    place = _existing(folder or runs_folder())
    free = shutil.disk_usage(place).free / 1e9
    text = f"{free:.1f} GB free at {place}"
    if free < TOO_LITTLE_DISK:
        return [Finding("fail", "disk", text, "free some space")]
    if free < LITTLE_DISK:
        return [Finding("warn", "disk", text, "free some space before large experiments")]
    return [Finding("ok", "disk", text)]


def check_write_access(folders: list[Path] | None = None) -> list[Finding]:
    """Check that runs, reports and temporary files can be written."""
    places = [runs_folder(), reports_folder(), Path(tempfile.gettempdir())] if folders is None else folders
    found = []
    for folder in places:
        place = _existing(folder)
        try:
            # Access bits do not show a full quota or a disk mounted read-only.
            with tempfile.TemporaryFile(dir=place):
                pass
        except OSError as error:
            text = f"{folder} cannot be written to ({error.strerror})"
            found.append(Finding("fail", "write access", text, "make the folder writable for this user"))
    return found or [Finding("ok", "write access", "runs, reports and temporary files can be written")]


def check_kernel_cache(env: Mapping[str, str] = os.environ) -> list[Finding]:
    """Check that compiled kernels are cached, so that only the first run pays for compiling them."""
    if env.get("NUMBA_DISABLE_JIT", "") not in ("", "0"):
        text = "NUMBA_DISABLE_JIT is set: the emulator gives the same bytes, but many times slower"
        return [Finding("warn", "numba", text, "unset NUMBA_DISABLE_JIT")]
    try:
        folder = user_cache(env)
    except UserError as error:
        return [Finding("fail", "numba", error.message, error.remedy)]
    if os.access(_existing(folder), os.W_OK):
        return [Finding("ok", "numba", f"compiled kernels are kept in {folder}")]
    text = f"{folder}, where compiled kernels are kept, cannot be written to"
    return [Finding("fail", "numba", text, "set XDG_CACHE_HOME to a folder of your own")]


def check_kernel() -> list[Finding]:
    """Check that notebooks run in this Python."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return [Finding("fail", "notebooks", "jupyter_client is missing", "run: make venv")]
    try:
        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except (NoSuchKernel, IndexError):
        return [Finding("fail", "notebooks", "there is no kernel named python3", "run: make venv")]
    except (RuntimeError, OSError) as error:
        text = "Jupyter finds no home folder of this user"
        if isinstance(error, OSError):
            text = f"Jupyter cannot use {error.filename} ({error.strerror})"
        return [Finding("fail", "notebooks", text, "set HOME to a folder that you may write to")]
    # Jupyter itself replaces a bare name by the running Python.
    if Path(program).name == program or _same_file(program, sys.executable):
        return [Finding("ok", "notebooks", "kernel python3 is this Python")]
    text = f"kernel python3 is {program}, another Python than this one"
    return [Finding("warn", "notebooks", text, "remove it: jupyter kernelspec remove python3")]


def _same_file(one: str, other: str) -> bool:
    # Links are not resolved: the Python of a virtual environment is a link to another Python.
    found = shutil.which(one)
    return found is not None and os.path.normpath(found) == os.path.normpath(other)


def _existing(folder: Path) -> Path:
    """Return the folder or its nearest existing parent, which must be writable to create the folder."""
    return next(place for place in (folder, *folder.parents) if place.exists())
