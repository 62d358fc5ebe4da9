"""A real Storm cluster that exists for the duration of a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from storm_lab.live.daemons import Java
from storm_lab.live.doctor import check_machine
from storm_lab.live.fleet import Fleet
from storm_lab.live.hosts import MASTER, HostOptions, check_hosts
from storm_lab.live.jars import fetch_jars
from storm_lab.live.java_build import build_jar, player_jar, read_sources
from storm_lab.live.make_hosts import make_hosts
from storm_lab.live.processes import signals_deferred
from storm_lab.live.records import Place, remove_cluster, remove_orphans
from storm_lab.live.releases import find_release
from storm_lab.live.running_storm import RunningStorm
from storm_lab.machine.java import find_java
from storm_lab.model.cluster import Cluster
from storm_lab.model.version import V1_0_0


class LiveStorm(RunningStorm):
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
        super().__init__(find_release(version), cluster)
        self.options = hosts or HostOptions()
        check_hosts(cluster, self.options)
        self._bridged = bridged
        self._socket = socket
        self._settings = dict(settings or {})
        self._folder = folder

    def __enter__(self) -> LiveStorm:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the cluster and wait until every supervisor has registered with Nimbus.

        Raises:
            UserError: there is no Java, jars are not available, the hosts cannot be made, or a port is in
                use.
            StormLabError: a daemon ends or is not ready in time. The cluster is then removed completely.
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
            hosts = self._hosts = make_hosts(place, self.cluster, self.options)
            hosts.make()
            self.unrealised = hosts.unrealised
            # Storm's servers listen at all addresses of their host; on loopback these are the machine's.
            has_agent = self.release.needs_agent or hosts.host(MASTER).namespace is None
            java = Java(runtime.home, jars, agent if has_agent else None)
            logs = (self._folder or place.folder) / "logs"
            token = place.record.token
            fleet = Fleet(self.release, self.cluster, hosts, java, place.folder, logs, token)
            self._daemons = fleet
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
        place = self._own_place
        self._fleet.close()
        place.release()
        self._place = None
