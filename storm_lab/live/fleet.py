"""All daemons of one cluster, in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from storm_lab.errors import StormLabError
from storm_lab.live.conf import SUPERVISOR_PORT, common_settings, nimbus_settings, supervisor_settings
from storm_lab.live.control_client import CONTROL_CLASS, ControlClient
from storm_lab.live.daemons import (
    Daemon,
    Installation,
    Java,
    nimbus_listens,
    start_nimbus,
    start_supervisor,
    start_zookeeper,
    wait_for,
    zookeeper_listens,
)
from storm_lab.live.hosts import MASTER, Hosts
from storm_lab.live.processes import listens
from storm_lab.live.releases import Release
from storm_lab.live.submission import SchedulerPlug
from storm_lab.model.cluster import Cluster

READY_SECONDS = 180.0
"""Longest that a step of the start may take: 10 s is common, a busy machine has been seen to take 70."""


class Fleet:
    """ZooKeeper, Nimbus, a supervisor for each node, and a client that asks Nimbus.

    Args:
        release: the version of Storm.
        cluster: its nodes.
        hosts: where the daemons run; made.
        java: what they run on.
        folder: for their files.
        logs: for their logs.
        token: the cluster's mark.
    """

    def __init__(
        self,
        release: Release,
        cluster: Cluster,
        hosts: Hosts,
        java: Java,
        folder: Path,
        logs: Path,
        token: str,
    ) -> None:
        self._release = release
        self._cluster = cluster
        self._hosts = hosts
        self._java = java
        self._daemons: dict[str, Daemon] = {}
        self._client: ControlClient | None = None
        names = [MASTER, *(node.id for node in cluster.nodes)]
        self.installations = {
            name: Installation(
                release, java, hosts.host(name), folder / f"host{index}", (logs / name).absolute(), token
            )
            for index, name in enumerate(names)
        }

    def start(
        self, settings: Mapping[str, object], plug: SchedulerPlug | None, socket: Path, control: Path
    ) -> None:
        """Start everything, and wait until Nimbus knows all supervisors.

        Args:
            settings: further keys of every ``storm.yaml``.
            plug: Nimbus's scheduler, if it is not to use its own.
            socket: where that one asks.
            control: jar with the class `CONTROL_CLASS`.

        Raises:
            StormLabError: a daemon ends or is not ready in time.
        """
        master, address = self.installations[MASTER], self._hosts.host(MASTER).address
        self._configure(settings, plug, socket)
        zookeeper = self._daemons["zookeeper"] = start_zookeeper(master, self._release, address)
        self._wait("ZooKeeper's start", lambda: zookeeper_listens(zookeeper, address))
        nimbus = start_nimbus(master, self._release, [plug.jar] if plug else [])
        self._daemons["nimbus"] = nimbus
        for node in self._cluster.nodes:
            self.start_supervisor(node.id)
        self._client = ControlClient(
            master.java("control", CONTROL_CLASS, extra=[control]),
            master.environment(),
            master.scratch,
            master.logs / "control.out",
        )
        self._wait("Nimbus's start", lambda: nimbus_listens(nimbus, address))
        self.wait_for_supervisors()

    def wait_for_supervisors(self) -> None:
        """Wait until Nimbus knows the supervisors of all nodes.

        Raises:
            StormLabError: it takes too long, or a daemon has ended.
        """
        self._wait("the supervisors' start", self._complete)

    def start_supervisor(self, node: str) -> None:
        """Start a node's supervisor, on what is on its disk."""
        self._daemons[node] = start_supervisor(self.installations[node], self._release)

    def forget(self, node: str) -> Daemon:
        """A node's supervisor is about to be killed: it is missed no more from now on."""
        return self._daemons.pop(node)

    def takes_pushes(self, node: str) -> bool:
        """Whether Nimbus can tell a supervisor of assignments; before 2.0 supervisors ask themselves."""
        pid = self._daemons[node].process.pid
        address = self._hosts.host(node).address
        return self._release.storm.parts[0] < 2 or listens(pid, SUPERVISOR_PORT, address)

    @property
    def client(self) -> ControlClient:
        """The client of Nimbus."""
        if self._client is None:
            raise StormLabError("Nimbus does not run")
        return self._client

    def check(self) -> None:
        """Raise if a daemon has ended.

        Raises:
            StormLabError: one has; the line quotes what it said last.
        """
        for daemon in tuple(self._daemons.values()):
            daemon.check()

    def wait(self, what: str, true: Callable[[], bool], seconds: float) -> None:
        """Wait until something is true, as long as Nimbus lives.

        Raises:
            StormLabError: it takes too long, or Nimbus has ended.
        """
        wait_for(what, true, [self._daemons["nimbus"]], seconds)

    def close(self) -> None:
        """End the client of Nimbus."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def collect(self) -> None:
        """Take the statuses of daemons that have been ended."""
        for daemon in self._daemons.values():
            daemon.process.wait()
        self._daemons.clear()

    def _configure(self, settings: Mapping[str, object], plug: SchedulerPlug | None, socket: Path) -> None:
        master, address = self.installations[MASTER], self._hosts.host(MASTER).address
        common = common_settings(self._release, address, settings)
        master.configure(nimbus_settings(common, address, master.local / "nimbus", plug, socket))
        for node in self._cluster.nodes:
            place, host = self.installations[node.id], self._hosts.host(node.id)
            flags = " ".join(self._java.flags(host))
            place.configure(
                supervisor_settings(self._release, common, node, host.address, place.local, flags)
            )

    def _complete(self) -> bool:
        known = self.client.try_ask("cluster").get("supervisors", ())
        nodes = [node.id for node in self._cluster.nodes]
        return len(known) == len(nodes) and all(map(self.takes_pushes, nodes))

    def _wait(self, what: str, true: Callable[[], bool]) -> None:
        wait_for(what, true, list(self._daemons.values()), READY_SECONDS)
