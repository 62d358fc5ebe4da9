"""The hosts of a cluster on this machine: namespaces with limits, or plain processes on loopback.

Every node of the `Cluster` becomes a host. One more, `MASTER`, is for ZooKeeper and Nimbus.
"""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from storm_lab.errors import UserError
from storm_lab.live.cgroups import PERIOD_US, SLICE_US, CpuUse, Group, hierarchies, set_slice, slice_us
from storm_lab.live.netns import RUN, Network, why_no_namespaces
from storm_lab.live.processes import NOBODYS_ADDRESS, listens
from storm_lab.live.records import Place
from storm_lab.machine.facts import usable_cores, values_of
from storm_lab.model.checks import check_number
from storm_lab.model.cluster import Cluster

MASTER = "master"
"""Name of the host of ZooKeeper and Nimbus."""

ZOOKEEPER_PORT, NIMBUS_PORT, SUPERVISOR_PORT = 2181, 6627, 6628
"""Ports that Storm's daemons listen on; that of supervisors since 2.0."""

MACHINE_SHARE = 0.9
"""Largest part of the machine's cores that a cluster may use: the kernel's own threads need the rest.

Source: on two cores a group without this cap starved kernel workers until ZooKeeper's sessions timed out.
"""

WEIGHT = 1000
"""CPU weight of a cluster (1 to 10,000): it takes precedence over a few other programs, which have 100."""

_FOR_NAMESPACES = "run as root, with iproute2 and util-linux installed"
_CPUINFO = Path("/proc/cpuinfo")

HostKind = Literal["auto", "namespaces", "loopback"]

_LEAST_MEMORY_MB = 512
"""With less memory a supervisor (about 150 MB), a worker and its log writer do not fit together."""
_MOST_NODES, _MOST_LATENCY_US = 200, 1_000_000


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a cluster's description becomes hosts.

    Args:
        kind: what a node is; ``auto`` = namespaces if they can be made, else plain processes on loopback.
        cpu_scale: part of a node's clock that it is given: 1 = a node of one core at 2,000 MHz gets 2,000 MHz
            of this machine. None means 1, or the same smaller part for all nodes if they do not fit on the
            machine.
        limit_cpu: whether nodes get CPU quotas.
        pinned: each node gets as many cores of the machine as it has, instead of a quota, under which
            processes stand still for most of each period and then find more work waiting.
        weight: the cluster's CPU weight beside other programs, of which each has 100.
        latency_us: latency added one way between any two hosts.
        rack_latency_us: further latency between racks.
    """

    kind: HostKind = "auto"
    cpu_scale: float | None = None
    limit_cpu: bool = True
    pinned: bool = False
    weight: int = WEIGHT
    latency_us: float = 0.0
    rack_latency_us: float = 0.0


@dataclass(frozen=True, slots=True)
class Host:
    """A host on which processes can be started."""

    name: str
    address: str
    """IPv4 address, known on this machine or only inside the cluster's own network."""
    namespace: str | None = None
    group: Group | None = None
    cores: float | None = None
    """Cores of this machine that its processes may use together; None = no limit."""
    period_us: int = PERIOD_US
    """Period in which the quota of ``cores`` is granted."""
    visible_cores: int | None = None
    """Number of cores that its JVMs see."""
    own_cores: tuple[int, ...] = ()
    """Numbers of the machine's cores that its processes run on; empty = all."""

    def command(self, program: Sequence[str]) -> list[str]:
        """Return the command that runs a program on this host, together with everything it starts."""
        command = list(program)
        if self.own_cores:
            command = ["taskset", "--cpu-list", ",".join(map(str, self.own_cores)), *command]
        if self.namespace is not None:
            command = ["nsenter", f"--net={RUN / self.namespace}", "--", *command]
        if self.group is None:
            return command
        entrances = [str(path) for path in self.group.entrances]
        # The shell enters the groups itself and then becomes the program, which never runs outside them.
        return ["/bin/sh", "-c", _ENTER, "storm-lab", *entrances, "--", *command]

    def cpu_use(self) -> CpuUse | None:
        """Return what its processes have used so far; None if it is not counted."""
        return None if self.group is None or "cpu" not in self.group.controllers else self.group.cpu_use()

    def memory_kills(self) -> int:
        """Return how many of its processes were killed for using too much memory; 0 if it is not counted."""
        return self.group.memory_kills() if self.group and "memory" in self.group.controllers else 0


_ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"'


def cpu_quotas(cluster: Cluster, options: HostOptions) -> dict[str, float]:
    """Return the cores of this machine that each node may use: its own by clock, scaled so that all fit."""
    clock = machine_mhz()
    cores = MACHINE_SHARE * usable_cores()
    wanted = {node.id: node.capacity_mhz / clock for node in cluster.nodes}
    scale = min(1.0, cores / sum(wanted.values())) if options.cpu_scale is None else options.cpu_scale
    return {name: share * scale for name, share in wanted.items()}


def machine_mhz(cpuinfo: Path = _CPUINFO) -> float:
    """Return the clock of this machine's cores in MHz, as the kernel reports it; 2,000 if it does not."""
    clocks = sorted(map(float, values_of(cpuinfo, "cpu MHz")))
    return clocks[len(clocks) // 2] if clocks else 2000.0


def machine_name() -> str:
    """Return a name for this machine that is derived from its processor, such as ``amd-epyc``."""
    words = re.sub(r"\(.*?\)|@.*|\b(cpu|processor)\b", " ", processor().lower())
    return "-".join(re.findall(r"[a-z0-9]+", words)) or "machine"


def processor() -> str:
    """Return the processor's name as the kernel reports it, or else the architecture's."""
    return next(iter(values_of(_CPUINFO, "model name")), platform.machine())


def check_hosts(cluster: Cluster, options: HostOptions) -> None:
    """Refuse a cluster that no machine can realise; `UserError` names field, value and remedy."""
    if not cluster.nodes:
        raise UserError("has no nodes", field="cluster", remedy="give it at least one")
    if MASTER in (node.id for node in cluster.nodes):
        message = "is reserved for the host of Nimbus"
        raise UserError(message, field="node", value=MASTER, remedy="choose another name")
    if len(cluster.nodes) > _MOST_NODES:
        raise UserError(f"must have at most {_MOST_NODES} nodes", field="cluster", value=len(cluster.nodes))
    if options.cpu_scale is not None and not options.cpu_scale > 0:
        raise UserError("must be above 0", field="cpu_scale", value=options.cpu_scale)
    if not 1 <= options.weight <= 10_000:
        raise UserError("must be 1 to 10,000", field="weight", value=options.weight)
    for field in ("latency_us", "rack_latency_us"):
        check_number("a cluster", field, getattr(options, field), high=_MOST_LATENCY_US, unit="us")
    wanted, usable = sum(node.cores for node in cluster.nodes), usable_cores()
    if options.pinned and wanted > usable:
        message = f"only {usable} cores of this machine can be assigned to nodes"
        raise UserError(message, field="cores of all nodes", value=wanted, remedy="pin a smaller cluster")
    for node in cluster.nodes:
        if node.memory_mb < _LEAST_MEMORY_MB:
            field, remedy = f"memory_mb of node {node.id}", f"give it at least {_LEAST_MEMORY_MB}"
            message = "not enough for a supervisor and a worker"
            raise UserError(message, field=field, value=node.memory_mb, remedy=remedy)


class Hosts:
    """All hosts of a cluster: one for each node, and `MASTER`.

    They are network namespaces, in control groups if there are any; or else plain processes with an address
    of their own, 127.77.x.y (x for the cluster, y for the host; 254 is not used). Raises `UserError` if the
    options demand namespaces that cannot be created.
    """

    def __init__(self, place: Place, cluster: Cluster, options: HostOptions) -> None:
        self._place = place
        self._cluster = cluster
        self._options = options
        self._hosts: dict[str, Host] = {}
        self._network: Network | None = None
        self._claim: socket.socket | None = None
        self.unrealised: tuple[str, ...] = ()
        """Parts of the description that this machine could not realise, one line each."""
        why: str | None = "as requested"
        if options.kind != "loopback" and (why := why_no_namespaces()) is not None:
            why = f"network namespaces cannot be created: {why}"
            if options.kind == "namespaces":
                remedy = f"{_FOR_NAMESPACES}, or use loopback"
                raise UserError(why, field="hosts", value=options.kind, remedy=remedy)
        if why is None:
            self._network = Network(place.record.token)
        else:
            self.unrealised = (f"CPU, memory and links of nodes (plain processes on loopback, {why})",)

    def host(self, name: str) -> Host:
        """Return the host of that name."""
        return self._hosts[name]

    def make(self) -> None:
        """Make the hosts. Everything that is made can be found by the token of the cluster's record."""
        if self._network is not None:
            self._make_namespaces(self._network)
            return
        _check_ports(self._cluster)
        net = self._claim_net()
        names = [MASTER, *(node.id for node in self._cluster.nodes)]
        self._hosts = {name: Host(name, f"127.77.{net}.{index + 1}") for index, name in enumerate(names)}

    def apply_quotas(self) -> None:
        """Put the CPU quotas into force, if there are any; starting daemons under them would take minutes."""
        held = [(host, cores) for host in self._hosts.values() if (cores := host.cores) is not None]
        for host, cores in held:
            if host.group is not None and "cpu" in host.group.controllers:
                host.group.limit_cpu(cores, host.period_us)
        before = slice_us()
        if held and before is not None and before > SLICE_US:
            self._place.note(quota_slice_us=before)
            if not set_slice(SLICE_US):
                self._place.note(quota_slice_us=None)

    def release(self) -> None:
        """Release what this process holds for them; the rest is removed by the cluster's token."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def set_link(self, one: str, other: str | None, *, up: bool) -> None:
        """Cut a host off from another one, or from all others if None, or reconnect them."""
        if self._network is None:
            message = "plain processes on loopback have no links to cut"
            raise UserError(message, field="node", value=one, remedy=_FOR_NAMESPACES)
        if other is None:
            self._network.set_link(str(self._hosts[one].namespace), up)
            return
        for here, there in ((one, other), (other, one)):
            namespace = str(self._hosts[here].namespace)
            self._network.set_path(namespace, self._hosts[there].address, up)

    def _claim_net(self) -> int:
        """Return an x of 127.77.x.y that no other cluster uses, of whichever user."""
        for net in range(1, 255):
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                # Held while this process lives; later the ZooKeeper of a cluster left running shows its use.
                claim.bind((f"127.77.{net}.254", ZOOKEEPER_PORT))
            except OSError:
                claim.close()
                continue
            if not listens(os.getpid(), ZOOKEEPER_PORT, f"127.77.{net}.1"):
                self._claim = claim
                return net
            claim.close()
        raise UserError("254 clusters already run on loopback", remedy="end one: storm-lab live down")

    def _make_namespaces(self, network: Network) -> None:
        cluster_group = Group.of_cluster(self._place.record.token, hierarchies())
        self._place.note(cgroups=tuple(map(str, cluster_group.folders)))
        controllers = cluster_group.controllers
        why_none = "" if controllers else "this process may not create control groups"
        try:
            cluster_group.make()
        except OSError as error:
            why_none = f"control groups cannot be created: {error.strerror}"
        wanted = {"cpu": "CPU of nodes", "memory": "memory of nodes"}
        missing = [
            f"{what} (no control group for it)" for name, what in wanted.items() if name not in controllers
        ]
        if why_none:
            missing = [f"CPU and memory of nodes ({why_none})"]
        limits = self._options.limit_cpu and not self._options.pinned
        quotas = cpu_quotas(self._cluster, self._options) if limits and not why_none else {}
        free_cores = sorted(os.sched_getaffinity(0))
        if "cpu" in controllers and not why_none:
            try:
                cluster_group.limit_cpu(MACHINE_SHARE * usable_cores())
            except UserError as error:
                # In a container with less CPU that limit applies, and nodes may have quotas below it.
                missing.append(f"CPU limit of the cluster ({error.message})")
            cluster_group.weigh(self._options.weight)
        network.make()
        rack = self._cluster.nodes[0].rack
        for index, node in enumerate((None, *self._cluster.nodes)):
            name = MASTER if node is None else node.id
            group = None if why_none else cluster_group.make_host(f"host{index}")
            address = f"10.77.{index // 250}.{index % 250 + 1}"
            namespace = network.add_host(rack if node is None else node.rack, f"{address}/16")
            speed_mbps = 0.0 if node is None else node.nic_mbps
            missing += network.shape_host(namespace, self._options.latency_us, speed_mbps)
            host = Host(name, address, namespace, group)
            if node is not None:
                if group is not None and "memory" in controllers:
                    group.limit_memory(node.memory_mb)
                if self._options.pinned:
                    host = replace(host, own_cores=tuple(free_cores[: node.cores]))
                    free_cores = free_cores[node.cores :]
                if limits:
                    host = replace(
                        host, cores=quotas.get(name), visible_cores=node.cores * node.threads_per_core
                    )
                if node.cpu_quota is not None:
                    host = replace(host, period_us=round(node.quota_period_ms * 1000))
            self._hosts[name] = host
        for name in self._cluster.racks:
            missing += network.shape_rack(name, self._options.rack_latency_us)
        self.unrealised = tuple(dict.fromkeys(missing))


def _check_ports(cluster: Cluster) -> None:
    """Refuse ports that other programs use at all addresses of the machine; `UserError` names the first."""
    workers = {port for node in cluster.nodes for port in node.ports}
    for port in (ZOOKEEPER_PORT, NIMBUS_PORT, SUPERVISOR_PORT, *sorted(workers)):
        if listens(os.getpid(), port, NOBODYS_ADDRESS):
            message = "another program uses this port at all addresses of the machine"
            remedy = "end that program, or use network namespaces (as root)"
            raise UserError(message, field="port", value=port, remedy=remedy)
