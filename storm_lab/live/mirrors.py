"""Where jars come from, as Maven's settings have it, for the resolver that does not read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

SPARK_VARIABLE = "DEFAULT_ARTIFACT_REPOSITORY"
"""Environment variable that Spark's own resolver takes the place of Maven Central from."""

_CENTRAL = "central"
_WILD = ("*", "external:*")
_ENVIRONMENT = re.compile(r"\$\{env\.(\w+)\}")


def central_of(environ: Mapping[str, str], settings: Path | None = None) -> str | None:
    """Address to fetch jars from: Spark's variable, else a mirror or repository of Maven's settings.

    Args:
        environ: environment to look into.
        settings: Maven's settings; the user's own if None.

    Returns:
        None where neither names one: then the resolver's own default counts.
    """
    if named := environ.get(SPARK_VARIABLE):
        return named
    root = _read(settings)
    if root is None:
        return None
    return _mirror(root, environ) or _repository(root, environ)


def local_repository(environ: Mapping[str, str], settings: Path | None = None) -> Path:
    """Maven's folder of jars that were fetched before."""
    root = _read(settings)
    named = "" if root is None else _text(root, "{*}localRepository", environ)
    named = named.replace("${user.home}", str(Path.home()))
    return Path(named) if named else Path.home() / ".m2" / "repository"


def _read(settings: Path | None) -> ElementTree.Element | None:
    try:
        return ElementTree.parse(settings or Path.home() / ".m2" / "settings.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return None


def _mirror(root: ElementTree.Element, environ: Mapping[str, str]) -> str | None:
    """The mirror of central; as with Maven, one that names it counts before one for everything."""
    mirrors = [
        (
            [name.strip() for name in mirror.findtext("{*}mirrorOf", "").split(",")],
            _text(mirror, "{*}url", environ),
        )
        for mirror in root.iterfind(".//{*}mirror")
    ]
    mirrors = [(covered, url) for covered, url in mirrors if url]
    named = [url for covered, url in mirrors if covered == [_CENTRAL]]
    listed = [
        url
        for covered, url in mirrors
        if f"!{_CENTRAL}" not in covered and any(name in (*_WILD, _CENTRAL) for name in covered)
    ]
    return next(iter([*named, *listed]), None)


def _repository(root: ElementTree.Element, environ: Mapping[str, str]) -> str | None:
    """What an active profile puts in the place of central."""
    active = {(each.text or "").strip() for each in root.iterfind(".//{*}activeProfile")}
    for profile in root.iterfind(".//{*}profile"):
        by_default = profile.findtext("{*}activation/{*}activeByDefault", "").strip() == "true"
        if not by_default and profile.findtext("{*}id", "").strip() not in active:
            continue
        for repository in profile.iterfind("{*}repositories/{*}repository"):
            if repository.findtext("{*}id", "").strip() == _CENTRAL:
                return _text(repository, "{*}url", environ) or None
    return None


def _text(parent: ElementTree.Element, path: str, environ: Mapping[str, str]) -> str:
    text = parent.findtext(path, "").strip()
    return _ENVIRONMENT.sub(lambda found: environ.get(found[1], found[0]), text)
