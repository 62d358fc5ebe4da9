"""Graph partitioning of the measured traffic: as many parts as machines, little traffic between them.

Source: Fischer and Bernstein, as MF-Storm and R-Storm describe it: the communication graph is cut into
    balanced
parts (they use METIS), and computing resources are ignored. Here one part becomes one worker.
"""

from __future__ import annotations

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
from storm_lab.schedulers.cuts import parts_of_equal_size
from storm_lab.schedulers.keeping import in_view_order
from storm_lab.schedulers.parameters import check_ranges, described
from storm_lab.schedulers.slot_book import SlotBook
from storm_lab.schedulers.traffic import Neighbours, estimated_traffic, measured_traffic
from storm_lab.schedulers.view_checks import check_view


@dataclass(frozen=True, slots=True)
class PartitionParameters:
    """Parameters of the partitioner."""

    one_part_per_node: bool = described(
        True, "at most one part per node, whatever number of workers was asked for; else one part per worker"
    )

    def __post_init__(self) -> None:
        check_ranges(self)


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
            for part in sorted(parts, key=len, reverse=True):
                node = min(nodes, key=lambda n: (crowd[n], n))
                slot = book.take_new(topology.id, node)
                free[node] -= 1
                if self.parameters.one_part_per_node or not free[node]:
                    nodes.remove(node)
                crowd[node] += len(part)
                for executor in part:
                    placed[executor] = slot
                    journal.record(
                        executor,
                        slot,
                        [Candidate(slot, float(len(part)))],
                        score_name="executors in the part",
                        note="its part of the traffic graph",
                    )
            status[topology.id] = TopologyStatus(
                True, f"Scheduled in {len(parts)} parts of the traffic graph"
            )
        return SchedulingResult(in_view_order(view, placed), status, journal.decisions)


def cut_topology(view: SchedulingView, topology: Topology, parts: int) -> list[list[Executor]]:
    """The executors in ``parts`` parts of equal size (within one), with little traffic between them."""
    executors = view.executors[topology.id]
    if view.load is None:
        traffic = estimated_traffic(topology, executors)
    else:
        traffic = measured_traffic(view.load, topology.id)
    graph = Neighbours.of(executors, traffic)
    place = parts_of_equal_size([dict(row) for row in graph.near], min(parts, len(executors)))
    groups: list[list[Executor]] = [[] for _ in range(max(place) + 1)]
    for executor, part in zip(executors, place, strict=True):
        groups[part].append(executor)
    return [group for group in groups if group]
