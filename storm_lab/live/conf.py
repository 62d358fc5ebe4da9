"""Writes the files that Storm's daemons read: ``storm.yaml``, ZooKeeper's, and configurations of logs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from storm_lab.live.releases import Release
from storm_lab.model.cluster import Node
from storm_lab.model.version import V1_0_0, V2_0_0

ZOOKEEPER_PORT = 2181
NIMBUS_PORT = 6627
SUPERVISOR_PORT = 6628
"""Thrift port of a supervisor (since 2.0)."""

MASTER_HEAP_MB = 256
DAEMON_HEAP_MB = 128
"""Heaps of Nimbus, and of ZooKeeper and each supervisor; clusters of this size have 30 to 60 MB live."""


_SCHEDULER_CLASS = "stormlab.BridgeScheduler"
_SOCKET_KEY = "storm.lab.scheduler.socket"
"""Nimbus's setting for the socket at which its scheduler asks (BridgeScheduler.java)."""


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
    """Return ``storm.yaml`` of Nimbus, whose scheduler asks at a socket if there is one."""
    found: dict[str, object] = {"storm.local.hostname": address, "storm.local.dir": str(folder)}
    if socket is not None:
        found |= {"storm.scheduler": _SCHEDULER_CLASS, _SOCKET_KEY: str(socket)}
    return dict(common) | found


def supervisor_settings(
    release: Release,
    common: Mapping[str, object],
    node: Node,
    address: str,
    folder: Path,
    worker_flags: str = "",
) -> dict[str, object]:
    """Return ``storm.yaml`` of a node's supervisor, which starts its workers with ``worker_flags``."""
    found: dict[str, object] = {
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
    return dict(common) | found


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
