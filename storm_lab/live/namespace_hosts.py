"""Hosts as network namespaces, in control groups where there are any."""

from __future__ import annotations

import os

from storm_lab.errors import StormLabError
from storm_lab.live.cgroups import Group, GroupTree, hierarchies
from storm_lab.live.hosts import MACHINE_SHARE, MASTER, Host, HostOptions, cpu_quotas
from storm_lab.live.netns import Link, Network
from storm_lab.live.records import Place
from storm_lab.model.cluster import Cluster, Node


class NamespaceHosts:
    """Hosts as network namespaces, in control groups where there are any."""

    def __init__(self, place: Place, cluster: Cluster, options: HostOptions) -> None:
        self._place = place
        self._cluster = cluster
        self._options = options
        self._network = Network(place.record.token)
        self._hosts: dict[str, Host] = {}
        self.unrealised: tuple[str, ...] = ()

    def host(self, name: str) -> Host:
        """The host of that name."""
        return self._hosts[name]

    def make(self) -> None:
        """Make a network namespace and a control group for every machine."""
        token = self._place.record.token
        tree = GroupTree(token, hierarchies())
        self._place.note(hosts="namespaces", cgroups=tuple(map(str, tree.folders)))
        missing: dict[str, None] = {}
        with_groups = bool(tree.controllers)
        if with_groups:
            try:
                whole = tree.make()
            except OSError as error:
                with_groups = False
                missing[f"CPU and memory of nodes (control groups cannot be made: {error.strerror})"] = None
        else:
            missing["CPU and memory of nodes (no control groups that this process may make)"] = None
        quotas = cpu_quotas(self._cluster, self._options) if with_groups and self._options.limit_cpu else {}
        if with_groups and "cpu" in tree.controllers:
            whole.limit_cpu(MACHINE_SHARE * (os.cpu_count() or 1))
            whole.weigh(self._options.weight)
        self._network.make()
        rack = self._cluster.nodes[0].rack
        for index, (name, node) in enumerate(
            [(MASTER, None), *((node.id, node) for node in self._cluster.nodes)]
        ):
            group = tree.make_host(f"host{index}") if with_groups else None
            address = f"10.77.{index // 250}.{index % 250 + 1}"
            namespace = self._network.add_host(rack if node is None else node.rack, f"{address}/16")
            link = Link(self._options.latency_us, 0.0 if node is None else node.nic_mbps)
            missing |= dict.fromkeys(self._network.shape_host(namespace, link))
            if node is not None and group is not None and self._options.limit_memory:
                missing |= dict.fromkeys(_limit_memory(group, node))
            if node is not None and with_groups and "cpu" not in tree.controllers:
                missing["CPU of nodes (no control group for it)"] = None
            self._hosts[name] = Host(
                name,
                address,
                namespace,
                group,
                quotas.get(name),
                None if node is None or not self._options.limit_cpu else node.cores * node.threads_per_core,
            )
        for name in self._cluster.racks:
            missing |= dict.fromkeys(self._network.shape_rack(name, Link(self._options.rack_latency_us)))
        self.unrealised = tuple(missing)

    def hold_back(self) -> None:
        """Limit every machine's CPU to its cores."""
        for host in self._hosts.values():
            if host.cores is not None and host.group is not None and "cpu" in host.group.controllers:
                host.group.limit_cpu(host.cores)

    def give_back(self) -> None:
        """Nothing: the clean-up takes namespaces and groups away."""

    def set_link(self, name: str, up: bool) -> None:
        """Take a machine's link down or up."""
        namespace = self._hosts[name].namespace
        assert namespace is not None
        self._network.set_link(namespace, up)

    def set_path(self, one: str, other: str, open_: bool) -> None:
        """Close or open the way between two machines, in both directions."""
        for here, there in ((one, other), (other, one)):
            namespace = self._hosts[here].namespace
            assert namespace is not None
            self._network.set_path(namespace, self._hosts[there].address, open_)


def _limit_memory(group: Group, node: Node) -> tuple[str, ...]:
    if "memory" not in group.controllers:
        return ("memory of nodes (no control group for it)",)
    try:
        group.limit_memory(node.memory_mb)
    except OSError as error:
        raise StormLabError(f"memory limit of node {node.id}: {error.strerror}") from error
    return ()
