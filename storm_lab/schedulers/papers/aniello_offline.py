"""Aniello et al.'s offline scheduler: neighbouring components share slots; blind to load.

Source: as T-Storm and R-Storm describe it (Aniello, Baldoni, Querzoni, DEBS 2013): the components are put
into a line so that sources come before consumers; executors of a component go to the slots that hold most
executors it reads from; slots are then dealt round robin to nodes.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from storm_lab.model import ACKER, Executor, Slot, Topology
from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.graph.traffic import component_order
from storm_lab.schedulers.keeping import in_view_order, incomplete_topologies, kept
from storm_lab.schedulers.parameters import check_parameters, parameter
from storm_lab.schedulers.storm.cluster_state import interleaved
from storm_lab.schedulers.view_checks import check_view


@dataclass(frozen=True, slots=True)
class AnielloOfflineParameters:
    """The two knobs of the offline scheduler."""

    alpha: float = parameter(
        0.0, low=0.0, high=1.0, doc="share of the line after which empty slots must be used"
    )
    beta: float = parameter(
        0.5, low=0.0, high=1.0, doc="0: slots of even size only; 1: a slot may take all executors"
    )

    def __post_init__(self) -> None:
        check_parameters(self)


class AnielloOfflineScheduler(Scheduler[AnielloOfflineParameters]):
    """Placement by the topology's shape alone."""

    name: ClassVar[str] = "aniello-offline"
    version: ClassVar[str] = "1"
    Parameters: ClassVar[type] = AnielloOfflineParameters
    rename_invariant: ClassVar[bool] = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the topologies that lack executors, each as a whole; the others stay.

        Raises:
            UserError: a topology has a cycle.
        """
        check_view(view)
        journal = Journal(view)
        todo = incomplete_topologies(view)
        placed = {e: s for e, s in kept(view).items() if e.topology not in set(todo)}
        status = {t.id: TopologyStatus(True, "Fully Scheduled") for t in view.topologies if t.id not in todo}
        for topology_id in todo:
            topology = view.topology[topology_id]
            groups = self._fill(topology, view.executors[topology_id], journal, _spread(view, placed))
            placed.update(groups)
            if groups:
                status[topology_id] = TopologyStatus(True, "Scheduled by the shape of the topology")
            else:
                status[topology_id] = TopologyStatus(False, "no free slot in the cluster")
        return SchedulingResult(in_view_order(view, placed), status, journal.decisions)

    def _fill(
        self, topology: Topology, executors: tuple[Executor, ...], journal: Journal, slots: list[Slot]
    ) -> dict[Executor, Slot]:
        line = [*component_order(topology), ACKER]
        slots = slots[: min(topology.workers, len(executors))]
        if not slots:
            return {}
        even = math.ceil(len(executors) / len(slots))
        limit = even + math.ceil(self.parameters.beta * (len(executors) - even))
        empty_from = math.floor(self.parameters.alpha * len(line))
        inside: list[dict[str, int]] = [{} for _ in slots]
        size = [0] * len(slots)
        placed: dict[Executor, Slot] = {}
        left = len(executors)
        for position, component in enumerate(line):
            sources = [s.source for s in topology.component(component).inputs] if component != ACKER else []
            for executor in (e for e in executors if e.component == component):
                empty = [i for i in range(len(slots)) if size[i] == 0]
                # Every slot is to be used; from the given point on, or when the rest just suffices, fill
                # empty ones.
                must_open = bool(empty) and (position >= empty_from > 0 or left <= len(empty))
                pool = empty if must_open else [i for i in range(len(slots)) if size[i] < limit]
                ties = {i: sum(inside[i].get(source, 0) for source in sources) for i in pool}
                pick = min(pool, key=lambda i: (-ties[i], size[i], i))
                inside[pick][component] = inside[pick].get(component, 0) + 1
                size[pick] += 1
                left -= 1
                placed[executor] = slots[pick]
                if journal.wanted:
                    candidates = [
                        Candidate(slot, float(ties[i])) if i in ties
                        else Candidate(slot, None, _why_not(must_open, limit))
                        for i, slot in enumerate(slots)
                    ]  # fmt: skip
                    journal.record(
                        executor, slots[pick], candidates, score_name="source executors there (highest wins)"
                    )
        return placed


def _why_not(must_open: bool, limit: int) -> str:
    return "an empty slot must be used" if must_open else f"limit of {limit} executors"


def _spread(view: SchedulingView, placed: dict[Executor, Slot]) -> list[Slot]:
    """Free slots, one of each node in turn; nodes with fewer workers come first."""
    used = set(placed.values())
    workers = Counter(slot.node for slot in used)
    groups: dict[str, list[Slot]] = {}
    for slot in view.usable_slots:
        if slot not in used:
            groups.setdefault(slot.node, []).append(slot)
    return interleaved([groups[node] for node in sorted(groups, key=lambda n: workers[n])])
