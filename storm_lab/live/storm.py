"""A real Storm cluster for as long as a ``with`` block lasts.

Java of this package lies in ``storm_lab/live/java/`` and is written against ``org.apache.storm``;
``Release.package`` is what stands in its place in a release (``backtype.storm`` before 1.0).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from storm_lab.live.daemons import Java
from storm_lab.live.doctor import check_machine
from storm_lab.live.fleet import Fleet
from storm_lab.live.hosts import MASTER, HostOptions, check_hosts
from storm_lab.live.jars import Say, fetch_jars
from storm_lab.live.java_build import build_jar, player_jar, read_sources
from storm_lab.live.make_hosts import make_hosts
from storm_lab.live.processes import undisturbed
from storm_lab.live.records import Place, remove_cluster, remove_orphans
from storm_lab.live.releases import find_release
from storm_lab.live.running_storm import RunningStorm
from storm_lab.machine.java import find_java
from storm_lab.model.cluster import Cluster
from storm_lab.model.version import V1_0_0


class LiveStorm(RunningStorm):
    """ZooKeeper, Nimbus and a supervisor per node, as real processes.

    Args:
        version: as `find_release` takes it, such as ``2.8`` or ``0.9.2``.
        cluster: the worker nodes; Nimbus and ZooKeeper get a host of their own beside them.
        bridged: Nimbus asks at a Unix socket for schedules; else its own default scheduler decides.
        socket: that socket, in the place of one in the cluster's own folder.
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
        bridged: bool = False,
        socket: Path | None = None,
        settings: Mapping[str, object] | None = None,
        folder: Path | None = None,
        hosts: HostOptions | None = None,
        say: Say | None = None,
    ) -> None:
        super().__init__(find_release(version), cluster)
        self.options = hosts or HostOptions()
        check_hosts(cluster, self.options)
        self._bridged = bridged
        self._socket = socket
        self._settings = dict(settings or {})
        self._folder = folder
        self._say = say or to_stderr

    def __enter__(self) -> LiveStorm:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
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
        player = player_jar(self.release, self._say)
        if self.release.storm < V1_0_0:
            # A stand-in for carbonite.JavaBridge, which no repository has.
            jars += (build_jar("carbonite", read_sources("carbonite"), jars, self._say),)
        manifest = {"Premain-Class": "agent.Agent"}
        agent = build_jar("agent", read_sources("agent"), (), self._say, manifest=manifest)
        remove_orphans()
        place = self._place = Place.make(self.release.version)
        try:
            hosts = self._hosts = make_hosts(place, self.cluster, self.options)
            hosts.make()
            self.unrealised = hosts.unrealised
            # Storm's servers listen at all addresses of their host: on loopback those of the whole machine.
            has_agent = self.release.needs_agent or hosts.host(MASTER).namespace is None
            java = Java(runtime.home, jars, agent if has_agent else None)
            logs = (self._folder or place.folder) / "logs"
            token = place.record.token
            fleet = Fleet(self.release, self.cluster, hosts, java, place.folder, logs, token)
            self._daemons = fleet
            fleet.start(self._settings, self.scheduler_socket if self._bridged else None, player)
            hosts.hold_back()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the cluster: no process, namespace, control group or file of it is left."""
        if self._place is None:
            return
        with undisturbed():
            place, self._place = self._place, None
            if self._daemons is not None:
                self._daemons.close()
            remove_cluster(place)
            if self._hosts is not None:
                self._hosts.give_back()
            if self._daemons is not None:
                self._daemons.collect()

    def leave(self) -> None:
        """Let the cluster go on without this process, until ``storm-lab live down``."""
        place = self._here
        self._fleet.close()
        place.release()
        self._place = None


def to_stderr(line: str) -> None:
    """Tell the user something."""
    print(f"storm-lab: {line}", file=sys.stderr, flush=True)
