"""The hosts of a cluster on this machine: namespaces with limits, or plain processes on loopback.

Every node of the `Cluster` becomes a host. One more, `MASTER`, is for ZooKeeper and Nimbus.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from storm_lab.errors import UserError
from storm_lab.live.cgroups import PERIOD_US, CpuUse, Group
from storm_lab.live.netns import RUN
from storm_lab.machine.facts import usable_cores, values_of
from storm_lab.model.checks import check_number
from storm_lab.model.cluster import Cluster

MASTER = "master"
"""Name of the host of ZooKeeper and Nimbus."""

MACHINE_SHARE = 0.9
"""Largest part of the machine's cores that a cluster may use: the kernel's own threads need the rest.

Source: on two cores a group without this cap starved kernel workers until ZooKeeper's sessions timed out.
"""

WEIGHT = 1000
"""CPU weight of a cluster (1 to 10,000); every other program on the machine has 100.

Ten times the usual weight suffices to take precedence over a few other programs. A program with a negative
nice value has up to 8,700.
"""

_CPUINFO = Path("/proc/cpuinfo")

HostKind = Literal["auto", "namespaces", "loopback"]

_LEAST_MEMORY_MB = 512
"""With less memory a supervisor (about 150 MB), a worker and its log writer do not fit together."""


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a cluster's description becomes hosts.

    Args:
        kind: what a node is; ``auto`` = namespaces if they can be made, else plain processes on loopback.
        cpu_scale: part of a node's clock that it is given: 1 = a node of one core at 2,000 MHz gets 2,000 MHz
            of this machine. None means 1, or the same smaller part for all nodes if they do not fit on the
            machine.
        limit_cpu: whether nodes get CPU quotas.
        pinned: each node gets as many cores of the machine as it has, and no others, instead of a quota.
            Processes under a quota stand still for most of each period, and then find more work waiting than
            they would on a core of their own.
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
        if self.group is None or "memory" not in self.group.controllers:
            return 0
        return self.group.memory_kills()


_ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"'


def cpu_quotas(cluster: Cluster, options: HostOptions) -> dict[str, float]:
    """Return the cores of this machine that each node may use: its own by clock, scaled so that all fit."""
    clock = machine_mhz()
    cores = MACHINE_SHARE * usable_cores()
    wanted = {node.id: node.capacity_mhz / clock for node in cluster.nodes}
    scale = options.cpu_scale if options.cpu_scale is not None else min(1.0, cores / sum(wanted.values()))
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
        raise UserError(
            "is reserved for the host of Nimbus", field="node", value=MASTER, remedy="choose another name"
        )
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
            raise UserError(
                "not enough for a supervisor and a worker",
                field=f"memory_mb of node {node.id}",
                value=node.memory_mb,
                remedy=f"give it at least {_LEAST_MEMORY_MB}",
            )


_MOST_NODES = 200
_MOST_LATENCY_US = 1_000_000
