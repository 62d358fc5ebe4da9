"""Graph partitioning of the measured traffic: as many parts as machines, little traffic between them.

Source: Fischer and Bernstein, as MF-Storm and R-Storm describe it: the communication graph is cut into
balanced parts (they use METIS), and computing resources are ignored. Here one part becomes one worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.model import Executor, Slot, Topology
from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.graph.cuts import parts_of_equal_size
from storm_lab.schedulers.graph.traffic import Neighbours, estimated_traffic
from storm_lab.schedulers.keeping import in_view_order
from storm_lab.schedulers.parameters import check_parameters, parameter
from storm_lab.schedulers.slot_book import SlotBook
from storm_lab.schedulers.view_checks import check_view


@dataclass(frozen=True, slots=True)
class PartitionParameters:
    """Parameters of the partitioner."""

    one_part_per_node: bool = parameter(
        True, "at most one part per node, whatever number of workers was asked for; else one part per worker"
    )

    def __post_init__(self) -> None:
        check_parameters(self)


class PartitionScheduler(Scheduler[PartitionParameters]):
    """Balanced graph partitioning; cold starts use the traffic that the topology suggests."""

    name: ClassVar[str] = "partition"
    version: ClassVar[str] = "1"
    Parameters: ClassVar[type] = PartitionParameters
    rename_invariant: ClassVar[bool] = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Cut every topology into parts and put them on the nodes with fewest executors.

        Raises:
            UserError: nothing was measured and a topology has a cycle, so that its traffic cannot be guessed.
        """
        check_view(view)
        journal = Journal(view)
        book = SlotBook(view, [topology.id for topology in view.topologies])
        free = [book.free_count(node) for node in range(len(book.nodes))]
        crowd = [0] * len(free)
        placed: dict[Executor, Slot] = {}
        status = {}
        for topology in view.topologies:
            nodes = [n for n, slots in enumerate(free) if slots > 0]
            if not nodes:
                status[topology.id] = TopologyStatus(False, "no free slot in the cluster")
                continue
            slots = len(nodes) if self.parameters.one_part_per_node else sum(free)
            parts = cut_topology(view, topology, min(topology.workers, slots))
            chosen: list[tuple[Slot, list[Executor]]] = []
            for part in sorted(parts, key=len, reverse=True):
                node = min(nodes, key=lambda n: (crowd[n], n))
                slot = book.take_new(topology.id, node)
                free[node] -= 1
                if self.parameters.one_part_per_node or not free[node]:
                    nodes.remove(node)
                crowd[node] += len(part)
                placed.update(dict.fromkeys(part, slot))
                chosen.append((slot, part))
            if journal.wanted:
                _explain(view, topology, chosen, journal)
            status[topology.id] = TopologyStatus(
                True, f"Scheduled in {len(parts)} parts of the traffic graph"
            )
        return SchedulingResult(in_view_order(view, placed), status, journal.decisions)


def cut_topology(view: SchedulingView, topology: Topology, parts: int) -> list[list[Executor]]:
    """The executors in ``parts`` parts of equal size (within one), with little traffic between them."""
    executors = view.executors[topology.id]
    graph = Neighbours.of(executors, _traffic(view, topology))
    place = parts_of_equal_size([dict(row) for row in graph.near], min(parts, len(executors)))
    groups: list[list[Executor]] = [[] for _ in range(max(place) + 1)]
    for executor, part in zip(executors, place, strict=True):
        groups[part].append(executor)
    return [group for group in groups if group]


def _traffic(view: SchedulingView, topology: Topology) -> Mapping[tuple[Executor, Executor], float]:
    if view.load is None:
        return estimated_traffic(topology, view.executors[topology.id])
    return view.traffic_of(topology.id)


def _explain(
    view: SchedulingView,
    topology: Topology,
    chosen: Sequence[tuple[Slot, list[Executor]]],
    journal: Journal,
) -> None:
    """Each executor's traffic with every part: what it would save there, were it not for the equal sizes."""
    traffic = _traffic(view, topology)
    part_of = {executor: slot for slot, part in chosen for executor in part}
    exchanged: dict[Executor, dict[Slot, float]] = {executor: {} for executor in part_of}
    for (source, target), rate in traffic.items():
        if source in part_of and target in part_of:
            for executor, other in ((source, target), (target, source)):
                row = exchanged[executor]
                row[part_of[other]] = row.get(part_of[other], 0.0) + rate
    for slot, part in chosen:
        for executor in part:
            journal.record(
                executor,
                slot,
                [Candidate(other, exchanged[executor].get(other, 0.0)) for other, _ in chosen],
                score_name="traffic with the part, tuples/s (parts are of equal size and cut together)",
                note=f"part of {len(part)} executors",
            )
