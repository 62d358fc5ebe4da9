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
from storm_lab.model.version import V0_9_7, V1_0_0, V2_0_0, StormVersion

_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "sun.nio.ch",
)
"""Storm before 2.x reaches into these by reflection, which Java forbids since 16."""


@dataclass(frozen=True, slots=True)
class Release:
    """What starting one version of Storm takes."""

    version: str
    """As Maven Central knows it: ``2.8.3``, ``0.9.2-incubating``. Also the name of the list of its jars."""
    storm: StormVersion
    """The same as the emulator knows it."""
    zookeeper_main: str
    """Class of the ZooKeeper server among Storm's jars."""
    nimbus_main: str
    supervisor_main: str
    worker_main: str
    """Class of the JVMs that supervisors start."""
    needs_agent: bool = False
    """Whether hosts of every kind need the agent (``java/agent``): ZooKeeper's client of 1.2 does."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that this release needs here."""

    @property
    def generation(self) -> str:
        """First two numbers of the version, for which a user asks: ``2.8``."""
        return ".".join(map(str, self.storm.parts[:2]))

    @property
    def package(self) -> str:
        """Root of its Java packages."""
        return "org.apache.storm" if self.storm >= V1_0_0 else "backtype.storm"

    @property
    def json_package(self) -> str:
        """Where its jars have a class ``JSONValue`` with ``parse`` and ``toJSONString``."""
        if self.storm >= V2_0_0:
            return "net.minidev.json"
        return "org.apache.storm.shade.org.json.simple" if self.storm >= V1_0_0 else "org.json.simple"

    @property
    def log_system(self) -> Literal["log4j2", "logback"]:
        """What it logs with, and the folder of storm.home in which it looks for layouts."""
        return "log4j2" if self.storm >= V1_0_0 else "logback"

    @property
    def java_flags(self) -> tuple[str, ...]:
        """Further flags of every JVM."""
        opened = _OPENED if self.storm < V2_0_0 else ()
        return tuple(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in opened)


_ZOOKEEPER = "org.apache.zookeeper.server.ZooKeeperServerMain"

RELEASES: dict[str, Release] = {
    release.version: release
    for release in (
        Release(
            version="2.8.3",
            storm=StormVersion((2, 8, 3)),
            zookeeper_main=f"org.apache.storm.shade.{_ZOOKEEPER}",
            nimbus_main="org.apache.storm.daemon.nimbus.Nimbus",
            supervisor_main="org.apache.storm.daemon.supervisor.Supervisor",
            worker_main="org.apache.storm.daemon.worker.Worker",
            # No such class: Nimbus notes that it has no store, where rocksdb's missing jar would halt it.
            settings={"storm.metricstore.class": "none"},
        ),
        Release(
            version="1.2.4",
            storm=StormVersion((1, 2, 4)),
            zookeeper_main=f"org.apache.storm.shade.{_ZOOKEEPER}",
            nimbus_main="org.apache.storm.daemon.nimbus",
            supervisor_main="org.apache.storm.daemon.supervisor.Supervisor",
            worker_main="org.apache.storm.daemon.worker",
            needs_agent=True,
        ),
        Release(
            version="0.9.7",
            storm=V0_9_7,
            zookeeper_main="org.apache.storm.zookeeper.server.ZooKeeperServerMain",
            nimbus_main="backtype.storm.daemon.nimbus",
            supervisor_main="backtype.storm.daemon.supervisor",
            worker_main="backtype.storm.daemon.worker",
        ),
        Release(
            version="0.9.2-incubating",
            storm=StormVersion((0, 9, 2)),
            zookeeper_main=_ZOOKEEPER,
            nimbus_main="backtype.storm.daemon.nimbus",
            supervisor_main="backtype.storm.daemon.supervisor",
            worker_main="backtype.storm.daemon.worker",
        ),
    )
}
"""Releases by version, newest first."""


def find_release(text: str) -> Release:
    """The release meant by ``2.8.3``, ``0.9.2`` or a generation, ``2.8`` (its newest); else `UserError`."""
    for release in RELEASES.values():
        if text in (release.version, str(release.storm), release.generation):
            return release
    remedy = f"choose one of {', '.join(RELEASES)}"
    raise UserError("no such version of Storm is played live", field="version", value=text, remedy=remedy)
