"""The worker JVMs of a cluster, found among its processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from storm_lab.live.processes import command_line, started_ns
from storm_lab.model.cluster import Slot


@dataclass(frozen=True, slots=True)
class LiveWorker:
    """A worker JVM that was found running."""

    slot: Slot
    pid: int
    topology_id: str
    """Storm's own id of the topology: name, number and time."""
    started_ns: int
    """CLOCK_MONOTONIC."""


def find_workers(pids: Iterable[int], nodes: Mapping[str, str], main: str) -> list[LiveWorker]:
    """The workers among processes, in order of nodes and ports.

    Args:
        pids: ids of processes.
        nodes: node id by the folder that is its storm.home.
        main: class of a worker in this release.
    """
    order = {node: index for index, node in enumerate(nodes.values())}
    found = []
    for pid in pids:
        words = command_line(pid)
        # A log writer's line (2.x) ends in the worker's: only the worker's own class comes first.
        if main_class(words) != main:
            continue
        values = dict(word[2:].split("=", 1) for word in words if word.startswith("-D") and "=" in word)
        node = nodes.get(values.get("storm.home", ""))
        if node is None:
            continue
        try:
            since = started_ns(pid)
        except ProcessLookupError:
            continue
        found.append(LiveWorker(Slot(node, int(values["worker.port"])), pid, values["storm.id"], since))
    return sorted(found, key=lambda worker: (order[worker.slot.node], worker.slot.port))


def main_class(words: Iterable[str]) -> str | None:
    """The class that a JVM's line says to run: the first word behind its options; None if there is none."""
    rest = iter(words)
    next(rest, None)
    for word in rest:
        if word in ("-cp", "-classpath", "--class-path"):
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return None
