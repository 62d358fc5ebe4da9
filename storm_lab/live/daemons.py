"""Runs Storm's programs as processes on their hosts, with the files that they read.

Each host has its own ``storm.home``, because Storm 0.9.2 has no other place for the logs of its workers. Its
libraries are links into the cache.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from storm_lab.errors import StormLabError
from storm_lab.live.hosts import NIMBUS_PORT, SUPERVISOR_PORT, ZOOKEEPER_PORT, Host
from storm_lab.live.processes import MARK
from storm_lab.live.releases import Release
from storm_lab.model.cluster import Node
from storm_lab.model.version import V1_0_0, V2_0_0

MASTER_HEAP_MB = 256
DAEMON_HEAP_MB = 128
"""Heaps of Nimbus, and of ZooKeeper and each supervisor; clusters of this size have 30 to 60 MB live."""


def common_settings(release: Release, master: str, settings: Mapping[str, object]) -> dict[str, object]:
    """Return the common keys of every ``storm.yaml`` of a cluster; `settings` take precedence."""
    flags = " ".join(release.java_flags)
    # Since 1.0 the supervisor computes the heap from the requests of the worker's executors.
    heap = "%HEAP-MEM%" if release.storm >= V1_0_0 else "768"
    found: dict[str, object] = {
        "storm.zookeeper.servers": [master],
        "storm.zookeeper.port": ZOOKEEPER_PORT,
        "nimbus.thrift.port": NIMBUS_PORT,
        # Storm's default has flags for garbage collection logs that Java no longer accepts.
        "worker.childopts": f"-Xmx{heap}m {flags}".rstrip(),
    }
    if release.storm >= V1_0_0:
        found["nimbus.seeds"] = [master]
        # Storm's default, without the file of counters that a killed JVM leaves in /tmp.
        found["topology.worker.logwriter.childopts"] = "-Xmx64m -XX:-UsePerfData"
    else:
        found["nimbus.host"] = master
    return found | dict(release.settings) | dict(settings)


def nimbus_settings(
    common: Mapping[str, object], address: str, folder: Path, socket: Path | None
) -> dict[str, object]:
    """Return ``storm.yaml`` of Nimbus; BridgeScheduler.java asks at the socket, if there is one."""
    found = {**common, "storm.local.hostname": address, "storm.local.dir": str(folder)}
    if socket is not None:
        found["storm.scheduler"] = "stormlab.BridgeScheduler"
        found["storm.lab.scheduler.socket"] = str(socket)
    return found


def supervisor_settings(
    release: Release,
    common: Mapping[str, object],
    node: Node,
    address: str,
    folder: Path,
    worker_flags: str = "",
) -> dict[str, object]:
    """Return ``storm.yaml`` of a node's supervisor, which starts its workers with ``worker_flags``."""
    found = {
        **common,
        "storm.local.hostname": address,
        "storm.local.dir": str(folder),
        "supervisor.slots.ports": list(node.ports),
        "worker.childopts": f"{common['worker.childopts']} {worker_flags}".rstrip(),
    }
    if release.storm >= V1_0_0:
        found["supervisor.cpu.capacity"] = node.offer.cpu_points
        found["supervisor.memory.capacity.mb"] = node.offer.memory_mb
    if release.storm >= V2_0_0:
        found["supervisor.thrift.port"] = SUPERVISOR_PORT
    return found


def storm_yaml(settings: Mapping[str, object]) -> str:
    """Return settings as the text of a ``storm.yaml``: JSON, which is valid YAML."""
    return json.dumps(settings, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def zookeeper_cfg(address: str, folder: Path) -> str:
    """Return ZooKeeper's configuration: a single server that listens at one address."""
    return (
        f"dataDir={folder}\nclientPort={ZOOKEEPER_PORT}\nclientPortAddress={address}\n"
        "tickTime=2000\nmaxClientCnxns=0\nadmin.enableServer=false\n"
    )


def write_log_layouts(release: Release, folder: Path) -> None:
    """Write the log configurations of daemons and workers: Storm's own layouts, in files of limited size."""
    daemons = workers = _LOGBACK
    if release.log_system == "log4j2":
        daemons = _LOG4J2.format(file=_DAEMON_FILE, flush="true")
        workers = _LOG4J2.format(file=_WORKER_FILE, flush="false")
    place = folder / release.log_system
    place.mkdir(parents=True, exist_ok=True)
    (place / "cluster.xml").write_text(daemons, encoding="utf-8")
    (place / "worker.xml").write_text(workers, encoding="utf-8")


_DAEMON_FILE = "${sys:storm.log.dir}/${sys:logfile.name}"
_WORKER_FILE = "${sys:workers.artifacts}/${sys:storm.id}/${sys:worker.port}/${sys:logfile.name}"

_LOG4J2 = """<?xml version="1.0" encoding="UTF-8"?>
<configuration monitorInterval="60" shutdownHook="disable">
<appenders>
  <RollingFile name="file" immediateFlush="{flush}" fileName="{file}" filePattern="{file}.%i">
    <PatternLayout pattern="%d{{yyyy-MM-dd HH:mm:ss.SSS}} %c{{1.}} %t [%p] %msg%n"/>
    <Policies><SizeBasedTriggeringPolicy size="100 MB"/></Policies>
    <DefaultRolloverStrategy max="2"/>
  </RollingFile>
</appenders>
<loggers><root level="info"><appender-ref ref="file"/></root></loggers>
</configuration>
"""

_LOGBACK = """<?xml version="1.0" encoding="UTF-8"?>
<configuration>
  <appender name="file" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>${storm.log.dir}/${logfile.name}</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>${storm.log.dir}/${logfile.name}.%i</fileNamePattern>
      <minIndex>1</minIndex><maxIndex>2</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>100MB</maxFileSize>
    </triggeringPolicy>
    <encoder><pattern>%d{yyyy-MM-dd HH:mm:ss} %c{1} [%p] %m%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="file"/></root>
</configuration>
"""


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
        program = str(self._java.home / "bin" / "java")
        class_path = os.pathsep.join([str(self.home / "lib" / "*"), str(self.conf), *map(str, extra)])
        log_system = "log4j" if self._release.log_system == "log4j2" else "logback"
        properties = {
            "storm.home": self.home,
            "storm.log.dir": self.logs,
            "java.io.tmpdir": self.scratch,
            "logfile.name": f"{name}.log",
            "storm.conf.file": "",
            "storm.options": "",
            f"{log_system}.configurationFile": self.home / self._release.log_system / "cluster.xml",
        }
        given = [f"-D{key}={value}" for key, value in properties.items()]
        own = [*_DAEMON_FLAGS, *self._java.flags(self._host), *self._release.java_flags, *given, *flags]
        return self._host.command([program, *own, "-cp", class_path, main, *arguments])

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

        Raises `StormLabError` if it fails; the message begins with ``failure`` and quotes its last output.
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
