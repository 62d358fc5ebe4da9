"""The versions of Storm that the live runtime plays, as data.

Which jars a release needs stands in ``locks/<version>.csv``, with SHA-256 and size of each. Left out of them:
rocksdb (73 MB; Nimbus of 2.x keeps its history of metrics there and does without), and what only Storm's web
pages use and Maven Central does not have (ring, compojure and their kin). Storm before 1.0 needs
``carbonite.JavaBridge``, which Maven Central does not have either: a class of this package stands in for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from storm_lab.errors import UserError
from storm_lab.model.version import StormVersion

_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "sun.nio.ch",
)
_ADD_OPENS = tuple(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED)
"""Storm before 2.x reaches into the JDK by reflection, which Java forbids since 16."""

LogSystem = Literal["log4j2", "logback"]


@dataclass(frozen=True, slots=True)
class Release:
    """What starting one version of Storm takes."""

    version: str
    """As Maven Central knows it: ``2.8.3``, ``0.9.2-incubating``. Also the name of the list of its jars."""
    storm: StormVersion
    """The same as the emulator knows it."""
    package: str
    """Root of its Java packages: ``org.apache.storm``, or ``backtype.storm`` before 1.0."""
    zookeeper_main: str
    """Class of the ZooKeeper server among Storm's jars."""
    nimbus_main: str
    supervisor_main: str
    worker_main: str
    """Class of the JVMs that supervisors start."""
    log_system: LogSystem
    java_flags: tuple[str, ...] = ()
    """Further flags of every JVM."""
    nimbus_seeds: bool = True
    """Whether daemons look for Nimbus under ``nimbus.seeds``; else under ``nimbus.host``."""
    offers_resources: bool = True
    """Whether supervisors tell Nimbus their CPU and memory (since 1.0)."""
    needs_carbonite: bool = False
    """Whether a stand-in for ``carbonite.JavaBridge`` joins its class path."""
    needs_agent: bool = False
    """Whether hosts of every kind need the agent (``java/agent``): ZooKeeper's client of 1.2 does."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that this release needs here."""
    worker_library: str | None = None
    """Folder of storm.home that workers take their jars from; None if they inherit the supervisor's."""

    @property
    def generation(self) -> str:
        """First two numbers of the version, for which a user asks: ``2.8``."""
        return ".".join(map(str, self.storm.parts[:2]))


_ZOOKEEPER = "org.apache.zookeeper.server.ZooKeeperServerMain"

RELEASES: dict[str, Release] = {
    release.version: release
    for release in (
        Release(
            version="2.8.3",
            storm=StormVersion((2, 8, 3)),
            package="org.apache.storm",
            zookeeper_main=f"org.apache.storm.shade.{_ZOOKEEPER}",
            nimbus_main="org.apache.storm.daemon.nimbus.Nimbus",
            supervisor_main="org.apache.storm.daemon.supervisor.Supervisor",
            worker_main="org.apache.storm.daemon.worker.Worker",
            log_system="log4j2",
            # No such class: Nimbus notes that it has no store, where rocksdb's missing jar would halt it.
            settings={"storm.metricstore.class": "none"},
            worker_library="lib-worker",
        ),
        Release(
            version="1.2.4",
            storm=StormVersion((1, 2, 4)),
            package="org.apache.storm",
            zookeeper_main=f"org.apache.storm.shade.{_ZOOKEEPER}",
            nimbus_main="org.apache.storm.daemon.nimbus",
            supervisor_main="org.apache.storm.daemon.supervisor.Supervisor",
            worker_main="org.apache.storm.daemon.worker",
            log_system="log4j2",
            java_flags=_ADD_OPENS,
            needs_agent=True,
            worker_library="lib",
        ),
        Release(
            version="0.9.7",
            storm=StormVersion((0, 9, 7)),
            package="backtype.storm",
            zookeeper_main="org.apache.storm.zookeeper.server.ZooKeeperServerMain",
            nimbus_main="backtype.storm.daemon.nimbus",
            supervisor_main="backtype.storm.daemon.supervisor",
            worker_main="backtype.storm.daemon.worker",
            log_system="logback",
            java_flags=_ADD_OPENS,
            nimbus_seeds=False,
            offers_resources=False,
            needs_carbonite=True,
        ),
        Release(
            version="0.9.2-incubating",
            storm=StormVersion((0, 9, 2)),
            package="backtype.storm",
            zookeeper_main=_ZOOKEEPER,
            nimbus_main="backtype.storm.daemon.nimbus",
            supervisor_main="backtype.storm.daemon.supervisor",
            worker_main="backtype.storm.daemon.worker",
            log_system="logback",
            java_flags=_ADD_OPENS,
            nimbus_seeds=False,
            offers_resources=False,
            needs_carbonite=True,
        ),
    )
}
"""Releases by version, newest first."""


def find_release(text: str) -> Release:
    """The release that a user means: ``2.8.3``, ``0.9.2``, or a generation such as ``2.8`` (its newest).

    Raises:
        UserError: none of that name.
    """
    for release in RELEASES.values():
        if text in (release.version, str(release.storm), release.generation):
            return release
    raise UserError(
        "no such version of Storm is played live",
        field="version",
        value=text,
        remedy=f"choose one of {', '.join(RELEASES)}",
    )
