"""T-Storm's Algorithm 1: traffic-aware online scheduling with consolidation.

Executors in order of traffic, each to the feasible node with which it already exchanges most. ``gamma``
bounds the executors per node: the larger, the fewer nodes. Source: T-Storm (ICDCS 2014), section IV-C.
Whether a new schedule is adopted is for the schedule generator to say, not for this policy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from storm_lab.model import ACKER, Executor, Slot
from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.keeping import in_view_order, nothing_changes
from storm_lab.schedulers.parameters import bounded, check_ranges, described, one_of
from storm_lab.schedulers.slot_book import SlotBook
from storm_lab.schedulers.traffic import Neighbours
from storm_lab.schedulers.tstorm_initial import TStormInitialScheduler
from storm_lab.schedulers.view_checks import check_view

_ROUNDING_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class TStormParameters:
    """Parameters of T-Storm. Defaults are the recommended readings of what the paper leaves open."""

    gamma: float = bounded(1.7, low=1.0, doc="consolidation factor: executors per node over the even spread")
    capacity_fraction: float = bounded(0.9, low=0.01, high=1.0, doc="share of a node's MHz that may be used")
    cap: str = one_of(
        "floor",
        ("floor", "ceil", "round", "at-least-even"),
        doc="rounding of gamma*N_e/K; at-least-even: floor, but never below ceil(N_e/K)",
    )
    count_ackers: bool = described(True, "whether ackers count in N_e and against the cap")
    ties: str = one_of(
        "used-first",
        ("used-first", "lowest-index", "emptiest"),
        doc="among nodes of equal traffic; used-first: used, then fuller, then lower index",
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    def executors_per_node(self, executors: int, nodes: int) -> int:
        """The cap of constraint 3 for ``N_e`` executors on ``K`` nodes."""
        even = executors / nodes
        exact = self.gamma * even
        floor = math.floor(exact + _ROUNDING_SLACK)
        if self.cap == "ceil":
            return math.ceil(exact - _ROUNDING_SLACK)
        if self.cap == "round":
            return math.floor(exact + 0.5 + _ROUNDING_SLACK)
        if self.cap == "at-least-even":
            return max(floor, math.ceil(even - _ROUNDING_SLACK))
        return floor


class TStormScheduler(Scheduler[TStormParameters]):
    """Algorithm 1 over all topologies at once; the initial assignment while nothing has been measured."""

    name: ClassVar[str] = "tstorm"
    version: ClassVar[str] = "1"
    Parameters: ClassVar[type] = TStormParameters
    rename_invariant: ClassVar[bool] = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place every executor anew. If one has no feasible slot there is no new schedule, and all stays."""
        check_view(view)
        if view.load is None:
            return TStormInitialScheduler().schedule(view)
        journal = Journal(view)
        executors = [e for topology in view.topologies for e in view.executors[topology.id]]
        graph = Neighbours.of(executors, view.load.traffic)
        nodes = Nodes(view, self.parameters)
        placed: dict[Executor, Slot] = {}
        for i in traffic_order(graph):
            executor = executors[i]
            node = nodes.choose(executor, i, graph.near[i], journal)
            if node is None:
                return nothing_changes(
                    view,
                    f"no new schedule: executor {executor} of {executor.topology} has no feasible slot "
                    f"({nodes.why_not(executor)}); the present assignment stays",
                    journal,
                )
            placed[executor] = nodes.put(executor, i, node)
        status = {
            topology.id: TopologyStatus(True, f"Scheduled by T-Storm, gamma {self.parameters.gamma:g}")
            for topology in view.topologies
        }
        return SchedulingResult(
            in_view_order(view, placed), status, journal.decisions, {"nodes used": float(nodes.used_count())}
        )


def traffic_order(graph: Neighbours) -> list[int]:
    """Executors by total traffic, most first; equal ones in their given order."""
    totals = [graph.total(i) for i in range(len(graph.near))]
    return sorted(range(len(totals)), key=lambda i: -totals[i])


class Nodes:
    """Load, count and slots of the nodes as vectors, so that one executor costs one pass over the nodes."""

    def __init__(self, view: SchedulingView, parameters: TStormParameters) -> None:
        assert view.load is not None
        self._parameters = parameters
        self._cpu_of = view.load.cpu_mhz
        self._book = SlotBook(view, [topology.id for topology in view.topologies])
        size = len(self._book.nodes)
        self._free = np.array([self._book.free_count(n) for n in range(size)], dtype=np.int64)
        counted = [e for executors in view.executors.values() for e in executors if self._counts(e)]
        available = int((self._free > 0).sum())
        self.cap = parameters.executors_per_node(len(counted), available) if available else 0
        self._capacity = np.array([n.capacity_mhz * parameters.capacity_fraction for n in view.cluster.nodes])
        self._load = np.zeros(size)
        self._count = np.zeros(size, dtype=np.int64)
        self._inhabited = np.zeros(size, dtype=np.int64)
        self._worker: dict[str, NDArray[np.bool_]] = {
            t.id: np.zeros(size, dtype=bool) for t in view.topologies
        }
        self._place: dict[int, int] = {}

    def _counts(self, executor: Executor) -> bool:
        return self._parameters.count_ackers or executor.component != ACKER

    def used_count(self) -> int:
        """Number of nodes with at least one executor."""
        return int((self._inhabited > 0).sum())

    def _constraints(
        self, executor: Executor
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Per node: has a slot for the executor, has the CPU, is below the cap."""
        slot = self._worker[executor.topology] | (self._free > 0)
        cpu = self._load + self._cpu_of.get(executor, 0.0) <= self._capacity * (1.0 + _ROUNDING_SLACK)
        if self._counts(executor):
            below = self._count + 1 <= self.cap
        else:
            below = np.ones(len(self._count), dtype=bool)
        return slot, cpu, below

    def _traffic_with(self, near: Sequence[tuple[int, float]]) -> NDArray[np.float64]:
        """Traffic of an executor with those already on each node, tuples per second."""
        local = np.zeros(len(self._count))
        place = self._place
        for peer, rate in near:
            node = place.get(peer, -1)
            if node >= 0:
                local[node] += rate
        return local

    def choose(
        self, executor: Executor, number: int, near: Sequence[tuple[int, float]], journal: Journal
    ) -> int | None:
        """The feasible node that adds least inter-node traffic, or None."""
        slot, cpu, below = self._constraints(executor)
        feasible = slot & cpu & below
        local = self._traffic_with(near)
        node = self._best(feasible, local)
        if journal.wanted:
            self._explain(executor, node, (slot, cpu, below), local, journal)
        return node

    def _best(self, feasible: NDArray[np.bool_], local: NDArray[np.float64]) -> int | None:
        if not feasible.any():
            return None
        most = float(local[feasible].max())
        # Sums in another order differ in their last digits; that must not decide.
        tied = np.flatnonzero(feasible & (local >= most - _ROUNDING_SLACK * max(1.0, most)))
        if self._parameters.ties == "lowest-index":
            return int(tied[0])
        inhabitants = self._inhabited[tied]
        pick = inhabitants.argmin() if self._parameters.ties == "emptiest" else inhabitants.argmax()
        return int(tied[pick])

    def put(self, executor: Executor, number: int, node: int) -> Slot:
        """Place an executor on a node; returns its slot."""
        worker = self._worker[executor.topology]
        slot = self._book.take(executor.topology, node)
        if not worker[node]:
            worker[node] = True
            self._free[node] -= 1
        self._load[node] += self._cpu_of.get(executor, 0.0)
        self._count[node] += self._counts(executor)
        self._inhabited[node] += 1
        self._place[number] = node
        return slot

    def why_not(self, executor: Executor) -> str:
        """How many nodes each constraint rules out."""
        slot, cpu, below = self._constraints(executor)
        return (
            f"of {len(slot)} nodes {int((~slot).sum())} have no slot, {int((~cpu).sum())} lack CPU, "
            f"{int((~below).sum())} have reached the cap of {self.cap} executors"
        )

    def _explain(
        self,
        executor: Executor,
        choice: int | None,
        masks: Sequence[NDArray[Any]],
        local: NDArray[Any],
        journal: Journal,
    ) -> None:
        _, cpu_mask, below_mask = masks
        exchanged = float(local.sum())
        candidates = []
        for n in range(len(local)):
            slot = self._book.peek(executor.topology, n)
            if slot is None:
                continue
            if not below_mask[n]:
                reason: str | None = f"cap of {self.cap} executors per node"
            elif not cpu_mask[n]:
                reason = f"CPU: {self._load[n]:g} of {self._capacity[n]:g} MHz in use"
            else:
                reason = None
            candidates.append(Candidate(slot, exchanged - float(local[n]), reason))
        chosen = None if choice is None else self._book.peek(executor.topology, choice)
        journal.record(
            executor, chosen, candidates, score_name="added inter-node traffic, tuples/s (lowest wins)"
        )
