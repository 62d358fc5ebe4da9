"""Hosts as nothing but addresses of their own, for those who may not make more."""

from __future__ import annotations

import os
import socket

from storm_lab.errors import UserError
from storm_lab.live.conf import NIMBUS_PORT, SUPERVISOR_PORT, ZOOKEEPER_PORT
from storm_lab.live.hosts import MASTER, Host
from storm_lab.live.processes import listens
from storm_lab.live.records import Place
from storm_lab.model.cluster import Cluster

_NOBODYS_ADDRESS = "127.77.255.254"
"""No cluster has it: who is found listening there listens everywhere."""


class LoopbackHosts:
    """Hosts as nothing but addresses: 127.77.x.y, x of the cluster, y of the host (254 is nobody's)."""

    def __init__(self, place: Place, cluster: Cluster, why: str | None = None) -> None:
        self._place = place
        self._hosts: dict[str, Host] = {}
        self._cluster = cluster
        self._claim: socket.socket | None = None
        reason = f"network namespaces cannot be made: {why}" if why else "as it was asked for"
        self.unrealised: tuple[str, ...] = (
            f"CPU, memory and links of nodes (plain processes on loopback, {reason})",
        )

    def host(self, name: str) -> Host:
        """The host of that name."""
        return self._hosts[name]

    def make(self) -> None:
        """Claim a loopback net and give every machine an address in it."""
        _check_ports(self._cluster)
        self._place.note(hosts="loopback")
        net = self._claim_net()
        names = [MASTER, *(node.id for node in self._cluster.nodes)]
        self._hosts = {name: Host(name, f"127.77.{net}.{index + 1}") for index, name in enumerate(names)}

    def _claim_net(self) -> int:
        """The x of 127.77.x.y, free of other clusters, be they of other users."""
        for net in range(1, 255):
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                # Held as long as this process lives; after that ZooKeeper of a cluster left running shows it.
                claim.bind((f"127.77.{net}.254", ZOOKEEPER_PORT))
            except OSError:
                claim.close()
                continue
            if not listens(os.getpid(), ZOOKEEPER_PORT, f"127.77.{net}.1"):
                self._claim = claim
                return net
            claim.close()
        raise UserError("254 clusters run on loopback already", remedy="end one: storm-lab live down")

    def hold_back(self) -> None:
        """Nothing: plain processes have no limits."""

    def give_back(self) -> None:
        """Let others claim the net."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def set_link(self, name: str, up: bool) -> None:
        """Refuse: there is no link to cut."""
        raise self._no_links(name)

    def set_path(self, one: str, other: str, open_: bool) -> None:
        """Refuse: there is no path to cut."""
        raise self._no_links(one)

    def _no_links(self, name: str) -> UserError:
        return UserError(
            "plain processes on loopback have no link to cut",
            field="node",
            value=name,
            remedy="run as a user who may make network namespaces (root)",
        )


def _check_ports(cluster: Cluster) -> None:
    """Refuse ports that another program has at all addresses of the machine.

    Raises:
        UserError: names the first one.
    """
    workers = {port for node in cluster.nodes for port in node.ports}
    for port in (ZOOKEEPER_PORT, NIMBUS_PORT, SUPERVISOR_PORT, *sorted(workers)):
        if listens(os.getpid(), port, _NOBODYS_ADDRESS):
            raise UserError(
                "another program listens at it at all addresses of this machine",
                field="port",
                value=port,
                remedy="end that program, or let nodes be network namespaces (as root)",
            )
