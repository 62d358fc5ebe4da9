"""Where Maven Central is, as the user's settings have it, for the resolver that does not read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

CENTRAL = "https://repo.maven.apache.org/maven2"
SPARK_VARIABLE = "DEFAULT_ARTIFACT_REPOSITORY"
"""Environment variable that Spark's own resolver takes Maven Central's place from."""

_COVERS_CENTRAL = ("*", "central", "external:*")


def central_of(environ: Mapping[str, str], settings: Path | None = None) -> str:
    """Address to fetch jars from: Spark's variable, the mirror of Maven's settings, or Maven Central.

    Args:
        environ: environment to look into.
        settings: Maven's settings; the user's own if None.
    """
    named = environ.get(SPARK_VARIABLE)
    if named:
        return named
    return _mirror(settings or Path.home() / ".m2" / "settings.xml") or CENTRAL


def _mirror(settings: Path) -> str | None:
    try:
        root = ElementTree.parse(settings).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    for mirror in root.iterfind(".//{*}mirror"):
        covered = [name.strip() for name in mirror.findtext("{*}mirrorOf", "").split(",")]
        url = mirror.findtext("{*}url", "").strip()
        if url and "!central" not in covered and any(name in _COVERS_CENTRAL for name in covered):
            return url
    return None
