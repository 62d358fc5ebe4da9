"""The jar that plays workload traces and asks for schedules, compiled at first use for a release of Storm."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

from storm_lab.live.jars import Say, fetch_jars
from storm_lab.live.java_build import build_jar
from storm_lab.live.java_sources import fitted_sources, json_package_of, read_sources
from storm_lab.live.releases import Release

SUBMIT_CLASS = "stormlab.Submit"
SCHEDULER_CLASS = "stormlab.BridgeScheduler"
SOCKET_KEY = "storm.lab.scheduler.socket"
"""Nimbus's setting that tells the scheduler where to ask (BridgeScheduler.java)."""

_FOLDER = "stormlab"


def player_jar(release: Release, say: Say) -> Path:
    """The jar for a release, compiled now if the cache does not have it.

    Args:
        release: what it is compiled against.
        say: is told what is fetched, if something is.

    Raises:
        UserError: the jars of the release or of the compiler cannot be had, or there is no Java.
    """
    libraries = fetch_jars(release.version, say)
    json_package = json_package_of(_names_in(libraries))
    sources = fitted_sources(read_sources(_FOLDER), release.storm, release.package, json_package)
    return build_jar(f"player-{release.version}", sources, libraries, say)


def _names_in(jars: Iterable[Path]) -> list[str]:
    names: list[str] = []
    for path in jars:
        with zipfile.ZipFile(path) as jar:
            names += jar.namelist()
    return names
