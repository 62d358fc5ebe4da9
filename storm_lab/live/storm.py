"""A real Storm cluster for as long as a ``with`` block lasts.

Java of this package lies in ``storm_lab/live/java/`` and is written against ``org.apache.storm``;
``Release.package`` is what stands in its place in a release (``backtype.storm`` before 1.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from storm_lab.live.submission import SchedulerPlug, Submission
from storm_lab.model.cluster import Cluster, Slot

HostKind = Literal["auto", "namespaces", "loopback"]


@dataclass(frozen=True, slots=True)
class ControlEvent:
    """Something that was done to the cluster. Times are CLOCK_MONOTONIC, as ``System.nanoTime()`` gives."""

    start_ns: int
    end_ns: int
    kind: str
    subject: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A worker JVM that was found running."""

    slot: Slot
    pid: int
    topology_id: str
    """Storm's own id of the topology: name, number and time."""
    started_ns: int
    """CLOCK_MONOTONIC."""


class LiveStorm:
    """ZooKeeper, Nimbus and a supervisor per node, as real processes.

    Args:
        version: a key of `releases.RELEASES`, such as ``2.8``, or a whole version, such as ``0.9.2``.
        cluster: the worker nodes; Nimbus and ZooKeeper get a host of their own beside them.
        scheduler: what Nimbus is to ask; its own default without.
        settings: further keys of every ``storm.yaml``.
        folder: where logs go (``folder/logs``); without, they go when the cluster goes.
        hosts: ``namespaces`` to insist on them, ``loopback`` to do without, ``auto`` to take what works.
    """

    events: list[ControlEvent]
    unrealised: tuple[str, ...]
    """What of the cluster's description this machine could not give, one line each."""

    def __init__(
        self,
        version: str,
        cluster: Cluster,
        *,
        scheduler: SchedulerPlug | None = None,
        settings: Mapping[str, object] | None = None,
        folder: Path | None = None,
        hosts: HostKind = "auto",
    ) -> None:
        raise NotImplementedError

    def __enter__(self) -> LiveStorm:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def submit(self, submission: Submission) -> None:
        """Run the submitting program; returns when it has ended well."""
        raise NotImplementedError

    def kill(self, topology: str, wait_s: int = 0) -> None:
        """Kill a topology by name and wait until it is gone."""
        raise NotImplementedError

    def rebalance(self, topology: str, *, wait_s: int = 0, workers: int | None = None) -> None:
        """Ask Nimbus to rebalance."""
        raise NotImplementedError

    def workers(self) -> list[LiveWorker]:
        """The worker JVMs that run now (never the LogWriter JVMs of 2.x)."""
        raise NotImplementedError

    def kill_worker(self, slot: Slot) -> None:
        """SIGKILL for the worker in a slot."""
        raise NotImplementedError

    def lose_node(self, node: str) -> None:
        """The node's link goes down and all its processes are killed."""
        raise NotImplementedError

    def restore_node(self, node: str) -> None:
        """The link comes back and the supervisor is started again."""
        raise NotImplementedError

    def cut_link(self, one: str, other: str | None = None) -> None:
        """No packets between two nodes, or between a node and everybody."""
        raise NotImplementedError

    def mend_link(self, one: str, other: str | None = None) -> None:
        """Packets again."""
        raise NotImplementedError

    def control(self, command: Mapping[str, object]) -> Mapping[str, object]:
        """Ask Nimbus through the class ``stormlab.Control`` (Control.java): ``{"do": "info", ...}``."""
        raise NotImplementedError

    def address(self, node: str) -> str:
        """The address that Storm knows the node by (``storm.local.hostname``)."""
        raise NotImplementedError

    def new_folder(self, name: str) -> Path:
        """A folder that every process of the cluster can write to; gone with the cluster."""
        raise NotImplementedError

    def new_socket(self, name: str) -> Path:
        """A short path for a Unix socket; gone with the cluster."""
        raise NotImplementedError
