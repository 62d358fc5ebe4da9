"""ZooKeeper, Nimbus and supervisors as processes on their hosts.

Each host has a ``storm.home`` of its own, as Storm 0.9.2 knows no other place for the logs of its workers.
Its libraries are links into the cache.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.conf import (
    DAEMON_HEAP_MB,
    MASTER_HEAP_MB,
    NIMBUS_PORT,
    ZOOKEEPER_PORT,
    storm_yaml,
    write_log_layouts,
    zookeeper_cfg,
)
from storm_lab.live.hosts import Host
from storm_lab.live.processes import MARK, listens
from storm_lab.live.releases import Release

_DAEMON_FLAGS = ("-server", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
"""Daemons run for minutes and do little: a cheap start counts more than speed. Never for workers."""

NO_TRACE_OUTSIDE = "-XX:-UsePerfData"
"""A JVM that is killed would leave its file of counters in /tmp."""

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Java:
    """The Java and the jars that everything of a cluster runs on."""

    home: Path
    jars: tuple[Path, ...]
    agent: Path | None = None
    """Jar of the agent that makes Storm's servers listen at their host's address only."""

    @property
    def program(self) -> str:
        """The program ``java``."""
        return str(self.home / "bin" / "java")

    def flags(self, host: Host) -> list[str]:
        """What every JVM on a host is told: also the workers, so that no flag may hold a blank."""
        flags = [NO_TRACE_OUTSIDE]
        if host.visible_cores is not None:
            flags.append(f"-XX:ActiveProcessorCount={host.visible_cores}")
        if self.agent is not None:
            flags.append(f"-javaagent:{self.agent}={host.address}")
        return flags


@dataclass(slots=True)
class Daemon:
    """A process that was started, and where its words go."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    log: Path

    def check(self) -> None:
        """Raise if the process has ended.

        Raises:
            StormLabError: it has; the line quotes what it said last.
        """
        status = self.process.poll()
        if status is not None:
            how = signal.Signals(-status).name if status < 0 else f"status {status}"
            raise StormLabError(f"{self.name} has ended ({how}): {last_words(self.output, self.log)}")


class Installation:
    """``storm.home`` and ``storm.yaml`` of one host, and how programs are started there."""

    def __init__(
        self, release: Release, java: Java, host: Host, folder: Path, logs: Path, token: str
    ) -> None:
        self._release = release
        self._java = java
        self._host = host
        self._token = token
        self.home = folder / "home"
        self.conf = folder / "conf"
        self.local = folder / "local"
        self.scratch = folder / "tmp"
        self.logs = logs
        library = self.home / "lib"
        for place in (library, self.conf, self.local, self.scratch, logs):
            place.mkdir(parents=True, exist_ok=True)
        for jar in java.jars:
            (library / jar.name).symlink_to(jar)
        if release.worker_library not in (None, "lib"):
            (self.home / str(release.worker_library)).symlink_to(library)
        (self.home / "logs").symlink_to(logs)
        write_log_layouts(release, self.home)

    def configure(self, settings: Mapping[str, object]) -> None:
        """Write the host's ``storm.yaml``."""
        (self.conf / "storm.yaml").write_text(storm_yaml(settings), encoding="utf-8")

    def empty_disk(self) -> None:
        """Remove what Storm's daemons keep on the host's disk; none may run there."""
        shutil.rmtree(self.local, ignore_errors=True)
        self.local.mkdir()

    def java(
        self,
        name: str,
        main: str,
        arguments: Sequence[str] = (),
        *,
        flags: Sequence[str] = (),
        extra: Sequence[Path] = (),
    ) -> list[str]:
        """The command that runs a class of Storm's jars, or of `extra` ones, on this host."""
        class_path = [str(self.home / "lib" / "*"), str(self.conf), *map(str, extra)]
        layout = self.home / self._release.log_system / "cluster.xml"
        key = (
            "log4j.configurationFile" if self._release.log_system == "log4j2" else "logback.configurationFile"
        )
        return self._host.command(
            [
                self._java.program,
                *_DAEMON_FLAGS,
                *self._java.flags(self._host),
                *self._release.java_flags,
                f"-Dstorm.home={self.home}",
                f"-Dstorm.log.dir={self.logs}",
                f"-Djava.io.tmpdir={self.scratch}",
                f"-Dlogfile.name={name}.log",
                "-Dstorm.conf.file=",
                "-Dstorm.options=",
                f"-D{key}={layout}",
                *flags,
                "-cp",
                os.pathsep.join(class_path),
                main,
                *arguments,
            ]
        )

    def start(self, name: str, command: Sequence[str]) -> Daemon:
        """Start a daemon; its output goes to a file among the logs.

        Raises:
            StormLabError: the program is not there.
        """
        output = self.logs / f"{name}.out"
        with output.open("ab") as sink:
            try:
                # In a session of its own: Ctrl-C at the terminal is ours to handle.
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=self.environment(),
                    cwd=self.scratch,
                    start_new_session=True,
                )
            except OSError as error:
                raise StormLabError(f"{command[0]} does not start: {error.strerror}") from error
        return Daemon(f"{name} on {self._host.name}", process, output, self.logs / f"{name}.log")

    def run(self, name: str, command: Sequence[str], seconds: float, failure: str) -> None:
        """Run a program to its end.

        Args:
            name: of the files among the logs that its words go to.
            command: the program, as `java` gives it.
            seconds: how long it may take.
            failure: what to say when it fails.

        Raises:
            StormLabError: it has failed; the line quotes what it said last.
        """
        output = self.logs / f"{name}.out"
        with output.open("wb") as sink:
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=self.environment(),
                    cwd=self.scratch,
                    timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise StormLabError(f"{failure}: it took longer than {seconds:g} s") from error
        if done.returncode != 0:
            raise StormLabError(f"{failure}: {last_words(output, self.logs / f'{name}.log')}")

    def environment(self) -> dict[str, str]:
        """Environment of everything that runs on this host."""
        return marked_environment(self._token) | {
            "JAVA_HOME": str(self._java.home),
            "STORM_CONF_DIR": str(self.conf),
        }


def marked_environment(token: str) -> dict[str, str]:
    """This process's environment with the cluster's mark, without what would change a JVM behind our back."""
    meddlers = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "STORM_EXT_CLASSPATH")
    return {key: value for key, value in os.environ.items() if key not in meddlers} | {MARK: token}


def start_zookeeper(place: Installation, release: Release, address: str) -> Daemon:
    """Start the ZooKeeper that comes with Storm."""
    data = place.local / "zookeeper"
    data.mkdir()
    (place.conf / "zoo.cfg").write_text(zookeeper_cfg(address, data), encoding="utf-8")
    # Its page of administration, and its beans that look for an old log4j, are not wanted.
    flags = [
        f"-Xmx{DAEMON_HEAP_MB}m",
        "-Dzookeeper.admin.enableServer=false",
        "-Dzookeeper.jmx.log4j.disable=true",
    ]
    command = place.java("zookeeper", release.zookeeper_main, [str(place.conf / "zoo.cfg")], flags=flags)
    return place.start("zookeeper", command)


def start_nimbus(place: Installation, release: Release, extra: Sequence[Path]) -> Daemon:
    """Start Nimbus, with the jar of a scheduler on its class path."""
    flags = [f"-Xmx{MASTER_HEAP_MB}m"]
    return place.start("nimbus", place.java("nimbus", release.nimbus_main, flags=flags, extra=extra))


def start_supervisor(place: Installation, release: Release) -> Daemon:
    """Start a node's supervisor."""
    flags = [f"-Xmx{DAEMON_HEAP_MB}m"]
    return place.start("supervisor", place.java("supervisor", release.supervisor_main, flags=flags))


def wait_for(what: str, true: Callable[[], bool], daemons: Sequence[Daemon], seconds: float) -> None:
    """Wait until something is true.

    Raises:
        StormLabError: a daemon has ended meanwhile, or it has taken too long.
    """
    end = time.monotonic() + seconds
    while not true():
        for daemon in daemons:
            daemon.check()
        if time.monotonic() > end:
            words = "; ".join(f"{daemon.name}: {last_words(daemon.output, daemon.log)}" for daemon in daemons)
            raise StormLabError(f"{what} took longer than {seconds:g} s; {words}")
        time.sleep(_POLL_SECONDS)


def zookeeper_listens(daemon: Daemon, address: str) -> bool:
    """Whether ZooKeeper takes connections."""
    return listens(daemon.process.pid, ZOOKEEPER_PORT, address)


def nimbus_listens(daemon: Daemon, address: str) -> bool:
    """Whether Nimbus takes connections."""
    return listens(daemon.process.pid, NIMBUS_PORT, address)


def last_words(*files: Path) -> str:
    """The last line that tells of a fault in some logs, else the last line."""
    lines: list[str] = []
    for file in files:
        try:
            lines += [
                line
                for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
                if line.strip()
            ]
        except OSError:
            continue
    telling = [line for line in lines if "Exception" in line or "Error" in line or "ERROR" in line]
    told = [line for line in telling if not line.startswith("\tat ")]
    return " ".join((told or lines or ["it has said nothing"])[-1].split())[:300]
