"""Starts and watches all daemons of one cluster, in the order of their dependencies."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError
from storm_lab.live.daemons import (
    DAEMON_HEAP_MB,
    MASTER_HEAP_MB,
    Daemon,
    Installation,
    Java,
    common_settings,
    last_words,
    nimbus_settings,
    supervisor_settings,
    zookeeper_cfg,
)
from storm_lab.live.hosts import MASTER, NIMBUS_PORT, SUPERVISOR_PORT, ZOOKEEPER_PORT, Hosts
from storm_lab.live.processes import listens
from storm_lab.live.records import Place
from storm_lab.live.releases import Release
from storm_lab.model.cluster import Cluster
from storm_lab.model.version import V2_0_0

READY_SECONDS = 180.0
"""Longest duration of a step of the start: 10 s is common, and 70 s have been seen on a busy machine."""

_POLL_SECONDS = 0.05
_QUESTIONS = ("cluster", "info")
_TRIES = 10
_PAUSE_SECONDS = 1.0
_ANSWER_SECONDS = 90.0


class Fleet:
    """ZooKeeper, Nimbus, a supervisor for each node, and a client of Nimbus; their logs go into ``logs``."""

    def __init__(
        self, release: Release, cluster: Cluster, hosts: Hosts, java: Java, place: Place, logs: Path
    ) -> None:
        self._release = release
        self._cluster = cluster
        self._hosts = hosts
        self._java = java
        self._daemons: dict[str, Daemon] = {}
        self._client: ControlClient | None = None
        names = [MASTER, *(node.id for node in cluster.nodes)]
        self.installations: dict[str, Installation] = {}
        for index, name in enumerate(names):
            folder, token = place.folder / f"host{index}", place.record.token
            own_logs = (logs / name).absolute()
            self.installations[name] = Installation(release, java, hosts.host(name), folder, own_logs, token)

    def start(self, settings: Mapping[str, object], socket: Path | None, player: Path) -> None:
        """Start everything, and wait until Nimbus knows all supervisors.

        ``settings`` are further keys of every ``storm.yaml``. ``socket`` is where Nimbus asks for schedules;
        with None it uses a scheduler of its own. ``player`` is the jar with the bridge's scheduler and the
        client of Nimbus. Raises `StormLabError` if a daemon ends or is not ready in time.
        """
        master, address = self.installations[MASTER], self._hosts.host(MASTER).address
        self._configure(settings, socket)
        zookeeper = self._daemons["zookeeper"] = self._start_zookeeper(master, address)
        self._wait_for_all(
            "ZooKeeper's start", lambda: listens(zookeeper.process.pid, ZOOKEEPER_PORT, address)
        )
        main, extra = self._release.main_class("nimbus"), [] if socket is None else [player]
        command = master.java("nimbus", main, flags=[f"-Xmx{MASTER_HEAP_MB}m"], extra=extra)
        nimbus = self._daemons["nimbus"] = master.start("nimbus", command)
        for node in self._cluster.nodes:
            self.start_supervisor(node.id)
        self._client = ControlClient(master, player)
        self._wait_for_all("Nimbus's start", lambda: listens(nimbus.process.pid, NIMBUS_PORT, address))
        self.wait_for_supervisors()

    def _start_zookeeper(self, master: Installation, address: str) -> Daemon:
        data = master.local / "zookeeper"
        data.mkdir()
        settings = master.conf / "zoo.cfg"
        settings.write_text(zookeeper_cfg(address, data), encoding="utf-8")
        # Switch off its admin server, and its JMX beans that look for an old log4j.
        off = ["-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true"]
        flags = [f"-Xmx{DAEMON_HEAP_MB}m", *off]
        command = master.java("zookeeper", self._release.zookeeper_main, [str(settings)], flags=flags)
        return master.start("zookeeper", command)

    def wait_for_supervisors(self) -> None:
        """Wait until Nimbus knows all supervisors; `StormLabError` on timeout or if a daemon ends."""
        self._wait_for_all("the supervisors' start", self._complete)

    def start_supervisor(self, node: str) -> None:
        """Start a node's supervisor with the node's disk as it is."""
        place, main = self.installations[node], self._release.main_class("supervisor")
        command = place.java("supervisor", main, flags=[f"-Xmx{DAEMON_HEAP_MB}m"])
        self._daemons[node] = place.start("supervisor", command)

    def stop_watching(self, node: str) -> Daemon:
        """Stop watching a node's supervisor, which is about to be killed, and return it."""
        return self._daemons.pop(node)

    def takes_pushes(self, node: str) -> bool:
        """Return whether Nimbus can push assignments to a supervisor; before 2.0 supervisors poll them."""
        pid = self._daemons[node].process.pid
        address = self._hosts.host(node).address
        return self._release.storm < V2_0_0 or listens(pid, SUPERVISOR_PORT, address)

    @property
    def client(self) -> ControlClient:
        """The client of Nimbus."""
        if self._client is None:
            raise StormLabError("Nimbus is not running")
        return self._client

    def check(self) -> None:
        """Raise `StormLabError` if a daemon has ended; the message quotes its last output."""
        for daemon in tuple(self._daemons.values()):
            daemon.check()

    def wait(
        self, what: str, true: Callable[[], bool], seconds: float, watched: Iterable[str] = ("nimbus",)
    ) -> None:
        """Wait until a condition holds; `StormLabError` if it takes too long, or a watched daemon ends."""
        daemons = [self._daemons[name] for name in watched]
        end = time.monotonic() + seconds
        while not true():
            for daemon in daemons:
                daemon.check()
            if time.monotonic() > end:
                words = "; ".join(f"{daemon.name}: {daemon.last_words()}" for daemon in daemons)
                raise StormLabError(f"{what} took longer than {seconds:g} s; {words}")
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """End the client of Nimbus."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def collect(self) -> None:
        """Collect the exit statuses of daemons that have been ended."""
        for daemon in self._daemons.values():
            daemon.process.wait()
        self._daemons.clear()

    def _configure(self, settings: Mapping[str, object], socket: Path | None) -> None:
        master, address = self.installations[MASTER], self._hosts.host(MASTER).address
        common = common_settings(self._release, address, settings)
        master.configure(nimbus_settings(common, address, master.local / "nimbus", socket))
        for node in self._cluster.nodes:
            place, host = self.installations[node.id], self._hosts.host(node.id)
            flags = " ".join(self._java.flags(host))
            own = supervisor_settings(self._release, common, node, host.address, place.local, flags)
            place.configure(own)

    def _complete(self) -> bool:
        known = self.client.try_ask("cluster").get("supervisors", ())
        nodes = [node.id for node in self._cluster.nodes]
        return len(known) == len(nodes) and all(map(self.takes_pushes, nodes))

    def _wait_for_all(self, what: str, true: Callable[[], bool]) -> None:
        self.wait(what, true, READY_SECONDS, list(self._daemons))


class ControlClient:
    """A process that runs ``stormlab.Control``: it reads lines with commands and answers in lines of JSON."""

    def __init__(self, place: Installation, jar: Path) -> None:
        self._errors = place.logs / "control.out"
        with self._errors.open("ab") as sink:
            self._process = subprocess.Popen(
                place.java("control", "stormlab.Control", extra=[jar]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=place.environment,
                cwd=place.scratch,
                start_new_session=True,
                text=True,
                encoding="utf-8",
            )
        self._lock = threading.Lock()

    def try_ask(self, *words: object) -> Mapping[str, Any]:
        """Return the answer, which may be ``{"error": ...}``; `StormLabError` if the client gives none."""
        with self._lock:
            # A client that hangs is killed, which ends the read below.
            guard = threading.Timer(_ANSWER_SECONDS, self._process.kill)
            guard.start()
            try:
                assert self._process.stdin is not None and self._process.stdout is not None
                self._process.stdin.write("\t".join(map(str, words)) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = ""
            finally:
                guard.cancel()
        if not line:
            raise StormLabError(f"the client of Nimbus has ended: {last_words(self._errors)}")
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def ask(self, *words: object) -> Mapping[str, Any]:
        """Return the answer; queries are repeated if the connection breaks. `StormLabError` if refused."""
        answer = self.try_ask(*words)
        tries = _TRIES if words[0] in _QUESTIONS else 1
        while "Transport" in answer.get("error", "") and (tries := tries - 1):
            time.sleep(_PAUSE_SECONDS)
            answer = self.try_ask(*words)
        if "error" in answer:
            raise StormLabError(f"Nimbus refuses to {' '.join(map(str, words))}: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the client."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
