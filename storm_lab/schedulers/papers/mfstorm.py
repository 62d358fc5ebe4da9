"""MF-Storm: partitions by maximum flow and minimum cut, put on the strongest nodes first.

Source: MF-Storm (PeerJ CS 2022), Algorithms 1 and 2. The paper does not say how cuts yield exactly the
required number of partitions. The reading here is recursive bisection from the spouts to the sinks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from storm_lab.model import ACKER, Executor, Node, Topology
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.cuts import evenly_divided, induced, refined
from storm_lab.schedulers.graph.traffic import component_order, expected_traffic
from storm_lab.schedulers.keeping import Round, SlotBook, incomplete_topologies
from storm_lab.schedulers.parameters import PolicyParameters, parameter

Edges = Mapping[tuple[int, int], float]

# Flows are 32-bit whole numbers; rates are scaled so that their sum stays far below that limit.
_WHOLE_FLOW = 1 << 28
_SCORE = "processing power of the node (highest wins)"


@dataclass(frozen=True, slots=True)
class MFStormParameters(PolicyParameters):
    """Parameters for what MF-Storm leaves open."""

    balance: str = parameter("even", choices=("even", "none"))  # whether parts are made even after each cut
    flops_per_cycle: float = parameter(0.0, low=0.0)  # 0: twice the clock in MHz, as printed


def processing_power(cores: int, ghz: float, flops_per_cycle: float) -> float:
    """Return the index that the paper calls GFLOPS (Table 3): cores x GHz x "FLOPs per cycle"."""
    return cores * ghz * flops_per_cycle


class MFStormScheduler(Scheduler[MFStormParameters]):
    """Max-flow min-cut partitions of each unassigned topology, mapped to nodes by processing power."""

    name = "mfstorm"
    version = "1"
    Parameters = MFStormParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Partition incomplete topologies and fill node after node; the others stay where they are.

        Raises `UserError` if a topology has a cycle.
        """
        work = Round.of_complete(view)
        todo = incomplete_topologies(view)
        book = SlotBook(view, todo)
        strongest = sorted(range(len(book.nodes)), key=lambda n: -self._power(view.cluster.nodes[n]))
        for topology_id in todo:
            topology = view.topology[topology_id]
            free = book.free_counts()
            if not any(free):
                work.failed(topology_id, "no free slot in the cluster")
                continue
            count, even = min(topology.workers, sum(free)), self.parameters.balance == "even"
            parts = partitions(view, topology, count, even)
            remaining = [n for n in strongest for _ in range(free[n])]
            for rank, (part, node) in enumerate(zip(parts, remaining, strict=False), 1):
                slot = book.take_new(topology_id, node)
                work.placed.update(dict.fromkeys(part, slot))
                if view.explain:
                    open_slots = (slot, *filter(None, (book.peek("", n) for n in strongest)))
                    candidates = [Candidate(s, self._power(view.nodes[s.node])) for s in open_slots]
                    note = f"part {rank} of {len(parts)}"
                    for executor in part:
                        work.journal.record(executor, slot, candidates, score_name=_SCORE, note=note)
            work.scheduled(topology_id, f"Scheduled by MF-Storm in {len(parts)} slots")
        return work.result()

    def _power(self, node: Node) -> float:
        factor = self.parameters.flops_per_cycle or 2.0 * node.core_mhz
        return processing_power(node.cores, node.core_mhz / 1000.0, factor)


def partitions(view: SchedulingView, topology: Topology, count: int, even: bool) -> list[list[Executor]]:
    """Divide the topology's executors into ``count`` parts (or one per executor), busiest part first.

    Ackers are not part of the topology's graph and join the smallest parts. Raises `UserError` if it has a
    cycle.
    """
    component_order(topology)
    executors = view.executors[topology.id]
    users = [e for e in executors if e.component != ACKER]
    number = {executor: i for i, executor in enumerate(users)}
    edges = {
        (number[a], number[b]): rate
        for (a, b), rate in expected_traffic(view, topology).items()
        if a in number and b in number and rate > 0
    }
    count = min(count, len(executors))
    groups = recursive_bisection(len(users), edges, min(count, len(users)), even)
    parts = [[users[i] for i in group] for group in groups] + [[] for _ in range(count - len(groups))]
    for acker in (e for e in executors if e.component == ACKER):
        min(parts, key=len).append(acker)
    inside = [0.0] * len(parts)
    part_of = {i: p for p, group in enumerate(groups) for i in group}
    for (a, b), rate in edges.items():
        if part_of[a] == part_of[b]:
            inside[part_of[a]] += rate
    order = sorted(range(len(parts)), key=lambda p: (-inside[p], -len(parts[p]), parts[p][0]))
    return [sorted(parts[p]) for p in order]


def recursive_bisection(vertices: int, edges: Edges, parts: int, even: bool) -> list[list[int]]:
    """Cut vertices ``0..vertices-1`` into ``parts`` groups by repeated minimum cuts from sources to sinks.

    Without ``even``, the largest group is cut each time. With it, group sizes differ by at most one.
    """
    out: list[dict[int, float]] = [{} for _ in range(vertices)]
    near: list[dict[int, float]] = [{} for _ in range(vertices)]
    for (a, b), weight in edges.items():
        out[a][b] = weight
    for a, row in enumerate(out):
        for b, weight in row.items():
            near[a][b] = near[a].get(b, 0.0) + weight
            near[b][a] = near[b].get(a, 0.0) + weight

    def cut(members: Sequence[int], left_size: int) -> list[int]:
        left = set(minimum_cut(out, members)[0])
        side = [0 if v in left else 1 for v in members]
        return refined(induced(near, members), [1] * len(members), side, left_size)

    if even:
        return evenly_divided(range(vertices), parts, cut)
    groups = [list(range(vertices))]
    while len(groups) < parts:
        largest = max(range(len(groups)), key=lambda g: len(groups[g]))
        groups[largest : largest + 1] = minimum_cut(out, groups[largest])
    return groups


def minimum_cut(out: Sequence[Mapping[int, float]], members: Sequence[int]) -> tuple[list[int], list[int]]:
    """Cut ``members`` between those without input and those without output, with least traffic across.

    Members without traffic to the others join the smaller side. If no member is without input, or none
    without output, as where measured traffic runs in a circle, the first half is cut from the second. Both
    sides are non-empty if there are at least two members.
    """
    number = {v: i for i, v in enumerate(members)}
    arcs = [(number[v], number[w], weight) for v in members for w, weight in out[v].items() if w in number]
    receiving, sending = {b for _, b, _ in arcs}, {a for a, _, _ in arcs}
    connected = receiving | sending
    sources, sinks = sorted(sending - receiving), sorted(receiving - sending)
    if not sources or not sinks:
        half = (len(members) + 1) // 2
        return list(members[:half]), list(members[half:])
    scale = _WHOLE_FLOW / sum(weight for _, _, weight in arcs)
    size = len(members)
    tail = [a for a, _, _ in arcs] + [size] * len(sources) + sinks
    head = [b for _, b, _ in arcs] + sources + [size + 1] * len(sinks)
    flow_limits = [max(1, round(weight * scale)) for _, _, weight in arcs]
    flow_limits += [2 * _WHOLE_FLOW] * (len(sources) + len(sinks))
    capacity = csr_matrix((np.array(flow_limits, dtype=np.int32), (tail, head)), shape=(size + 2, size + 2))
    residual = capacity - maximum_flow(capacity, size, size + 1).flow
    residual.data = np.maximum(residual.data, 0)
    residual.eliminate_zeros()
    reached = set(breadth_first_order(residual, size, return_predecessors=False).tolist())
    left = [v for v in members if number[v] in reached]
    right = [v for v in members if number[v] in connected and number[v] not in reached]
    for v in members:
        if number[v] not in connected:
            min(right, left, key=len).append(v)
    return sorted(left), sorted(right)
