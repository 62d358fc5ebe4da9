"""The versions of Storm that the live runtime plays, as data.

``locks/<version>.csv`` lists the jars that a release needs. Left out are rocksdb (73 MB), in which Nimbus of
2.x keeps its history of metrics and which it can do without, and libraries that only Storm's web pages use
and that Maven Central lacks. It lacks ``carbonite.JavaBridge`` of Storm before 1.0, too: a class of this
package replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from storm_lab.errors import UserError
from storm_lab.model.version import V1_0_0, V2_0_0, StormVersion

_OPENED = (
    "java.lang",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "sun.nio.ch",
)
"""Packages that Storm before 2.x accesses by reflection, which Java forbids by default since 16."""


@dataclass(frozen=True, slots=True)
class Release:
    """What is needed to start one version of Storm."""

    version: str
    """The version on Maven Central: ``2.8.3``, ``0.9.2-incubating``. Also the name of its jars' lock."""
    storm: StormVersion
    """The same version for the emulator."""
    label: str
    """Name of its recorded plays: its generation, or the version if another release has that name."""
    zookeeper_main: str
    """Class of the ZooKeeper server in Storm's jars."""
    needs_agent: bool = False
    """Whether hosts of every kind need the agent (``java/agent``): ZooKeeper's client of 1.2 does."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that this release needs here."""

    @property
    def generation(self) -> str:
        """First two numbers of the version, by which a machine's constants are kept: ``2.8``."""
        return ".".join(map(str, self.storm.parts[:2]))

    @property
    def package(self) -> str:
        """Root of its Java packages."""
        return "org.apache.storm" if self.storm >= V1_0_0 else "backtype.storm"

    def main_class(self, program: Literal["nimbus", "supervisor", "worker"]) -> str:
        """Return the class of a daemon, or of the JVMs that supervisors start.

        Clojure's have the name of a package: all before 1.0, those of Nimbus and workers in 1.2.
        """
        in_java = self.storm >= (V1_0_0 if program == "supervisor" else V2_0_0)
        return f"{self.package}.daemon.{program}{f'.{program.capitalize()}' if in_java else ''}"

    @property
    def json_package(self) -> str:
        """Package of the class ``JSONValue``, with ``parse`` and ``toJSONString``, in its jars."""
        if self.storm >= V2_0_0:
            return "net.minidev.json"
        return "org.apache.storm.shade.org.json.simple" if self.storm >= V1_0_0 else "org.json.simple"

    @property
    def log_system(self) -> Literal["log4j2", "logback"]:
        """Its logging library, also the name of the folder in storm.home for the configuration of logs."""
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
            "2.8.3",
            StormVersion((2, 8, 3)),
            "2.8",
            f"org.apache.storm.shade.{_ZOOKEEPER}",
            # No such class exists, so Nimbus logs that it has no store; without rocksdb's jar the default
            # would halt it.
            settings={"storm.metricstore.class": "none"},
        ),
        Release(
            "1.2.4", StormVersion((1, 2, 4)), "1.2", f"org.apache.storm.shade.{_ZOOKEEPER}", needs_agent=True
        ),
        Release(
            "0.9.7", StormVersion((0, 9, 7)), "0.9.7", "org.apache.storm.zookeeper.server.ZooKeeperServerMain"
        ),
        Release("0.9.2-incubating", StormVersion((0, 9, 2)), "0.9", _ZOOKEEPER),
    )
}
"""Releases by version, newest first."""


def find_release(text: str) -> Release:
    """Return the release of ``2.8.3``, ``0.9.2``, or a label, ``2.8``; `UserError` if there is none."""
    for release in RELEASES.values():
        if text in (release.version, str(release.storm), release.label):
            return release
    remedy = f"choose one of {', '.join(RELEASES)}"
    raise UserError("this version of Storm cannot be run live", field="version", value=text, remedy=remedy)
