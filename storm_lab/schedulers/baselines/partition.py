"""Graph partitioning of the measured traffic: as many parts as machines, with little traffic between them.

Source: Fischer and Bernstein, as described by MF-Storm and R-Storm. The communication graph is cut into
balanced parts (they use METIS), and computing resources are ignored. Here, each part becomes a worker.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.model import Slot
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.cuts import parts_of_equal_size
from storm_lab.schedulers.graph.traffic import Neighbours, expected_traffic
from storm_lab.schedulers.keeping import Round, SlotBook
from storm_lab.schedulers.parameters import PolicyParameters, parameter

_SCORE = "traffic with the part, tuples/s (parts are of equal size and cut together)"


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
            executors = view.executors[topology.id]
            near = Neighbours.of(executors, expected_traffic(view, topology)).near
            parts = parts_of_equal_size(near, min(topology.workers, slots, len(executors)))
            chosen: list[tuple[Slot, list[int]]] = []
            for part in sorted(parts, key=len, reverse=True):
                node = min(nodes, key=lambda n: (executors_on[n], n))
                own = [executors[i] for i in part]
                slot = book.take_new(topology.id, node, own)
                free[node] -= 1
                if self.parameters.one_part_per_node or not free[node]:
                    nodes.remove(node)
                executors_on[node] += len(part)
                work.placed.update(dict.fromkeys(own, slot))
                chosen.append((slot, part))
            for slot, part in chosen:
                for i in part:
                    candidates = (Candidate(s, float(sum(near[i].get(j, 0.0) for j in p))) for s, p in chosen)
                    note = f"part of {len(part)} executors"
                    work.journal.record(executors[i], slot, candidates, score_name=_SCORE, note=note)
            work.scheduled(topology.id, f"Scheduled in {len(parts)} parts of the traffic graph")
        return work.result()
