"""A fixed placement that is given by hand, from a cluster's UI, or by another program."""

from __future__ import annotations

from storm_lab.model import Assignment
from storm_lab.schedulers.contract import NoParameters, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.keeping import Round, surviving_assignment


class GivenPlacement(Scheduler[NoParameters]):
    """Places every executor as in the given assignment, except those whose slot is gone or taken.

    Args:
        assignment: a slot for every executor.
    """

    name = "given"
    version = "1"

    def __init__(self, assignment: Assignment) -> None:
        super().__init__()
        self.assignment = assignment

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the topologies' missing executors in their slots of the given assignment."""
        work = Round(view, surviving_assignment(view))
        usable = set(view.usable_slots)
        for topology in view.topologies:
            taken = {slot for executor, slot in work.placed.items() if executor.topology != topology.id}
            missing = [e for e in view.executors[topology.id] if e not in work.placed]
            given = ((e, self.assignment.slots.get(e)) for e in missing)
            fitting = {e: slot for e, slot in given if slot and slot in usable and slot not in taken}
            work.placed.update(fitting)
            if without := len(missing) - len(fitting):
                work.failed(topology.id, f"{without} executors have no slot that can be used")
            else:
                work.scheduled(topology.id, "placed as given")
        return work.result()
