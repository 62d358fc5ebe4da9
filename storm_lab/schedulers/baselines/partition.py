"""Graph partitioning of the measured traffic: as many parts as machines, with little traffic between them.

Source: Fischer and Bernstein, as described by MF-Storm and R-Storm. The communication graph is cut into
balanced parts (they use METIS), and computing resources are ignored. Here, each part becomes a worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.model import Executor, Slot, Topology
from storm_lab.schedulers.contract import Candidate, Journal, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.cuts import parts_of_equal_size
from storm_lab.schedulers.graph.traffic import Neighbours, expected_traffic
from storm_lab.schedulers.keeping import Round, SlotBook
from storm_lab.schedulers.parameters import PolicyParameters, parameter


@dataclass(frozen=True, slots=True)
class PartitionParameters(PolicyParameters):
    """Parameters of the partitioner."""

    one_part_per_node: bool = parameter(True)  # at most; else one part per requested worker


class PartitionScheduler(Scheduler[PartitionParameters]):
    """Balanced graph partitioning; cold starts use traffic estimated from the topology."""

    name = "partition"
    version = "2"
    Parameters = PartitionParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Cut every topology into parts and put them on the nodes with the fewest executors.

        Raises `UserError` if nothing was measured and a topology has a cycle, because traffic cannot be
        estimated.
        """
        work = Round(view)
        book = SlotBook(view)
        free = book.free_counts()
        executors_on = [0] * len(free)
        for topology in view.topologies:
            nodes = [n for n, slots in enumerate(free) if slots > 0]
            if not nodes:
                work.failed(topology.id, "no free slot in the cluster")
                continue
            slots = len(nodes) if self.parameters.one_part_per_node else sum(free)
            parts = cut_topology(view, topology, min(topology.workers, slots))
            chosen: list[tuple[Slot, list[Executor]]] = []
            for part in sorted(parts, key=len, reverse=True):
                node = min(nodes, key=lambda n: (executors_on[n], n))
                slot = book.take_new(topology.id, node, part)
                free[node] -= 1
                if self.parameters.one_part_per_node or not free[node]:
                    nodes.remove(node)
                executors_on[node] += len(part)
                work.placed.update(dict.fromkeys(part, slot))
                chosen.append((slot, part))
            if view.explain:
                _explain(view, topology, chosen, work.journal)
            work.scheduled(topology.id, f"Scheduled in {len(parts)} parts of the traffic graph")
        return work.result()


def cut_topology(view: SchedulingView, topology: Topology, parts: int) -> list[list[Executor]]:
    """Divide the executors into ``parts`` parts of equal size (within one), with little traffic between."""
    executors = view.executors[topology.id]
    graph = Neighbours.of(executors, expected_traffic(view, topology))
    groups = parts_of_equal_size(graph.near, min(parts, len(executors)))
    return [[executors[i] for i in group] for group in groups]


def _explain(
    view: SchedulingView, topology: Topology, chosen: Sequence[tuple[Slot, list[Executor]]], journal: Journal
) -> None:
    """Record each executor's traffic with every part: what it would save there if sizes were free."""
    part_of = {executor: slot for slot, part in chosen for executor in part}
    exchanged: dict[Executor, dict[Slot, float]] = {executor: {} for executor in part_of}
    for (source, target), rate in expected_traffic(view, topology).items():
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
