"""Makes a cluster's hosts: network namespaces with limits, or plain addresses on loopback."""

from __future__ import annotations

import os
import socket

from storm_lab.errors import StormLabError, UserError
from storm_lab.live.cgroups import PERIOD_US, SLICE_US, Group, hierarchies, set_slice, slice_us
from storm_lab.live.daemons import NIMBUS_PORT, SUPERVISOR_PORT, ZOOKEEPER_PORT
from storm_lab.live.hosts import MACHINE_SHARE, MASTER, Host, HostOptions, cpu_quotas
from storm_lab.live.netns import Network, why_no_namespaces
from storm_lab.live.processes import NOBODYS_ADDRESS, listens
from storm_lab.live.records import Place
from storm_lab.machine.facts import usable_cores
from storm_lab.model.cluster import Cluster, Node


class Hosts:
    """All hosts of a cluster: one for each node, and `MASTER`."""

    def __init__(self, place: Place, cluster: Cluster) -> None:
        self._place = place
        self._cluster = cluster
        self._hosts: dict[str, Host] = {}
        self.unrealised: tuple[str, ...] = ()
        """Parts of the description that this machine could not realise, one line each."""

    def host(self, name: str) -> Host:
        """Return the host of that name."""
        return self._hosts[name]

    def make(self) -> None:
        """Make the hosts. Everything that is made can be found by the token of the cluster's record."""
        raise NotImplementedError

    def apply_quotas(self) -> None:
        """Put the CPU quotas into force, if there are any; starting daemons under them would take minutes."""

    def release(self) -> None:
        """Release what this process holds for them; the rest is removed by the cluster's token."""

    def set_link(self, one: str, other: str | None, *, up: bool) -> None:
        """Cut a host off from another one, or from all others if None, or reconnect them."""
        raise NotImplementedError


def make_hosts(place: Place, cluster: Cluster, options: HostOptions) -> Hosts:
    """Return hosts of the kind that options and machine allow, not made yet; `UserError` if there is none."""
    if options.kind == "loopback":
        return _LoopbackHosts(place, cluster, "as requested")
    why = why_no_namespaces()
    if why is None:
        return _NamespaceHosts(place, cluster, options)
    if options.kind == "namespaces":
        message = f"network namespaces cannot be created: {why}"
        raise UserError(message, field="hosts", value=options.kind, remedy="run as root, or use loopback")
    return _LoopbackHosts(place, cluster, f"network namespaces cannot be created: {why}")


class _LoopbackHosts(Hosts):
    """Hosts that are only addresses: 127.77.x.y, x for the cluster, y for the host (254 is not used)."""

    def __init__(self, place: Place, cluster: Cluster, why: str) -> None:
        super().__init__(place, cluster)
        self._claim: socket.socket | None = None
        self.unrealised = (f"CPU, memory and links of nodes (plain processes on loopback, {why})",)

    def make(self) -> None:
        _check_ports(self._cluster)
        net = self._claim_net()
        names = [MASTER, *(node.id for node in self._cluster.nodes)]
        self._hosts = {name: Host(name, f"127.77.{net}.{index + 1}") for index, name in enumerate(names)}

    def _claim_net(self) -> int:
        """Return an x of 127.77.x.y that no other cluster uses, of whichever user."""
        for net in range(1, 255):
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                # Held as long as this process lives. Later the ZooKeeper of a cluster left running shows that
                # x is used.
                claim.bind((f"127.77.{net}.254", ZOOKEEPER_PORT))
            except OSError:
                claim.close()
                continue
            if not listens(os.getpid(), ZOOKEEPER_PORT, f"127.77.{net}.1"):
                self._claim = claim
                return net
            claim.close()
        raise UserError("254 clusters already run on loopback", remedy="end one: storm-lab live down")

    def release(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def set_link(self, one: str, other: str | None, *, up: bool) -> None:
        message = "plain processes on loopback have no links to cut"
        remedy = "run as a user who may create network namespaces (root)"
        raise UserError(message, field="node", value=one, remedy=remedy)


def _check_ports(cluster: Cluster) -> None:
    """Refuse ports that other programs use at all addresses of the machine; `UserError` names the first."""
    workers = {port for node in cluster.nodes for port in node.ports}
    for port in (ZOOKEEPER_PORT, NIMBUS_PORT, SUPERVISOR_PORT, *sorted(workers)):
        if listens(os.getpid(), port, NOBODYS_ADDRESS):
            message = "another program uses this port at all addresses of the machine"
            remedy = "end that program, or use network namespaces (as root)"
            raise UserError(message, field="port", value=port, remedy=remedy)


class _NamespaceHosts(Hosts):
    """Hosts that are network namespaces, in control groups if there are any."""

    def __init__(self, place: Place, cluster: Cluster, options: HostOptions) -> None:
        super().__init__(place, cluster)
        self._options = options
        self._network = Network(place.record.token)

    def make(self) -> None:
        cluster_group = Group.of_cluster(self._place.record.token, hierarchies())
        self._place.note(cgroups=tuple(map(str, cluster_group.folders)))
        controllers = cluster_group.controllers
        why_none = "" if controllers else "this process may not create control groups"
        try:
            cluster_group.make()
        except OSError as error:
            why_none = f"control groups cannot be created: {error.strerror}"
        missing = [f"CPU and memory of nodes ({why_none})"] if why_none else []
        limits = self._options.limit_cpu and not self._options.pinned
        quotas = cpu_quotas(self._cluster, self._options) if limits and not why_none else {}
        free_cores = sorted(os.sched_getaffinity(0))
        if "cpu" in controllers and not why_none:
            cluster_group.limit_cpu(MACHINE_SHARE * usable_cores())
            cluster_group.weigh(self._options.weight)
        self._network.make()
        rack = self._cluster.nodes[0].rack
        for index, (name, node) in enumerate(
            [(MASTER, None), *((node.id, node) for node in self._cluster.nodes)]
        ):
            group = None if why_none else cluster_group.make_host(f"host{index}")
            address = f"10.77.{index // 250}.{index % 250 + 1}"
            namespace = self._network.add_host(rack if node is None else node.rack, f"{address}/16")
            speed_mbps = 0.0 if node is None else node.nic_mbps
            missing += self._network.shape_host(namespace, self._options.latency_us, speed_mbps)
            if node is not None and group is not None:
                missing += _limit_memory(group, node)
                if "cpu" not in controllers:
                    missing.append("CPU of nodes (no control group for it)")
            own_cores: tuple[int, ...] = ()
            if node is not None and self._options.pinned:
                own_cores, free_cores = tuple(free_cores[: node.cores]), free_cores[node.cores :]
            self._hosts[name] = Host(
                name,
                address,
                namespace,
                group,
                cores=quotas.get(name),
                period_us=_period_us(node),
                visible_cores=node.cores * node.threads_per_core if node is not None and limits else None,
                own_cores=own_cores,
            )
        for name in self._cluster.racks:
            missing += self._network.shape_rack(name, self._options.rack_latency_us)
        self.unrealised = tuple(dict.fromkeys(missing))

    def apply_quotas(self) -> None:
        held = [(host, cores) for host in self._hosts.values() if (cores := host.cores) is not None]
        for host, cores in held:
            if host.group is not None and "cpu" in host.group.controllers:
                host.group.limit_cpu(cores, host.period_us)
        before = slice_us()
        if held and before is not None and before > SLICE_US:
            self._place.note(quota_slice_us=before)
            if not set_slice(SLICE_US):
                self._place.note(quota_slice_us=None)

    def set_link(self, one: str, other: str | None, *, up: bool) -> None:
        if other is None:
            self._network.set_link(str(self._hosts[one].namespace), up)
            return
        for here, there in ((one, other), (other, one)):
            namespace = str(self._hosts[here].namespace)
            self._network.set_path(namespace, self._hosts[there].address, up)


def _period_us(node: Node | None) -> int:
    """Return the period of a host's quota: that of its node, if the node states a quota."""
    return PERIOD_US if node is None or node.cpu_quota is None else round(node.quota_period_ms * 1000)


def _limit_memory(group: Group, node: Node) -> tuple[str, ...]:
    if "memory" not in group.controllers:
        return ("memory of nodes (no control group for it)",)
    try:
        group.limit_memory(node.memory_mb)
    except OSError as error:
        raise StormLabError(f"memory limit of node {node.id}: {error.strerror}") from error
    return ()
