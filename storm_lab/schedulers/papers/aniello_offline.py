"""Aniello et al.'s offline scheduler: neighbouring components share slots; load is ignored.

Source: as described by T-Storm and R-Storm (Aniello, Baldoni, Querzoni, DEBS 2013). The components are put
in a linear order with sources before consumers. Executors of a component go to the slots with most executors
that it reads from. The slots are then assigned to nodes round robin.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from storm_lab.model import ACKER, Executor, Slot, Topology
from storm_lab.model.grouped import grouped
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.graph.traffic import component_order
from storm_lab.schedulers.keeping import Round, incomplete_topologies, interleaved
from storm_lab.schedulers.parameters import PolicyParameters, parameter


@dataclass(frozen=True, slots=True)
class AnielloOfflineParameters(PolicyParameters):
    """The two parameters of the offline scheduler."""

    alpha: float = parameter(
        0.0, low=0.0, high=1.0, doc="share of the order of components after which empty slots must be used"
    )
    beta: float = parameter(
        0.5, low=0.0, high=1.0, doc="0: slots of even size only; 1: a slot may take all executors"
    )


class AnielloOfflineScheduler(Scheduler[AnielloOfflineParameters]):
    """Places executors by the shape of the topology alone."""

    name = "aniello-offline"
    version = "1"
    Parameters = AnielloOfflineParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place incomplete topologies from scratch; the others stay. `UserError` if one has a cycle."""
        work = Round.of_complete(view)
        for topology_id in incomplete_topologies(view):
            placed = self._placed(work, view.topology[topology_id])
            work.placed.update(placed)
            if placed:
                work.scheduled(topology_id, "Scheduled by the shape of the topology")
            else:
                work.failed(topology_id, "no free slot in the cluster")
        return work.result()

    def _placed(self, work: Round, topology: Topology) -> dict[Executor, Slot]:
        """Return a slot for every executor of the topology; nothing if no slot is free."""
        executors, journal = work.view.executors[topology.id], work.journal
        ordered = [*component_order(topology), ACKER]
        slots = _spread(work.view, work.placed)[: min(topology.workers, len(executors))]
        if not slots:
            return {}
        even = math.ceil(len(executors) / len(slots))
        limit = even + math.ceil(self.parameters.beta * (len(executors) - even))
        empty_from = math.floor(self.parameters.alpha * len(ordered))
        inside: list[Counter[str]] = [Counter() for _ in slots]
        placed: dict[Executor, Slot] = {}
        left = len(executors)
        for position, component in enumerate(ordered):
            sources = [s.source for s in topology.component(component).inputs] if component != ACKER else []
            for executor in (e for e in executors if e.component == component):
                empty = [i for i, there in enumerate(inside) if not there]
                # Every slot must be used: fill empty ones from the given position on, or when no more
                # executors are left than empty slots.
                must_open = bool(empty) and (position >= empty_from > 0 or left <= len(empty))
                pool = empty if must_open else [i for i, there in enumerate(inside) if there.total() < limit]
                ties = {i: sum(inside[i][source] for source in sources) for i in pool}
                pick = min(pool, key=lambda i: (-ties[i], inside[i].total(), i))
                inside[pick][component] += 1
                left -= 1
                placed[executor] = slots[pick]
                if journal.wanted:
                    why_not = "an empty slot must be used" if must_open else f"limit of {limit} executors"
                    candidates = [
                        Candidate(slot, float(ties[i])) if i in ties
                        else Candidate(slot, None, why_not)
                        for i, slot in enumerate(slots)
                    ]  # fmt: skip
                    journal.record(
                        executor, slots[pick], candidates, score_name="source executors there (highest wins)"
                    )
        return placed


def _spread(view: SchedulingView, placed: dict[Executor, Slot]) -> list[Slot]:
    """Return the free slots, one of each node in turn; nodes with fewer workers come first."""
    used = set(placed.values())
    workers = Counter(slot.node for slot in used)
    groups = grouped((slot for slot in view.usable_slots if slot not in used), lambda slot: slot.node)
    return interleaved(groups[node] for node in sorted(groups, key=lambda n: workers[n]))
