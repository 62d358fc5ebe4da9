"""A running cluster: queries, commands, and failures of workers, nodes and links."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError, UserError, check_known
from storm_lab.live.fleet import Fleet
from storm_lab.live.hosts import MASTER, Host
from storm_lab.live.make_hosts import Hosts
from storm_lab.live.processes import LiveWorker, command_line, end_all, find_workers, kill
from storm_lab.live.records import Place, processes_of
from storm_lab.live.releases import Release
from storm_lab.model.cluster import Cluster, Slot

_NOT_RUNNING = "the cluster is not running"
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


class RunningStorm:
    """The interface of `LiveStorm` while the cluster runs."""

    def __init__(self, release: Release, cluster: Cluster) -> None:
        self.release = release
        self.cluster = cluster
        self.events: list[ControlEvent] = []
        """Commands and faults so far, with their times."""
        self.unrealised: tuple[str, ...] = ()
        """Parts of the cluster's description that this machine could not realise, one line each."""
        self._socket: Path | None = None
        self._place: Place | None = None
        self._hosts: Hosts | None = None
        self._daemons: Fleet | None = None
        self._lost: set[str] = set()
        self._cut: set[tuple[str, str | None]] = set()

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
        """Run the program that submits a topology on Nimbus's host, until it has succeeded.

        ``main`` of ``jar`` is run on the class path of the cluster's release, with the cluster's
        ``storm.yaml`` and ``-Dstorm.jar=jar``. Status 0 means that the topology ``name`` is submitted;
        otherwise the last line of its stderr gives the reason.

        Raises:
            StormLabError: the topology was not submitted.
        """
        place = self._fleet.installations[MASTER]
        command = place.java("submit", main, arguments, flags=[f"-Dstorm.jar={jar}"], extra=[jar])
        with self._event("submit", name):
            place.run("submit", command, _SUBMIT_SECONDS, f"{name} could not be submitted")

    def kill(self, *names: str, wait_s: int = 0) -> None:
        """Kill topologies by name and wait until neither Nimbus nor any host has anything of them left.

        Raises `StormLabError` if Nimbus refuses or it takes too long.
        """
        known = self.topologies()
        ids = {known[name]["id"] for name in names if name in known}
        with ExitStack() as events:
            for name in names:
                events.enter_context(self._event("kill", name, f"wait {wait_s} s"))
                self._ask_to_kill(name, wait_s)
            self._fleet.wait(
                f"the end of {', '.join(names)}",
                lambda: (
                    not self.topologies().keys() & set(names)
                    and not any(worker.topology_id in ids for worker in self.workers())
                ),
                wait_s + _GONE_SECONDS,
            )

    def _ask_to_kill(self, name: str, wait_s: int) -> None:
        try:
            self._fleet.client.ask("kill", name, wait_s)
        except StormLabError:
            # A topology that is already being killed may disappear in the meantime.
            if name in self.topologies():
                raise

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
        seen = self._fleet.client.ask("cluster")["supervisors"]
        return {storm_id: nodes[host] for storm_id, host in seen.items()}

    def info(self, topology: str) -> Mapping[str, Any]:
        """Return a topology's status, and each executor's component, tasks, host and port.

        Raises `StormLabError` if Nimbus knows no such topology.
        """
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
        """Undo what faults have left behind: restore lost nodes, mend cut links, wait for all supervisors.

        Only for times when no topology runs: nodes come back with empty disks. Otherwise a supervisor might
        find a topology on its disk that was killed meanwhile. It would start the workers and remove their
        files at the same time, and halt because of the missing file (STORM-388; 0.9).

        Raises:
            StormLabError: Nimbus does not see all nodes in time.
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
            self.events.append(
                ControlEvent(start_ns, time.monotonic_ns(), f"{kind}-failed", subject, str(error))
            )
            raise
        self.events.append(ControlEvent(start_ns, time.monotonic_ns(), kind, subject, detail))

    def _on(self, node: str) -> list[int]:
        """Return the ids of a node's processes: members of its group, or commands that name its folder."""
        group = self.host(node).group
        if group is not None:
            return group.pids()
        folder = str(self._fleet.installations[node].home)
        return [
            pid
            for pid in processes_of(self._own_place.record)
            if any(folder in word for word in command_line(pid))
        ]

    def _known(self, *nodes: str | None) -> None:
        ids = [node.id for node in self.cluster.nodes]
        for node in nodes:
            if node is not None:
                check_known("node", node, ids, "the cluster")

    @property
    def _own_place(self) -> Place:
        if self._place is None:
            raise StormLabError(_NOT_RUNNING)
        return self._place

    @property
    def _own_hosts(self) -> Hosts:
        if self._hosts is None:
            raise StormLabError(_NOT_RUNNING)
        return self._hosts

    @property
    def _fleet(self) -> Fleet:
        if self._daemons is None:
            raise StormLabError(_NOT_RUNNING)
        return self._daemons
