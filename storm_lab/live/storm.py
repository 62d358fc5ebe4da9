"""A real Storm cluster that exists for the duration of a ``with`` block: queries, commands, and failures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError, UserError, check_known
from storm_lab.live.daemons import Java
from storm_lab.live.doctor import check_machine
from storm_lab.live.fleet import Fleet
from storm_lab.live.hosts import MASTER, Host, HostOptions, Hosts, check_hosts
from storm_lab.live.jars import fetch_jars
from storm_lab.live.java_build import build_jar, player_jar, read_sources
from storm_lab.live.processes import LiveWorker, command_line, end_all, find_workers, kill, signals_deferred
from storm_lab.live.records import Place, processes_of, remove_cluster, remove_orphans
from storm_lab.live.releases import find_release
from storm_lab.machine.java import find_java
from storm_lab.model.cluster import Cluster, Slot
from storm_lab.model.version import V1_0_0

_SUBMIT_SECONDS = 180.0
_GONE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """A command or fault that was carried out. Times are CLOCK_MONOTONIC, as ``System.nanoTime()`` gives."""

    start_ns: int
    end_ns: int
    kind: str
    subject: str
    detail: str = ""


class LiveStorm:
    """ZooKeeper, Nimbus and a supervisor per node, as real processes.

    Args:
        version: as accepted by `find_release`, such as ``2.8`` or ``0.9.2``.
        cluster: the worker nodes; Nimbus and ZooKeeper get an additional host.
        bridged: Nimbus asks for schedules at a Unix socket; otherwise its own default scheduler decides.
        socket: path of that socket, instead of one in the cluster's own folder.
        settings: further keys of every ``storm.yaml``.
        folder: folder for logs (``folder/logs``); if None they are removed with the cluster.
        hosts: how the cluster's description becomes hosts.
    """

    def __init__(
        self,
        version: str,
        cluster: Cluster,
        *,
        bridged: bool = False,
        socket: Path | None = None,
        settings: Mapping[str, object] | None = None,
        folder: Path | None = None,
        hosts: HostOptions | None = None,
    ) -> None:
        self.release = find_release(version)
        self.cluster = cluster
        self.options = hosts or HostOptions()
        check_hosts(cluster, self.options)
        self.events: list[ControlEvent] = []
        """Commands and faults so far, with their times."""
        self.unrealised: tuple[str, ...] = ()
        """Parts of the cluster's description that this machine could not realise, one line each."""
        self._bridged = bridged
        self._socket = socket
        self._settings = dict(settings or {})
        self._folder = folder
        self._place: Place | None = None
        self._hosts: Hosts | None = None
        self._daemons: Fleet | None = None
        self._lost: set[str] = set()
        self._cut: set[tuple[str, str | None]] = set()

    def __enter__(self) -> LiveStorm:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the cluster and wait until every supervisor has registered with Nimbus.

        Raises `UserError` if Java, jars, ports or hosts are not available, and `StormLabError` if a daemon
        ends or is not ready in time. The cluster is then removed completely.
        """
        check_machine(self._folder)
        runtime = find_java()
        jars = fetch_jars(self.release.version)
        player = player_jar(self.release)
        if self.release.storm < V1_0_0:
            # A replacement for carbonite.JavaBridge, which no repository has.
            jars += (build_jar("carbonite", read_sources("carbonite"), jars),)
        manifest = {"Premain-Class": "agent.Agent"}
        agent = build_jar("agent", read_sources("agent"), (), manifest=manifest)
        remove_orphans()
        place = self._place = Place.make(self.release.version)
        try:
            hosts = self._hosts = Hosts(place, self.cluster, self.options)
            hosts.make()
            self.unrealised = hosts.unrealised
            # Storm's servers listen at all addresses of their host; on loopback these are the machine's.
            has_agent = self.release.needs_agent or hosts.host(MASTER).namespace is None
            java = Java(runtime.home, jars, agent if has_agent else None)
            logs = (self._folder or place.folder) / "logs"
            fleet = self._daemons = Fleet(self.release, self.cluster, hosts, java, place, logs)
            fleet.start(self._settings, self.scheduler_socket if self._bridged else None, player)
            hosts.apply_quotas()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the cluster and remove all its processes, namespaces, control groups and files."""
        if self._place is None:
            return
        with signals_deferred():
            place, self._place = self._place, None
            if self._daemons is not None:
                self._daemons.close()
            remove_cluster(place)
            if self._hosts is not None:
                self._hosts.release()
            if self._daemons is not None:
                self._daemons.collect()

    def leave(self) -> None:
        """Leave the cluster running without this process, until ``storm-lab live down``."""
        self._fleet.close()
        self._own_place.release()
        self._place = None

    @property
    def token(self) -> str:
        """The six characters that mark all of the cluster's resources."""
        return self._own_place.record.token

    def host(self, name: str) -> Host:
        """Return the host of a node, or of Nimbus (`hosts.MASTER`)."""
        return self._own_hosts.host(name)

    def address(self, node: str) -> str:
        """Return the address by which Storm knows a node (``storm.local.hostname``)."""
        return self.host(node).address

    def new_folder(self, name: str) -> Path:
        """Make a folder that every process of the cluster can write to; it is removed with the cluster."""
        folder = self._own_place.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def note_drafts(self, *folders: Path) -> None:
        """Note incomplete folders elsewhere, to be removed too if this process is killed."""
        self._own_place.note(files=tuple(str(folder.absolute()) for folder in folders))

    @property
    def scheduler_socket(self) -> Path:
        """The socket at which Nimbus asks for schedules, if it does."""
        return self._socket or self._own_place.folder / "scheduler"

    def submit(self, name: str, jar: Path, main: str, *arguments: str) -> None:
        """Submit a topology by running ``main`` of ``jar`` on Nimbus's host; `StormLabError` if it fails."""
        place = self._fleet.installations[MASTER]
        command = place.java("submit", main, arguments, flags=[f"-Dstorm.jar={jar}"], extra=[jar])
        with self._event("submit", name):
            place.run("submit", command, _SUBMIT_SECONDS, f"{name} could not be submitted")

    def kill(self, *names: str, wait_s: int = 0) -> None:
        """Kill topologies and wait until nothing of them is left; `StormLabError` if refused or too slow."""
        known = self.topologies()
        ids = {known[name]["id"] for name in names if name in known}
        with ExitStack() as events:
            for name in names:
                events.enter_context(self._event("kill", name, f"wait {wait_s} s"))
                try:
                    self._fleet.client.ask("kill", name, wait_s)
                except StormLabError:
                    # A topology that is already being killed may disappear in the meantime.
                    if name in self.topologies():
                        raise

            def gone() -> bool:
                workers = (worker.topology_id for worker in self.workers())
                return not self.topologies().keys() & set(names) and not ids & set(workers)

            self._fleet.wait(f"the end of {', '.join(names)}", gone, wait_s + _GONE_SECONDS)

    def rebalance(self, topology: str, *, wait_s: int = 0, workers: int | None = None) -> None:
        """Ask Nimbus to rebalance a topology, onto ``workers`` if given; `StormLabError` if it refuses."""
        with self._event("rebalance", topology, f"wait {wait_s} s, {workers or 'as many'} workers"):
            self._fleet.client.ask("rebalance", topology, wait_s, workers or 0)

    def activate(self, topology: str) -> None:
        """Ask Nimbus to switch a topology's spouts on; `StormLabError` if it refuses."""
        with self._event("activate", topology):
            self._fleet.client.ask("activate", topology)

    def deactivate(self, topology: str) -> None:
        """Ask Nimbus to switch a topology's spouts off; `StormLabError` if it refuses."""
        with self._event("deactivate", topology):
            self._fleet.client.ask("deactivate", topology)

    def topologies(self) -> dict[str, dict[str, str]]:
        """Return Storm's ``id`` and ``status`` of every topology that Nimbus knows, by name."""
        found: dict[str, dict[str, str]] = dict(self._fleet.client.ask("cluster")["topologies"])
        return found

    def supervisors(self) -> dict[str, str]:
        """Return the nodes whose supervisors Nimbus sees, by Storm's ids of the supervisors."""
        nodes = {self.address(node.id): node.id for node in self.cluster.nodes}
        return {key: nodes[host] for key, host in self._fleet.client.ask("cluster")["supervisors"].items()}

    def info(self, topology: str) -> Mapping[str, Any]:
        """Return a topology's status and executors with their places; `StormLabError` if it is unknown."""
        return self._fleet.client.ask("info", topology)

    def workers(self) -> list[LiveWorker]:
        """Return the running worker JVMs, in order of nodes and ports (without the log writers of 2.x)."""
        installations = self._fleet.installations
        nodes = {str(installations[node.id].home): node.id for node in self.cluster.nodes}
        return find_workers(processes_of(self._own_place.record), nodes, self.release.main_class("worker"))

    def kill_worker(self, slot: Slot) -> None:
        """Send SIGKILL to the worker in a slot; `UserError` if no worker runs in this slot."""
        for worker in self.workers():
            if worker.slot == slot:
                with self._event("kill-worker", str(slot), f"process {worker.pid}"):
                    kill(worker.pid, lambda pid: pid in processes_of(self._own_place.record))
                return
        raise UserError("no worker runs in this slot", field="slot", value=str(slot))

    def lose_node(self, node: str) -> None:
        """Let a node fail, if it has not yet: take its link down, if any, and kill all its processes."""
        self._known(node)
        if node in self._lost:
            return
        with self._event("lose-node", node):
            self._lost.add(node)
            if self.host(node).namespace is not None:
                self._own_hosts.set_link(node, None, up=False)
            # Forget it before it is killed: another thread may check at that moment whether all daemons live.
            supervisor = self._fleet.stop_watching(node)
            end_all(lambda: self._on(node))
            supervisor.process.wait()

    def restore_node(self, node: str) -> None:
        """Bring a failed node back with its disk as it is: restore its link and start its supervisor."""
        self._known(node)
        if node not in self._lost:
            return
        with self._event("restore-node", node):
            self._lost.remove(node)
            if self.host(node).namespace is not None:
                self._own_hosts.set_link(node, None, up=True)
            self._fleet.start_supervisor(node)

    def cut_link(self, one: str, other: str | None = None) -> None:
        """Block all packets between two nodes, or a node and the rest; `UserError`: no such node or link."""
        self._known(one, other)
        with self._event("cut-link", one, other or "all"):
            self._own_hosts.set_link(one, other, up=False)
            self._cut.add((one, other))

    def mend_link(self, one: str, other: str | None = None) -> None:
        """Let packets pass again where `cut_link` has blocked them."""
        self._known(one, other)
        with self._event("mend-link", one, other or "all"):
            self._own_hosts.set_link(one, other, up=True)
            self._cut.discard((one, other))

    def restore_all(self) -> None:
        """Undo faults when no topology runs: restore lost nodes, mend cut links, wait for all supervisors.

        Nodes come back with empty disks. If a supervisor of 0.9 found a topology there that was killed
        meanwhile, it would start the workers, remove their files at the same time, and halt (STORM-388).
        Raises `StormLabError` if Nimbus does not see all nodes in time.
        """
        if not self._lost and not self._cut:
            return
        for one, other in tuple(self._cut):
            self.mend_link(one, other)
        lost = tuple(self._lost)
        # With an empty disk a supervisor gets another id, so nothing may still be assigned to the old one.
        self._fleet.wait(
            "the end of lost supervisors' sessions",
            lambda: not set(lost) & set(self.supervisors().values()),
            _GONE_SECONDS,
        )
        for node in lost:
            self._fleet.installations[node].empty_disk()
            self.restore_node(node)
        self._fleet.wait_for_supervisors()

    def check(self) -> None:
        """Raise `StormLabError` if a daemon has ended; the message quotes its last output."""
        self._fleet.check()

    @contextmanager
    def _event(self, kind: str, subject: str, detail: str = "") -> Iterator[None]:
        """Record the block as an event with its duration; the kind ends in ``-failed`` if it fails."""
        start_ns = time.monotonic_ns()
        try:
            yield
        except StormLabError as error:
            failed = ControlEvent(start_ns, time.monotonic_ns(), f"{kind}-failed", subject, str(error))
            self.events.append(failed)
            raise
        self.events.append(ControlEvent(start_ns, time.monotonic_ns(), kind, subject, detail))

    def _on(self, node: str) -> list[int]:
        """Return the ids of a node's processes: members of its group, or commands that name its folder."""
        group = self.host(node).group
        if group is not None:
            return group.pids()
        folder, pids = str(self._fleet.installations[node].home), processes_of(self._own_place.record)
        return [pid for pid in pids if any(folder in word for word in command_line(pid))]

    def _known(self, *nodes: str | None) -> None:
        ids = [node.id for node in self.cluster.nodes]
        for node in nodes:
            if node is not None:
                check_known("node", node, ids, "the cluster")

    @property
    def _own_place(self) -> Place:
        if self._place is None:
            raise StormLabError("the cluster is not running")
        return self._place

    @property
    def _own_hosts(self) -> Hosts:
        if self._hosts is None:
            raise StormLabError("the cluster is not running")
        return self._hosts

    @property
    def _fleet(self) -> Fleet:
        if self._daemons is None:
            raise StormLabError("the cluster is not running")
        return self._daemons
