"""Runs Storm's programs as processes on their hosts.

Each host has its own ``storm.home``, because Storm 0.9.2 has no other place for the logs of its workers. Its
libraries are links into the cache.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from storm_lab.errors import StormLabError
from storm_lab.live.conf import storm_yaml, write_log_layouts
from storm_lab.live.hosts import Host
from storm_lab.live.processes import MARK
from storm_lab.live.releases import Release
from storm_lab.model.version import V2_0_0

_DAEMON_FLAGS = ("-server", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
"""Daemons run for minutes and do little, so a cheap start matters more than speed. Never used for workers."""

_NO_TRACE_OUTSIDE = "-XX:-UsePerfData"
"""Without this flag, a JVM that is killed would leave its file of counters in /tmp."""

_JVM_VARIABLES = (
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "STORM_EXT_CLASSPATH",
)
"""Environment variables that would change a JVM unnoticed."""


@dataclass(frozen=True, slots=True)
class Java:
    """The Java and the jars of a cluster."""

    home: Path
    jars: tuple[Path, ...]
    agent: Path | None = None
    """Jar of the agent that makes Storm's servers listen only at their host's address."""

    def flags(self, host: Host) -> list[str]:
        """Return the flags of every JVM on a host, including workers; no flag may contain a space."""
        flags = [_NO_TRACE_OUTSIDE]
        if host.visible_cores is not None:
            flags.append(f"-XX:ActiveProcessorCount={host.visible_cores}")
        if self.agent is not None:
            flags.append(f"-javaagent:{self.agent}={host.address}")
        return flags


@dataclass(slots=True)
class Daemon:
    """A process that was started, and the files of its output."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    log: Path

    def check(self) -> None:
        """Raise `StormLabError` if the process has ended; the message quotes its last output."""
        status = self.process.poll()
        if status is not None:
            how = signal.Signals(-status).name if status < 0 else f"status {status}"
            raise StormLabError(f"{self.name} has ended ({how}): {self.last_words()}")

    def last_words(self) -> str:
        """Return its last output."""
        return last_words(self.output, self.log)


class Installation:
    """``storm.home`` and ``storm.yaml`` of one host, and methods that start programs there."""

    def __init__(
        self, release: Release, java: Java, host: Host, folder: Path, logs: Path, token: str
    ) -> None:
        self._release = release
        self._java = java
        self._host = host
        self.environment = {key: value for key, value in os.environ.items() if key not in _JVM_VARIABLES} | {
            MARK: token,
            "JAVA_HOME": str(java.home),
            "STORM_CONF_DIR": str(folder / "conf"),
        }
        """Environment of all programs on this host."""
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
        if release.storm >= V2_0_0:
            # Workers take their jars from a separate folder.
            (self.home / "lib-worker").symlink_to(library)
        (self.home / "logs").symlink_to(logs)
        write_log_layouts(release, self.home)

    def configure(self, settings: Mapping[str, object]) -> None:
        """Write the host's ``storm.yaml``."""
        (self.conf / "storm.yaml").write_text(storm_yaml(settings), encoding="utf-8")

    def empty_disk(self) -> None:
        """Remove what Storm's daemons keep on the host's disk; none may be running there."""
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
        """Return the command that runs a class of Storm's jars, or of `extra` ones, on this host."""
        class_path = [str(self.home / "lib" / "*"), str(self.conf), *map(str, extra)]
        layout = self.home / self._release.log_system / "cluster.xml"
        log_system = "log4j" if self._release.log_system == "log4j2" else "logback"
        return self._host.command(
            [
                str(self._java.home / "bin" / "java"),
                *_DAEMON_FLAGS,
                *self._java.flags(self._host),
                *self._release.java_flags,
                f"-Dstorm.home={self.home}",
                f"-Dstorm.log.dir={self.logs}",
                f"-Djava.io.tmpdir={self.scratch}",
                f"-Dlogfile.name={name}.log",
                "-Dstorm.conf.file=",
                "-Dstorm.options=",
                f"-D{log_system}.configurationFile={layout}",
                *flags,
                "-cp",
                os.pathsep.join(class_path),
                main,
                *arguments,
            ]
        )

    def start(self, name: str, command: Sequence[str]) -> Daemon:
        """Start a daemon with its output among the logs; `StormLabError` if its program does not exist."""
        output = self.logs / f"{name}.out"
        with output.open("ab") as sink:
            try:
                # In a session of its own, so that Ctrl-C at the terminal does not reach it.
                process = subprocess.Popen(command, **self._popen_options(sink), start_new_session=True)
            except OSError as error:
                raise StormLabError(f"{command[0]} cannot be started: {error.strerror}") from error
        return Daemon(f"{name} on {self._host.name}", process, output, self.logs / f"{name}.log")

    def run(self, name: str, command: Sequence[str], seconds: float, failure: str) -> None:
        """Run a program to its end, for at most ``seconds``; its output goes to a file among the logs.

        Raises:
            StormLabError: it has failed; the message begins with ``failure`` and quotes its last output.
        """
        output = self.logs / f"{name}.out"
        with output.open("wb") as sink:
            try:
                done = subprocess.run(command, **self._popen_options(sink), timeout=seconds, check=False)
            except subprocess.TimeoutExpired as error:
                raise StormLabError(f"{failure}: it took longer than {seconds:g} s") from error
        if done.returncode != 0:
            raise StormLabError(f"{failure}: {last_words(output, self.logs / f'{name}.log')}")

    def _popen_options(self, sink: BinaryIO) -> dict[str, Any]:
        """Return arguments for every program: no input, a file for its output, its environment and folder."""
        output = {"stdout": sink, "stderr": subprocess.STDOUT}
        return {"stdin": subprocess.DEVNULL, **output, "env": self.environment, "cwd": self.scratch}


def last_words(*files: Path) -> str:
    """Return the last line of some logs that reports an error, or else the last line."""
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Exception" in line or "Error" in line or "ERROR" in line]
    messages = [line for line in errors if not line.startswith("\tat ")]
    return " ".join((messages or lines or ["no output"])[-1].split())[:300]
