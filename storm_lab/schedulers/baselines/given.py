"""A placement that somebody gives: by hand, from a cluster's UI, or from another program."""

from __future__ import annotations

from typing import ClassVar

from storm_lab.model import Assignment
from storm_lab.schedulers.contract import (
    NoParameters,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.keeping import in_view_order, kept
from storm_lab.schedulers.view_checks import check_view


class GivenPlacement(Scheduler[NoParameters]):
    """Puts every executor where the assignment says; one whose slot is gone or taken finds no place.

    Args:
        assignment: a slot for every executor.
    """

    name: ClassVar[str] = "given"
    version: ClassVar[str] = "1"

    def __init__(self, assignment: Assignment) -> None:
        super().__init__()
        self.assignment = assignment

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Place the missing executors of topologies where the assignment has them."""
        check_view(view)
        placed = kept(view)
        usable = set(view.usable_slots)
        status = {}
        for topology in view.topologies:
            taken = {slot for executor, slot in placed.items() if executor.topology != topology.id}
            without = 0
            for executor in view.executors[topology.id]:
                if executor in placed:
                    continue
                slot = self.assignment.slots.get(executor)
                if slot is not None and slot in usable and slot not in taken:
                    placed[executor] = slot
                else:
                    without += 1
            said = f"{without} executors have no slot that can be used" if without else "placed as given"
            status[topology.id] = TopologyStatus(not without, said)
        return SchedulingResult(in_view_order(view, placed), status)
