"""The jar that plays workload traces and asks for schedules, compiled at first use for a release of Storm.

The Eclipse compiler does it, which needs no more than a Java runtime. Same sources and jars, same bytes; the
result lies in the cache under a digest of both.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.jars import cache_folder, jars_of, ready_jars
from storm_lab.live.java_sources import fitted_sources, json_package_of, read_sources
from storm_lab.live.releases import Release
from storm_lab.platform.java import find_java

SUBMIT_CLASS = "stormlab.Submit"
CONTROL_CLASS = "stormlab.Control"
SCHEDULER_CLASS = "stormlab.BridgeScheduler"

_PACKAGE = "stormlab"
_COMPILER = "ecj"
_LEVEL = 17
_SECONDS = 300
_DATE = (1980, 1, 1, 0, 0, 0)
_FORMAT = 1


def player_jar(release: Release) -> Path:
    """The jar for a release, compiled first where the cache has none.

    Raises:
        UserError: the jars of the release or of the compiler have not been fetched, or there is no Java.
    """
    sources = read_sources(_PACKAGE)
    place = cache_folder() / "player" / f"{release.version}-{_digest(sources, release)}.jar"
    if not place.is_file():
        content = build_jar(sources, release)
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}-{os.getpid()}")
        draft.write_bytes(content)
        draft.replace(place)
    return place


def build_jar(sources: Mapping[str, str], release: Release) -> bytes:
    """Compile sources for a release and pack the classes.

    Raises:
        UserError: the jars of the release or of the compiler have not been fetched, or there is no Java.
        StormLabError: the sources do not compile.
    """
    libraries = ready_jars(release.version)
    (compiler,) = ready_jars(_COMPILER)
    json_package = json_package_of(_names_in(libraries))
    with tempfile.TemporaryDirectory(prefix="storm-lab-java-") as text:
        folder = Path(text)
        _compile(
            fitted_sources(sources, release.storm, release.package, json_package), compiler, libraries, folder
        )
        return pack(folder / "classes")


def pack(classes: Path) -> bytes:
    """A folder as a jar whose bytes depend on names and contents only."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as jar:
        for path in sorted(classes.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                jar.writestr(entry, path.read_bytes(), compresslevel=9)
    return content.getvalue()


def _compile(sources: Mapping[str, str], compiler: Path, libraries: Sequence[Path], folder: Path) -> None:
    for name in ("source", "classes", "empty"):
        (folder / name).mkdir()
    for path, text in sources.items():
        (folder / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source" / path).write_text(text, encoding="utf-8")
    java = find_java().home / "bin" / "java"
    # Some of Storm's jars contain sources; without an empty source path they would be compiled, too.
    command = [str(java), "-jar", str(compiler), f"-{_LEVEL}", "-encoding", "UTF-8", "-nowarn", "-proc:none"]
    command += ["-sourcepath", str(folder / "empty"), "-classpath", ":".join(map(str, libraries))]
    command += ["-d", str(folder / "classes"), *(str(folder / "source" / path) for path in sources)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise StormLabError(f"the Java sources do not compile:\n{done.stdout}")


def _digest(sources: Mapping[str, str], release: Release) -> str:
    parts = [str(_FORMAT), str(_LEVEL), release.version, release.package]
    parts += [jar.sha256 for lock in (_COMPILER, release.version) for jar in jars_of(lock)]
    parts += [text for pair in sources.items() for text in pair]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _names_in(jars: Iterable[Path]) -> list[str]:
    names: list[str] = []
    for path in jars:
        with zipfile.ZipFile(path) as jar:
            names += jar.namelist()
    return names
