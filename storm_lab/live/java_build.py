"""Small jars from Java sources of this package, compiled at first use.

The compiler is Eclipse's, a jar from Maven Central that runs on a plain Java runtime. What is compiled is
kept in the user's cache under a digest of all that went into it. Same sources, same compiler: same bytes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.jars import Say, cache_folder, drafting, fetch_jars
from storm_lab.machine.java import find_java
from storm_lab.machine.whole_file import whole_file

COMPILER = "ecj"
"""Lock of the compiler."""

JAVA_LEVEL = "17"
"""Version of Java that the sources are written in, and the class files are for."""

_SECONDS = 300


def build_jar(
    name: str,
    sources: Mapping[str, str],
    class_path: Sequence[Path],
    say: Say,
    *,
    manifest: Mapping[str, str] | None = None,
) -> Path:
    """The jar of some sources, compiled now if the cache does not have it.

    Args:
        name: start of the jar's file name.
        sources: text by path (``stormlab/Control.java``).
        class_path: jars that they are compiled against.
        say: is told what is fetched, if something is.
        manifest: further lines of the jar's manifest.

    Raises:
        StormLabError: the compiler refuses the sources.
        UserError: the compiler cannot be had.
    """
    head = "".join(f"{key}: {value}\r\n" for key, value in sorted((manifest or {}).items()))
    inputs = [JAVA_LEVEL, head, *(path.name for path in class_path)]
    inputs += [part for path in sorted(sources) for part in (path, sources[path])]
    digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]
    jar = cache_folder() / "built" / f"{name}-{digest}.jar"
    if jar.is_file():
        return jar
    (compiler,) = fetch_jars(COMPILER, say)
    with drafting("java") as place:
        for path, source in sources.items():
            file = place / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        classes, nothing = place / "classes", place / "nothing"
        classes.mkdir()
        nothing.mkdir()
        # Some of Storm's jars hold sources, which would be compiled too without a source path.
        options = [f"-{JAVA_LEVEL}", "-nowarn", "-proc:none", "-sourcepath", str(nothing), "-d", str(classes)]
        _compile(compiler, [*options, *(str(place / "src" / path) for path in sorted(sources))], class_path)
        with whole_file(jar) as draft:
            write_jar(draft, classes, head)
    return jar


def write_jar(jar: Path, classes: Path, head: str = "") -> None:
    """Pack a folder of classes so that the same classes give the same bytes."""
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
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise StormLabError(f"the Java sources do not compile: {' '.join(done.stderr.split())[:600]}")
