"""One set of Java sources for all generations of Storm: what differs is put right before they are compiled.

The sources are written against ``org.apache.storm`` of 2.x. Packages are renamed, and lines between
``//@ from V`` or ``//@ before V`` and ``//@ end`` are left out where the condition does not hold. Such blocks
may contain others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from storm_lab.model.version import StormVersion

_WRITTEN_PACKAGE = "org.apache.storm"
_WRITTEN_JSON = "net.minidev.json"
JSON_PACKAGES = (
    "net.minidev.json",
    "org.apache.storm.shade.net.minidev.json",
    "org.json.simple",
    "org.apache.storm.shade.org.json.simple",
)
"""Where releases have a class ``JSONValue`` with ``parse`` and ``toJSONString``; the first found counts."""

_MARK = re.compile(r"\s*//@ (?:(from|before) (\d+)\.(\d+)|(end))\s*$")


def source_folder() -> Path:
    """Folder of the package's Java sources."""
    return Path(__file__).with_name("java")


def read_sources(package: str) -> dict[str, str]:
    """All sources of a Java package: path below the folder to text, in order of their names."""
    folder = source_folder()
    found = sorted((folder / package).rglob("*.java"))
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def fitted(text: str, version: StormVersion, package: str, json_package: str) -> str:
    """A source as a release needs it.

    Line numbers stay: what is left out becomes empty lines.

    Args:
        text: the source.
        version: the release.
        package: root of the release's Java packages.
        json_package: where it has ``JSONValue``.

    Raises:
        ValueError: a block is not closed, or closed twice.
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
                raise ValueError(f"line {number}: nothing to end here")
            holds.pop()
        else:
            bound = StormVersion((int(mark[2]), int(mark[3]), 0))
            holds.append((version >= bound) == (mark[1] == "from"))
    if holds:
        raise ValueError("a block has no end")
    whole = "\n".join(kept) + "\n"
    return whole.replace(_WRITTEN_PACKAGE, package).replace(_WRITTEN_JSON, json_package)


def json_package_of(names: Sequence[str]) -> str:
    """Which of `JSON_PACKAGES` the classes of a release offer.

    Args:
        names: file names inside its jars.

    Raises:
        LookupError: none.
    """
    inside = set(names)
    for package in JSON_PACKAGES:
        if package.replace(".", "/") + "/JSONValue.class" in inside:
            return package
    raise LookupError("no jar of the release has a class JSONValue")


def fitted_sources(
    sources: Mapping[str, str], version: StormVersion, package: str, json_package: str
) -> dict[str, str]:
    """All sources as a release needs them."""
    return {path: fitted(text, version, package, json_package) for path, text in sources.items()}
