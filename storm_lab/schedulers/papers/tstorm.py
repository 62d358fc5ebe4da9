"""T-Storm's Algorithm 1, traffic-aware online scheduling with consolidation, and its initial assignment.

Source: T-Storm (ICDCS 2014), section IV. Executors are placed in order of decreasing traffic, each on the
feasible node with which it exchanges most so far. ``gamma`` bounds the executors per node: the larger, the
fewer nodes. The schedule generator decides whether a new schedule is adopted, not this policy.

Unless ``monotone`` is false, all caps up to that of ``gamma`` are tried (``docs/schedulers.md`` says why).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from storm_lab.model import ACKER, Executor, Slot, acker_count
from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    NoParameters,
    Scheduler,
    SchedulingResult,
    SchedulingView,
)
from storm_lab.schedulers.graph.traffic import Neighbours
from storm_lab.schedulers.keeping import Round, SlotBook
from storm_lab.schedulers.parameters import PolicyParameters, parameter
from storm_lab.schedulers.storm.cluster_state import ClusterState
from storm_lab.schedulers.storm.default import free_uneven_workers
from storm_lab.schedulers.storm.even import schedule_evenly, storm_result


class TStormInitialScheduler(Scheduler[NoParameters]):
    """Round robin with ``min(N_u, N_w)`` workers, new ones on nodes without a worker of the topology.

    Workers that are there keep their slots. If no other node has a slot, a node may get a second worker.
    """

    name = "tstorm-initial"
    version = "2"

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Give each incomplete topology its initial assignment, one after the other."""
        state = ClusterState(view)
        for topology in state.topologies:
            if not state.unassigned(topology):
                continue
            nodes = {slot.node for slot in state.available_slots()}
            nodes |= {slot.node for slot in state.slot_of[topology.id].values()}
            # The default number of ackers follows the workers that the user asked for, so it is fixed first.
            asked = replace(
                topology,
                workers=max(1, min(topology.workers, len(nodes))),
                ackers=acker_count(topology, view.version),
            )
            free_uneven_workers(state, asked)
            held = {slot.node for slot in state.slot_of[topology.id].values()}
            available = state.available_slots()
            second = {slot for slot in available if slot.node in held}
            schedule_evenly(state, [asked], second if len(second) < len(available) else ())
        return storm_result(state)


Mask = NDArray[np.bool_]

_ROUNDING_SLACK = 1e-9
_BOUND_SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class PackingParameters(PolicyParameters):
    """T-Storm's limits per node; ``docs/schedulers.md`` explains each.

    Defaults are the recommended readings of what the paper leaves open.
    """

    gamma: float = parameter(1.7, low=1.0)  # consolidation: executors per node over the even spread
    capacity_fraction: float = parameter(0.9, low=0.01, high=1.0)  # share of a node's MHz that may be used
    cap: str = parameter("floor", choices=("floor", "ceil", "round", "at-least-even"))

    def executors_per_node(self, executors: int, nodes: int) -> int:
        """Return the cap of constraint 3 for ``N_e`` executors on ``K`` nodes; 0 if there is no node."""
        even = executors / nodes if nodes else 0.0
        exact = self.gamma * even
        floor = math.floor(exact + _ROUNDING_SLACK)
        if self.cap == "ceil":
            return math.ceil(exact - _ROUNDING_SLACK)
        if self.cap == "round":
            return math.floor(exact + 0.5 + _ROUNDING_SLACK)
        if self.cap == "at-least-even":
            return max(floor, math.ceil(even - _ROUNDING_SLACK))
        return floor


@dataclass(frozen=True, slots=True)
class TStormParameters(PackingParameters):
    """Parameters of T-Storm."""

    count_ackers: bool = parameter(True)  # in N_e and against the cap
    ties: str = parameter("used-first", choices=("used-first", "lowest-index", "emptiest"))
    monotone: bool = parameter(True)  # whether a smaller gamma may serve


class TStormScheduler(Scheduler[TStormParameters]):
    """Algorithm 1 over all topologies at once; until something is measured, the initial assignment.

    Algorithm 1 does not depend on the nodes' names, but the initial assignment does: it is Storm's.
    """

    name = "tstorm"
    version = "2"
    Parameters = TStormParameters

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place every executor from scratch; if one has no feasible slot, the present assignment stays."""
        if view.load is None:
            return TStormInitialScheduler().schedule(view)
        work = Round(view)
        executors = [e for topology in view.topologies for e in view.executors[topology.id]]
        graph = Neighbours.of(executors, view.load.traffic)
        most_traffic_first = sorted(range(len(executors)), key=lambda i: -graph.total(i))
        attempt = partial(Attempt, view, self.parameters, graph, most_traffic_first)
        caps = Caps(view, self.parameters, executors)
        best = asked = attempt(caps.asked)
        if self.parameters.monotone and not caps.cpu_insufficient:
            best = fewest_nodes(asked, caps, attempt)
        if view.explain:
            best = attempt(best.cap, journal=work.journal)
        if best.failed is not None:
            return work.without_change(best.why_not())
        work.placed = best.placed
        how = f"gamma {self.parameters.gamma:g}"
        if best.cap < asked.cap:
            how += f", with a cap of {best.cap} executors per node, which needs fewer nodes than {asked.cap}"
        for topology in view.topologies:
            work.scheduled(topology.id, f"Scheduled by T-Storm, {how}")
        return work.result({"nodes used": float(best.used_count), "cap": float(best.cap)})


class Caps:
    """The caps on executors per node that may be tried, and the fewest nodes possible under each."""

    def __init__(
        self, view: SchedulingView, parameters: TStormParameters, executors: Sequence[Executor]
    ) -> None:
        assert view.load is not None
        available = sum(count > 0 for count in SlotBook(view).free_counts())
        self._counted = sum(parameters.count_ackers or e.component != ACKER for e in executors)
        self.asked = parameters.executors_per_node(self._counted, available)
        # Every cap that corresponds to a gamma of at least 1 and has room for all executors.
        low = replace(parameters, gamma=1.0).executors_per_node(self._counted, available)
        self.smallest = max(low, -(-self._counted // max(1, available)), 1)
        loads = [view.load.cpu_mhz.get(executor, 0.0) for executor in executors]
        limits = (node.capacity_mhz * parameters.capacity_fraction for node in view.cluster.nodes)
        capacities = sorted(limits, reverse=True)
        # With some slack, because a bound that is too high by one would hide a schedule.
        needed, largest = (mhz * (1.0 - _BOUND_SLACK) for mhz in (sum(loads), max(loads, default=0.0)))
        enough = (n for n, mhz in enumerate(accumulate(capacities), 1) if mhz >= needed)
        self._nodes_for_cpu = next(enough, 0)
        self.cpu_insufficient = not self._nodes_for_cpu or largest > capacities[0]
        """Whether the CPU is insufficient under any cap."""

    def min_nodes(self, cap: int) -> int:
        """Return a lower bound on the nodes of any schedule under this cap."""
        return max(self._nodes_for_cpu, -(-self._counted // max(1, cap)))


def fewest_nodes(asked: Attempt, caps: Caps, attempt: Callable[[int, int | None], Attempt]) -> Attempt:
    """Try all caps up to the one asked for; return the attempt with fewest nodes, the largest cap on a tie.

    Caps that cannot be better are skipped: those above the fullest node of an attempt would repeat it, and
    those below ``N_e / (nodes - 1)`` need at least as many nodes.
    """
    best, cap = asked, asked.next_cap
    while cap >= caps.smallest:
        most = None if best.failed is not None else best.used_count - 1
        if most is not None and caps.min_nodes(cap) > most:
            break
        trial = attempt(cap, most)
        if trial.failed is None:
            best = trial
        cap = trial.next_cap
    return best


class Attempt:
    """One run of Algorithm 1 under one cap. It stops as soon as it uses more than ``most_nodes`` nodes."""

    def __init__(
        self,
        view: SchedulingView,
        parameters: TStormParameters,
        graph: Neighbours,
        order: Sequence[int],
        cap: int,
        most_nodes: int | None = None,
        *,
        journal: Journal | None = None,
    ) -> None:
        assert view.load is not None
        self.cap = cap
        self.placed: dict[Executor, Slot] = {}
        self.failed: Executor | None = None
        self._parameters, self._graph, self._journal = parameters, graph, journal
        self._cpu_of = view.load.cpu_mhz
        self._book = SlotBook(view)
        self._free = np.array(self._book.free_counts(), dtype=np.int64)
        self._capacity = np.array([n.capacity_mhz * parameters.capacity_fraction for n in view.cluster.nodes])
        self._load = np.zeros(len(self._free))
        self._count = np.zeros_like(self._free)
        self._executors_on = np.zeros_like(self._free)
        self._worker = {t.id: np.zeros(len(self._free), dtype=bool) for t in view.topologies}
        self._place: dict[int, int] = {}
        for i in order:
            node = self._choose(i)
            if node is None or (
                most_nodes is not None and self.used_count + (not self._executors_on[node]) > most_nodes
            ):
                self.failed = graph.executors[i]
                return
            self._put(i, node)

    @property
    def next_cap(self) -> int:
        """The largest smaller cap that may give another result: one that this attempt has reached."""
        return min(self.cap - 1, int(self._count.max(initial=0)))

    @property
    def used_count(self) -> int:
        """Number of nodes with at least one executor."""
        return int(np.count_nonzero(self._executors_on))

    def why_not(self) -> str:
        """Return which executor has no slot, and how many nodes each constraint rules out."""
        assert self.failed is not None
        slot, cpu, below = self._constraints(self.failed)
        return (
            f"no new schedule: executor {self.failed} of {self.failed.topology} has no feasible slot "
            f"(of {len(slot)} nodes {int((~slot).sum())} have no slot, {int((~cpu).sum())} lack CPU, "
            f"{int((~below).sum())} have reached the cap of {self.cap} executors); "
            "the present assignment stays"
        )

    def _counts(self, executor: Executor) -> bool:
        return self._parameters.count_ackers or executor.component != ACKER

    def _constraints(self, executor: Executor) -> tuple[Mask, Mask, Mask]:
        """Return per node whether it has a slot for the executor, has the CPU, and is below the cap."""
        slot = self._worker[executor.topology] | (self._free > 0)
        cpu = self._load + self._cpu_of.get(executor, 0.0) <= self._capacity * (1.0 + _ROUNDING_SLACK)
        below = self._count + self._counts(executor) <= self.cap
        return slot, cpu, below

    def _choose(self, i: int) -> int | None:
        """Return the feasible node that adds the least inter-node traffic for executor ``i``, or None."""
        executor = self._graph.executors[i]
        slot, cpu, below = self._constraints(executor)
        local = np.zeros(len(self._count))
        for peer, rate in self._graph.near[i].items():
            if peer in self._place:
                local[self._place[peer]] += rate
        node = self._best(slot & cpu & below, local)
        if self._journal is not None:
            chosen = None if node is None else self._book.peek(executor.topology, node)
            candidates = self._candidates(executor, cpu, below, local)
            score_name = "added inter-node traffic, tuples/s (lowest wins)"
            self._journal.record(executor, chosen, candidates, score_name=score_name)
        return node

    def _best(self, feasible: Mask, local: NDArray[np.float64]) -> int | None:
        if not feasible.any():
            return None
        most = float(local[feasible].max())
        # Sums in another order differ in their last digits, which must not decide.
        tied = np.flatnonzero(feasible & (local >= most - _ROUNDING_SLACK * max(1.0, most)))
        if self._parameters.ties == "lowest-index":
            return int(tied[0])
        executor_counts = self._executors_on[tied]
        pick = executor_counts.argmin() if self._parameters.ties == "emptiest" else executor_counts.argmax()
        return int(tied[pick])

    def _put(self, i: int, node: int) -> None:
        executor = self._graph.executors[i]
        worker = self._worker[executor.topology]
        self.placed[executor] = self._book.take(executor.topology, node)
        if not worker[node]:
            worker[node] = True
            self._free[node] -= 1
        self._load[node] += self._cpu_of.get(executor, 0.0)
        self._count[node] += self._counts(executor)
        self._executors_on[node] += 1
        self._place[i] = node

    def _candidates(
        self, executor: Executor, has_cpu: Mask, below_cap: Mask, local: NDArray[np.float64]
    ) -> Iterator[Candidate]:
        exchanged = float(local.sum())
        for n in range(len(local)):
            slot = self._book.peek(executor.topology, n)
            if slot is not None:
                reason = None
                if not below_cap[n]:
                    reason = f"cap of {self.cap} executors per node"
                elif not has_cpu[n]:
                    reason = f"CPU: {self._load[n]:g} of {self._capacity[n]:g} MHz in use"
                yield Candidate(slot, exchanged - float(local[n]), reason)
