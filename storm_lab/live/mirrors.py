"""Reads from Maven's settings where jars come from, for Ivy, which does not read them itself."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

SPARK_VARIABLE = "DEFAULT_ARTIFACT_REPOSITORY"
"""Environment variable with which Spark's own resolver replaces Maven Central."""

_CENTRAL = "central"
_WILD = ("*", "external:*")
_ENVIRONMENT = re.compile(r"\$\{env\.(\w+)\}")


def central_of() -> str | None:
    """Return the address to fetch jars from, by Spark's variable or the user's Maven settings.

    The settings may name a mirror or a repository. If there is neither variable nor setting, the result is
    None and the resolver's own default applies.
    """
    if named := os.environ.get(SPARK_VARIABLE):
        return named
    settings = _settings()
    return _mirror(settings) or _repository(settings)


def local_repository() -> Path:
    """Return Maven's folder of jars that were fetched before."""
    named = _text(_settings(), "{*}localRepository").replace("${user.home}", str(Path.home()))
    return Path(named) if named else Path.home() / ".m2" / "repository"


def _settings() -> ElementTree.Element:
    """Read Maven's settings; empty if there are none or they cannot be read."""
    try:
        return ElementTree.parse(Path.home() / ".m2" / "settings.xml").getroot()
    except (OSError, ElementTree.ParseError):
        return ElementTree.Element("settings")


def _mirror(settings: ElementTree.Element) -> str | None:
    """Return the mirror of central. As in Maven, one that names it precedes one for all repositories."""
    listed = []
    for mirror in settings.iterfind(".//{*}mirror"):
        covered = [name.strip() for name in mirror.findtext("{*}mirrorOf", "").split(",")]
        url = _text(mirror, "{*}url")
        if url and covered == [_CENTRAL]:
            return url
        if url and f"!{_CENTRAL}" not in covered and any(name in (*_WILD, _CENTRAL) for name in covered):
            listed.append(url)
    return listed[0] if listed else None


def _repository(settings: ElementTree.Element) -> str | None:
    """Return what an active profile uses in place of central."""
    active = {(each.text or "").strip() for each in settings.iterfind(".//{*}activeProfile")}
    for profile in settings.iterfind(".//{*}profile"):
        by_default = profile.findtext("{*}activation/{*}activeByDefault", "").strip() == "true"
        if not by_default and profile.findtext("{*}id", "").strip() not in active:
            continue
        for repository in profile.iterfind("{*}repositories/{*}repository"):
            if repository.findtext("{*}id", "").strip() == _CENTRAL:
                return _text(repository, "{*}url") or None
    return None


def _text(parent: ElementTree.Element, path: str) -> str:
    text = parent.findtext(path, "").strip()
    return _ENVIRONMENT.sub(lambda found: os.environ.get(found[1], found[0]), text)
