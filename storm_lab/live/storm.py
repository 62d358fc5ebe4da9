"""A real Storm cluster for as long as a ``with`` block lasts.

Java of this package lies in ``storm_lab/live/java/`` and is written against ``org.apache.storm``;
``Release.package`` is what stands in its place in a release (``backtype.storm`` before 1.0).
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from storm_lab.errors import StormLabError, UserError
from storm_lab.live.cleanup import processes_of, remove_cluster, remove_orphans
from storm_lab.live.conf import SUPERVISOR_PORT, common_settings, nimbus_settings, supervisor_settings
from storm_lab.live.control_client import CONTROL_CLASS, ControlClient
from storm_lab.live.daemons import (
    Daemon,
    Installation,
    Java,
    last_words,
    nimbus_listens,
    start_nimbus,
    start_supervisor,
    start_zookeeper,
    wait_for,
    zookeeper_listens,
)
from storm_lab.live.hosts import MASTER, Host, HostOptions, check_hosts, make_hosts
from storm_lab.live.jars import Say, cache_folder, fetch_jars
from storm_lab.live.java_build import build_jar, java_sources
from storm_lab.live.player_jar import player_jar
from storm_lab.live.processes import command_line, kill, listens, started_ns, undisturbed
from storm_lab.live.records import Place, state_folder
from storm_lab.live.releases import find_release
from storm_lab.live.submission import SchedulerPlug, Submission
from storm_lab.machine.java import find_java
from storm_lab.model.cluster import Cluster, Slot

READY_SECONDS = 180.0
"""Longest that a step of the start may take: 10 s is common, a busy machine has been seen to take 70."""

_SUBMIT_SECONDS = 180.0
_GONE_SECONDS = 120.0
_SOCKET_BYTES = 107


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """Something that was done to the cluster. Times are CLOCK_MONOTONIC, as ``System.nanoTime()`` gives."""

    start_ns: int
    end_ns: int
    kind: str
    subject: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A worker JVM that was found running."""

    slot: Slot
    pid: int
    topology_id: str
    """Storm's own id of the topology: name, number and time."""
    started_ns: int
    """CLOCK_MONOTONIC."""


class LiveStorm:
    """ZooKeeper, Nimbus and a supervisor per node, as real processes.

    Args:
        version: as `find_release` takes it, such as ``2.8`` or ``0.9.2``.
        cluster: the worker nodes; Nimbus and ZooKeeper get a host of their own beside them.
        scheduler: what Nimbus is to ask; its own default without.
        settings: further keys of every ``storm.yaml``.
        folder: where logs go (``folder/logs``); without, they go when the cluster goes.
        hosts: how the cluster's description becomes hosts.
        say: is told what is fetched; by default a line on stderr.
    """

    def __init__(
        self,
        version: str,
        cluster: Cluster,
        *,
        scheduler: SchedulerPlug | None = None,
        settings: Mapping[str, object] | None = None,
        folder: Path | None = None,
        hosts: HostOptions | None = None,
        say: Say | None = None,
    ) -> None:
        self.release = find_release(version)
        self.cluster = cluster
        self.options = hosts or HostOptions()
        check_hosts(cluster, self.options)
        self.events: list[ControlEvent] = []
        self.unrealised: tuple[str, ...] = ()
        """What of the cluster's description this machine could not give, one line each."""
        self._plug = scheduler
        self._settings = dict(settings or {})
        self._folder = folder
        self._say = say or _to_stderr
        self._daemons: dict[str, Daemon] = {}
        self._installations: dict[str, Installation] = {}
        self._client: ControlClient | None = None
        self._place: Place | None = None

    def __enter__(self) -> LiveStorm:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the cluster and wait until every supervisor has told Nimbus of itself.

        Raises:
            UserError: there is no Java, jars cannot be had, the hosts cannot be made, a port is in use.
            StormLabError: a daemon ends or is not ready in time. Nothing of the cluster is left then.
        """
        check_machine(self._folder)
        runtime = find_java()
        jars = fetch_jars(self.release.version, self._say)
        control = player_jar(self.release, self._say)
        if self.release.needs_carbonite:
            jars += (build_jar("carbonite", java_sources("carbonite"), jars, self._say),)
        agent = build_jar(
            "agent", java_sources("agent"), (), self._say, manifest={"Premain-Class": "agent.Agent"}
        )
        remove_orphans()
        self._place = Place.make(self.release.version)
        try:
            self._hosts = make_hosts(self._place, self.cluster, self.options)
            self._hosts.make()
            self.unrealised = self._hosts.unrealised
            self._java = Java(runtime.home, jars, agent if self._needs_agent() else None)
            self._install()
            self._start_daemons(control)
            self._hosts.hold_back()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the cluster: no process, namespace, control group or file of it is left."""
        if self._place is None:
            return
        if self._client is not None:
            self._client.close()
            self._client = None
        with undisturbed():
            place, self._place = self._place, None
            remove_cluster(place)
            for daemon in self._daemons.values():
                daemon.process.wait()
            self._daemons.clear()

    def leave(self) -> None:
        """Let the cluster go on without this process, until ``storm-lab live down``."""
        assert self._place is not None
        if self._client is not None:
            self._client.close()
            self._client = None
        self._place.release()
        self._place = None

    @property
    def token(self) -> str:
        """The six letters that all of the cluster's resources carry."""
        return self._here.record.token

    def host(self, name: str) -> Host:
        """The host of a node, or of Nimbus (`hosts.MASTER`)."""
        return self._hosts.host(name)

    def address(self, node: str) -> str:
        """The address that Storm knows a node by (``storm.local.hostname``)."""
        return self.host(node).address

    def new_folder(self, name: str) -> Path:
        """A folder that every process of the cluster can write to; gone with the cluster."""
        folder = self._here.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def scheduler_socket(self) -> Path:
        """Where Nimbus's scheduler asks, if its plug names no place of its own.

        Raises:
            UserError: the path is too long for a socket.
        """
        return _socket_path(self._here, "scheduler")

    def submit(self, submission: Submission) -> None:
        """Run the submitting program on Nimbus's host; returns when it has ended well.

        Raises:
            StormLabError: it has not.
        """
        place = self._installations[MASTER]
        output = place.logs / "submit.out"
        flags = [f"-Dstorm.jar={submission.jar}"]
        command = place.java(
            "submit", submission.main, submission.arguments, flags=flags, extra=[submission.jar]
        )
        with self._event("submit", submission.name), output.open("wb") as sink:
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=place.environment(),
                    cwd=place.scratch,
                    timeout=_SUBMIT_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise StormLabError(f"{submission.name}: submitting took {_SUBMIT_SECONDS:g} s") from error
        if done.returncode != 0:
            words = last_words(output, place.logs / "submit.log")
            raise StormLabError(f"{submission.name} could not be submitted: {words}")

    def kill(self, topology: str, wait_s: int = 0) -> None:
        """Kill a topology by name and wait until neither Nimbus nor any host has anything of it.

        Raises:
            StormLabError: Nimbus refuses, or it takes too long.
        """
        topology_id = self.topologies().get(topology, {}).get("id")
        with self._event("kill", topology, f"wait {wait_s} s"):
            self._asked.ask("kill", topology, wait_s)
            self._wait(
                f"the end of {topology}",
                lambda: (
                    topology not in self.topologies()
                    and not any(worker.topology_id == topology_id for worker in self.workers())
                ),
                wait_s + _GONE_SECONDS,
            )

    def rebalance(self, topology: str, *, wait_s: int = 0, workers: int | None = None) -> None:
        """Ask Nimbus to rebalance a topology, onto so many workers if a number is given; returns at once.

        Raises:
            StormLabError: Nimbus refuses.
        """
        with self._event("rebalance", topology, f"wait {wait_s} s, {workers or 'as many'} workers"):
            self._asked.ask("rebalance", topology, wait_s, workers or 0)

    def activate(self, topology: str) -> None:
        """Ask Nimbus to switch a topology's spouts on.

        Raises:
            StormLabError: Nimbus refuses.
        """
        with self._event("activate", topology):
            self._asked.ask("activate", topology)

    def deactivate(self, topology: str) -> None:
        """Ask Nimbus to switch a topology's spouts off.

        Raises:
            StormLabError: Nimbus refuses.
        """
        with self._event("deactivate", topology):
            self._asked.ask("deactivate", topology)

    def topologies(self) -> dict[str, dict[str, str]]:
        """Storm's ``id`` and ``status`` of every topology that Nimbus knows, by name."""
        found: dict[str, dict[str, str]] = dict(self._asked.ask("cluster")["topologies"])
        return found

    def supervisors(self) -> dict[str, str]:
        """Node by the id that Storm knows its supervisor by, of all that Nimbus sees."""
        nodes = {self.address(node.id): node.id for node in self.cluster.nodes}
        return {storm_id: nodes[host] for storm_id, host in self._asked.ask("cluster")["supervisors"].items()}

    def info(self, topology: str) -> Mapping[str, Any]:
        """What Nimbus tells of a topology: status, and component, tasks, host and port of each executor.

        Raises:
            StormLabError: Nimbus knows no such topology.
        """
        return self._asked.ask("info", topology)

    def workers(self) -> list[LiveWorker]:
        """The worker JVMs that run now, in order of nodes and ports (without the log writers of 2.x)."""
        nodes = {str(self._installations[node.id].home): node for node in self.cluster.nodes}
        order = {node.id: index for index, node in enumerate(self.cluster.nodes)}
        found = []
        for pid in processes_of(self._here.record):
            words = command_line(pid)
            # The log writer's line ends in the worker's: only the worker's own class comes first.
            if _main_class(words) != self.release.worker_main:
                continue
            values = dict(word[2:].split("=", 1) for word in words if word.startswith("-D") and "=" in word)
            node = nodes.get(values.get("storm.home", ""))
            if node is None:
                continue
            try:
                since = started_ns(pid)
            except ProcessLookupError:
                continue
            slot = Slot(node.id, int(values["worker.port"]))
            found.append(LiveWorker(slot, pid, values["storm.id"], since))
        return sorted(found, key=lambda worker: (order[worker.slot.node], worker.slot.port))

    def kill_worker(self, slot: Slot) -> None:
        """SIGKILL for the worker in a slot.

        Raises:
            UserError: no worker runs there.
        """
        for worker in self.workers():
            if worker.slot == slot:
                with self._event("kill-worker", str(slot), f"process {worker.pid}"):
                    kill(worker.pid, lambda pid: pid in processes_of(self._here.record))
                return
        raise UserError("no worker runs there", field="slot", value=str(slot))

    def lose_node(self, node: str) -> None:
        """A node fails: its link goes down, and all its processes are killed."""
        self._known(node)
        with self._event("lose-node", node):
            self._hosts.set_link(node, up=False)
            for pid in self._on(node):
                kill(pid, lambda pid: pid in processes_of(self._here.record))
            self._daemons.pop(node).process.wait()

    def restore_node(self, node: str) -> None:
        """A failed node is back: its link is up, and its supervisor is started on what is on its disk."""
        self._known(node)
        with self._event("restore-node", node):
            self._hosts.set_link(node, up=True)
            self._daemons[node] = start_supervisor(self._installations[node], self.release)

    def cut_link(self, one: str, other: str | None = None) -> None:
        """No packets between two nodes any more, or between a node and everybody.

        Raises:
            UserError: no such node, or hosts without links.
        """
        self._known(one, other)
        with self._event("cut-link", one, other or "all"):
            if other is None:
                self._hosts.set_link(one, up=False)
            else:
                self._hosts.set_path(one, other, open_=False)

    def mend_link(self, one: str, other: str | None = None) -> None:
        """Packets again where `cut_link` has cut them off."""
        self._known(one, other)
        with self._event("mend-link", one, other or "all"):
            if other is None:
                self._hosts.set_link(one, up=True)
            else:
                self._hosts.set_path(one, other, open_=True)

    def check(self) -> None:
        """Raise if a daemon has ended.

        Raises:
            StormLabError: one has; the line quotes what it said last.
        """
        for daemon in self._daemons.values():
            daemon.check()

    def _needs_agent(self) -> bool:
        # Storm's servers listen at all addresses of their host: on loopback those of the whole machine.
        return self.release.needs_agent or self.host(MASTER).namespace is None

    def _install(self) -> None:
        here = self._here
        logs = (self._folder or here.folder) / "logs"
        for index, name in enumerate([MASTER, *(node.id for node in self.cluster.nodes)]):
            host = self._hosts.host(name)
            folder = here.folder / f"host{index}"
            self._installations[name] = Installation(
                self.release, self._java, host, folder, (logs / name).absolute(), here.record.token
            )

    def _start_daemons(self, control: Path) -> None:
        master, address = self._installations[MASTER], self.address(MASTER)
        common = common_settings(self.release, address, self._settings)
        master.configure(
            nimbus_settings(common, address, master.local / "nimbus", self._plug, self.scheduler_socket)
        )
        zookeeper = self._daemons["zookeeper"] = start_zookeeper(master, self.release, address)
        for node in self.cluster.nodes:
            place = self._installations[node.id]
            # Workers of 0.9.2 are not told where their logs go, and write them where they stand.
            flags = " ".join([*self._java.flags(self.host(node.id)), f"-Dstorm.log.dir={place.logs}"])
            place.configure(
                supervisor_settings(self.release, common, node, self.address(node.id), place.local, flags)
            )
        everybody = list(self._daemons.values())
        wait_for("ZooKeeper's start", lambda: zookeeper_listens(zookeeper, address), everybody, READY_SECONDS)
        plugged = [self._plug.jar] if self._plug else []
        nimbus = self._daemons["nimbus"] = start_nimbus(master, self.release, plugged)
        for node in self.cluster.nodes:
            self._daemons[node.id] = start_supervisor(self._installations[node.id], self.release)
        self._client = ControlClient(
            master.java("control", CONTROL_CLASS, extra=[control]),
            master.environment(),
            master.scratch,
            master.logs / "control.out",
        )
        everybody = list(self._daemons.values())
        wait_for("Nimbus's start", lambda: nimbus_listens(nimbus, address), everybody, READY_SECONDS)
        nodes = len(self.cluster.nodes)
        wait_for(
            "the supervisors' start",
            lambda: (
                len(self._asked.try_ask("cluster").get("supervisors", ())) == nodes
                and all(self._takes_pushes(node.id) for node in self.cluster.nodes)
            ),
            everybody,
            READY_SECONDS,
        )

    def _takes_pushes(self, node: str) -> bool:
        """Whether Nimbus can tell a supervisor of assignments; before 2.0 supervisors ask themselves."""
        port, pid = SUPERVISOR_PORT, self._daemons[node].process.pid
        return self.release.storm.parts[0] < 2 or listens(pid, port, self.address(node))

    def _wait(self, what: str, true: Callable[[], bool], seconds: float) -> None:
        wait_for(what, true, [self._daemons["nimbus"]], seconds)

    @contextmanager
    def _event(self, kind: str, subject: str, detail: str = "") -> Iterator[None]:
        start_ns = time.monotonic_ns()
        try:
            yield
        except StormLabError as error:
            self.events.append(
                ControlEvent(start_ns, time.monotonic_ns(), f"{kind}-failed", subject, str(error))
            )
            raise
        self.events.append(ControlEvent(start_ns, time.monotonic_ns(), kind, subject, detail))

    def _on(self, node: str) -> list[int]:
        """Ids of all processes on a node: members of its group, or those that know its folder."""
        group = self.host(node).group
        if group is not None:
            return group.pids()
        folder = str(self._installations[node].home)
        return [
            pid
            for pid in processes_of(self._here.record)
            if any(folder in word for word in command_line(pid))
        ]

    def _known(self, *nodes: str | None) -> None:
        ids = [node.id for node in self.cluster.nodes]
        for node in nodes:
            if node is not None and node not in ids:
                remedy = f"choose one of {', '.join(ids)}"
                raise UserError("the cluster has no such node", field="node", value=node, remedy=remedy)

    @property
    def _here(self) -> Place:
        if self._place is None:
            raise StormLabError("the cluster does not run")
        return self._place

    @property
    def _asked(self) -> ControlClient:
        if self._client is None:
            raise StormLabError("the cluster does not run")
        return self._client


def check_machine(logs: Path | None = None) -> None:
    """Refuse a machine or folders that no cluster can run with.

    Raises:
        UserError: names what is wrong.
    """
    if sys.platform != "linux":
        raise UserError("real Storm is played on Linux only", field="system", value=sys.platform)
    folders = {"XDG_CACHE_HOME": cache_folder(), "XDG_STATE_HOME": state_folder(), "folder of logs": logs}
    for name, folder in folders.items():
        if folder is not None and re.search(r"[\s:*]", str(folder.absolute())):
            raise UserError(
                "holds a blank, colon or star, which Storm's command lines cannot",
                field=name,
                value=str(folder),
                remedy="choose another folder",
            )


def _socket_path(place: Place, name: str) -> Path:
    path = place.folder / name
    if len(str(path).encode()) > _SOCKET_BYTES:
        raise UserError(
            f"longer than the {_SOCKET_BYTES} bytes that a Unix socket may have",
            field="path of socket",
            value=str(path),
            remedy="set XDG_STATE_HOME to a shorter folder",
        )
    return path


def _main_class(words: tuple[str, ...]) -> str | None:
    """The class that a line of a JVM names to be run: the first word behind its options."""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-cp", "-classpath", "--class-path"):
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return None


def _to_stderr(line: str) -> None:
    print(f"storm-lab: {line}", file=sys.stderr, flush=True)
