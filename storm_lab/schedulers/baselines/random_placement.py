"""Random placement: the reference point below which no policy should fall.

Every executor draws one of the topology's workers; the workers are drawn among all free slots. The draw
depends on the view's seed and the topology's id only.
"""

from __future__ import annotations

from typing import ClassVar

from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    NoParameters,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.keeping import in_view_order, incomplete_topologies, kept
from storm_lab.schedulers.view_checks import check_view


class RandomScheduler(Scheduler[NoParameters]):
    """Uniformly random workers, and executors over them. Topologies that are complete stay."""

    name: ClassVar[str] = "random"
    version: ClassVar[str] = "1"
    rename_invariant: ClassVar[bool] = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the missing executors of the topologies that lack some."""
        check_view(view)
        journal = Journal(view)
        placed = kept(view)
        todo = set(incomplete_topologies(view))
        free = list(view.free_slots)
        status = {}
        for topology in view.topologies:
            if topology.id not in todo:
                status[topology.id] = TopologyStatus(True, "Fully Scheduled")
                continue
            draw = view.random(f"random/{topology.id}")
            workers = list(dict.fromkeys(s for e, s in placed.items() if e.topology == topology.id))
            new = draw.sample(free, max(0, min(topology.workers - len(workers), len(free))))
            workers += new
            if not workers:
                status[topology.id] = TopologyStatus(False, "no free slot in the cluster")
                continue
            taken = set(new)
            free = [slot for slot in free if slot not in taken]
            for executor in view.executors[topology.id]:
                if executor in placed:
                    continue
                placed[executor] = draw.choice(workers)
                journal.record(
                    executor,
                    placed[executor],
                    (Candidate(slot, 1.0 / len(workers)) for slot in workers),
                    score_name="probability",
                )
            status[topology.id] = TopologyStatus(True, "Scheduled at random")
        return SchedulingResult(in_view_order(view, placed), status, journal.decisions)
