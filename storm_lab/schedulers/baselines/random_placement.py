"""Random placement: the reference below which no policy should fall.

The topology's workers are drawn from all free slots, and each executor draws one of these workers. The draw
depends only on the view's seed and the topology's id.
"""

from __future__ import annotations

from storm_lab.schedulers.contract import Candidate, NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.keeping import Round, incomplete_topologies, surviving_assignment


class RandomScheduler(Scheduler[NoParameters]):
    """Draws workers and the worker of each executor uniformly. Complete topologies keep their slots."""

    name = "random"
    version = "3"
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the missing executors of incomplete topologies."""
        work = Round(view, surviving_assignment(view))
        todo = set(incomplete_topologies(view))
        free, usable = list(view.free_slots), set(view.usable_slots)
        for topology in view.topologies:
            if topology.id not in todo:
                work.scheduled(topology.id)
                continue
            draw = view.random(f"random/{topology.id}")
            own = dict.fromkeys(s for e, s in work.placed.items() if e.topology == topology.id)
            # A worker that is hidden or on a blacklisted host stays but takes no new executor.
            workers = [slot for slot in own if slot in usable]
            wanted = max(topology.workers - len(own), 0 if workers else 1)
            workers += draw.sample(free, min(wanted, len(free)))
            if not workers:
                work.failed(topology.id, "no free slot in the cluster")
                continue
            for executor in view.executors[topology.id]:
                if executor in work.placed:
                    continue
                slot = work.placed[executor] = draw.choice(workers)
                candidates = (Candidate(worker, 1.0 / len(workers)) for worker in workers)
                work.journal.record(executor, slot, candidates, score_name="probability")
            # A worker that no executor has drawn does not start, so its slot stays free.
            taken = set(work.placed.values())
            free = [slot for slot in free if slot not in taken]
            work.scheduled(topology.id, "Scheduled at random")
        return work.result()
