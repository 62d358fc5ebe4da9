"""MF-Storm's cluster and its six scenarios (tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from storm_lab.model.cluster import Cluster
from storm_lab.model.machines import MFSTORM, ports
from storm_lab.model.version import StormVersion

VERSION = StormVersion((2, 0, 1))
"""The paper names 2.0.1. It also names ZeroMQ, which Storm had dropped long before."""


@dataclass(frozen=True, slots=True)
class Desktop:
    """A row of table 3: cores enabled, clock in GHz, and the factor printed as FLOPs per cycle."""

    name: str
    cores: int
    ghz: float
    factor: float


DESKTOPS = tuple(
    Desktop(name, MFSTORM[name].cores, MFSTORM[name].core_mhz / 1000, factor)
    for name, factor in (("A", 6816), ("B", 6385), ("C", 6816), ("D", 6816))
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A row of table 4: slots per node, and slots that the topology asks for."""

    slots: int
    required: int

    def __str__(self) -> str:
        return f"({self.slots}, {self.required})"


SCENARIOS: Mapping[str, Scenario] = {
    "S1": Scenario(1, 1),
    "S2": Scenario(1, 2),
    "S3": Scenario(1, 3),
    "S4": Scenario(2, 2),
    "S5": Scenario(2, 3),
    "S6": Scenario(3, 3),
}


def desktops(slots: int) -> Cluster:
    """The four supervisors with ``slots`` slots each; Nimbus and ZooKeeper run on another machine.

    Resource-aware schedulers see Storm's default offers (400 points and 4096 MB), because the paper changes
    none.
    """
    return Cluster(tuple(replace(node, ports=ports(slots)) for node in MFSTORM.values()))
