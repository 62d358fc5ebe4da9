"""Compiles small jars from the Java sources of this package at first use, with Eclipse's compiler.

Compiled jars are kept in the user's cache under a digest of all their inputs. The same sources and compiler
give the same bytes.

One set of sources, written against ``org.apache.storm`` of 2.x, serves all generations of Storm: packages are
renamed, and lines between ``//@ from V`` or ``//@ before V`` and ``//@ end`` are left out where the condition
does not hold. Such blocks can be nested.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.jars import cache_folder, drafting, fetch_jars
from storm_lab.live.processes import run_program
from storm_lab.live.releases import Release
from storm_lab.machine.atomic_file import atomic_file
from storm_lab.machine.java import find_java
from storm_lab.model.version import StormVersion

COMPILER = "ecj"
"""Name of the compiler's lock."""

SUBMIT_CLASS = "stormlab.Submit"

_JAVA_LEVEL = "17"
"""Version of Java of the sources and of the class files."""


_MARK = re.compile(r"\s*//@ (?:(from|before) (\d+)\.(\d+)|(end))\s*$")
_SECONDS = 300


def player_jar(release: Release) -> Path:
    """Return a release's jar that plays traces and asks for schedules, compiled if it is not in the cache.

    Raises `UserError` if the jars of the release or of the compiler are not available, or there is no Java.
    """
    libraries = fetch_jars(release.version)
    sources = {path: adapted_to(text, release) for path, text in read_sources("stormlab").items()}
    return build_jar(f"player-{release.version}", sources, libraries)


def read_sources(package: str) -> dict[str, str]:
    """Read all sources of a Java package of ``live/java``; returns path to text, in order of the paths."""
    folder = Path(__file__).with_name("java")
    found = sorted((folder / package).rglob("*.java"))
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def adapted_to(text: str, release: Release) -> str:
    """Adapt a source to a release: its packages, that of ``JSONValue``, and its blocks of lines.

    Lines that are left out become empty, so that line numbers stay the same. Raises `ValueError` if a block
    has no end, or is closed twice.
    """
    kept: list[str] = []
    holds: list[bool] = []
    for number, line in enumerate(text.splitlines(), 1):
        mark = _MARK.match(line)
        if mark is None:
            kept.append(line if all(holds) else "")
            continue
        kept.append("")
        if mark[4]:
            if not holds:
                raise ValueError(f"line {number}: end without a beginning")
            holds.pop()
        else:
            bound = StormVersion((int(mark[2]), int(mark[3]), 0))
            holds.append((release.storm >= bound) == (mark[1] == "from"))
    if holds:
        raise ValueError("a block has no end")
    text = "\n".join(kept) + "\n"
    return text.replace("org.apache.storm", release.package).replace("net.minidev.json", release.json_package)


def build_jar(
    name: str,
    sources: Mapping[str, str],
    class_path: Sequence[Path],
    *,
    manifest: Mapping[str, str] | None = None,
) -> Path:
    """Return the jar of some sources, compiled if it is not in the cache.

    ``sources`` maps paths (``stormlab/Control.java``) to texts, which are compiled against the jars of
    ``class_path``. The file's name starts with ``name``; ``manifest`` has further lines for the jar's
    manifest. Raises `StormLabError` if the compiler refuses the sources, `UserError` if it is not available.
    """
    head = "".join(f"{key}: {value}\r\n" for key, value in sorted((manifest or {}).items()))
    inputs = [_JAVA_LEVEL, head, *(path.name for path in class_path)]
    inputs += [part for path in sorted(sources) for part in (path, sources[path])]
    digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]
    jar = cache_folder() / "built" / f"{name}-{digest}.jar"
    if jar.is_file():
        return jar
    (compiler,) = fetch_jars(COMPILER)
    with drafting("java") as place:
        for path, source in sources.items():
            file = place / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        classes, nothing = place / "classes", place / "nothing"
        classes.mkdir()
        nothing.mkdir()
        # Without a source path, sources that some of Storm's jars contain would be compiled too.
        folders = ["-sourcepath", str(nothing), "-d", str(classes)]
        files = [str(place / "src" / path) for path in sorted(sources)]
        _compile(compiler, [f"-{_JAVA_LEVEL}", "-nowarn", "-proc:none", *folders, *files], class_path)
        with atomic_file(jar) as draft:
            _write_jar(draft, classes, head)
    return jar


def _write_jar(jar: Path, classes: Path, head: str) -> None:
    """Pack a folder of classes reproducibly: the same classes give the same bytes."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{head}\r\n".encode())
        for file in sorted(path for path in classes.rglob("*") if path.is_file()):
            _add(archive, file.relative_to(classes).as_posix(), file.read_bytes())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, data)


def _compile(compiler: Path, arguments: list[str], class_path: Sequence[Path]) -> None:
    java = find_java().home / "bin" / "java"
    libraries = ["-classpath", os.pathsep.join(map(str, class_path))] if class_path else []
    command = [str(java), "-jar", str(compiler), *libraries, *arguments]
    done = run_program(command, timeout=_SECONDS)
    if done.returncode != 0:
        raise StormLabError(f"the Java sources do not compile: {' '.join(done.stderr.split())[:600]}")
