"""The least inter-node traffic that any policy could reach, to measure heuristics against.

Small instances are solved exactly; larger ones get the best placement that local search finds and a lower
bound, and say so in status and notes. Constraints are T-Storm's, with the same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from storm_lab.model import Executor, Slot
from storm_lab.schedulers.baselines.exact_model import ExactAnswer, solve
from storm_lab.schedulers.baselines.local_search import search
from storm_lab.schedulers.baselines.placement_problem import PlacementProblem
from storm_lab.schedulers.contract import (
    Candidate,
    Journal,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.keeping import in_view_order, nothing_changes
from storm_lab.schedulers.papers.tstorm import TStormParameters
from storm_lab.schedulers.parameters import check_parameters, parameter
from storm_lab.schedulers.slot_book import SlotBook
from storm_lab.schedulers.view_checks import check_view

_PROVEN = 1e-6


@dataclass(frozen=True, slots=True)
class OptimalParameters:
    """T-Storm's constraints, and how hard to try."""

    gamma: float = parameter(1.7, low=1.0, doc="consolidation factor, as T-Storm's")
    capacity_fraction: float = parameter(
        0.9, low=0.01, high=1.0, doc="share of a node's MHz that may be used"
    )
    cap: str = parameter("floor", choices=("floor", "ceil", "round", "at-least-even"), doc="as T-Storm's")
    exact_executors: int = parameter(
        40, low=0, doc="largest number of executors for which exactness is tried"
    )
    effort: float = parameter(20.0, low=0.1, doc="deterministic time for the exact solver, about seconds")
    restarts: int = parameter(30, low=0, doc="starts of the local search")

    def __post_init__(self) -> None:
        check_parameters(self)

    def constraints(self) -> TStormParameters:
        """The same constraints as T-Storm's parameters."""
        return TStormParameters(gamma=self.gamma, capacity_fraction=self.capacity_fraction, cap=self.cap)


class OptimalScheduler(Scheduler[OptimalParameters]):
    """All topologies placed anew with the least inter-node traffic found."""

    name: ClassVar[str] = "optimal"
    version: ClassVar[str] = "1"
    Parameters: ClassVar[type] = OptimalParameters
    rename_invariant: ClassVar[bool] = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Search; the notes hold ``inter-node traffic``, ``lower bound`` (tuples/s) and ``proven``.

        Raises:
            UserError: nothing was measured and a topology has a cycle.
        """
        check_view(view)
        journal = Journal(view)
        problem = PlacementProblem.of(view, self.parameters.constraints())
        place, bound, proven = self._solve(view, problem)
        if place is None:
            reason = "no placement keeps all constraints" if proven else "no placement was found"
            return nothing_changes(
                view, f"{reason} ({problem.cap} executors per node); the present assignment stays", journal
            )
        cost = problem.cost(place)
        if proven:
            message = f"Optimal: inter-node traffic {cost:g} tuples/s"
        else:
            message = f"Best found: inter-node traffic {cost:g} tuples/s, not below {bound:g}"
        slots = self._slots(view, problem, place, journal)
        return SchedulingResult(
            in_view_order(view, slots),
            {topology.id: TopologyStatus(True, message) for topology in view.topologies},
            journal.decisions,
            {"inter-node traffic": cost, "lower bound": bound, "proven": "yes" if proven else "no"},
        )

    def _solve(self, view: SchedulingView, problem: PlacementProblem) -> tuple[list[int] | None, float, bool]:
        """The best placement, a lower bound, and whether the placement (or that there is none) is proven."""
        bound = problem.lower_bound()
        small = problem.executors <= self.parameters.exact_executors
        restarts = self.parameters.restarts if problem.executors <= 1000 else min(2, self.parameters.restarts)
        found = search(problem, view.random("optimal"), restarts)
        if found is not None and found[1] <= bound + _PROVEN * max(1.0, bound):
            return found[0], found[1], True
        if not small:
            return (None, bound, False) if found is None else (found[0], bound, False)
        answer: ExactAnswer = solve(problem, self.parameters.effort, None if found is None else found[0])
        if answer.infeasible:
            return None, 0.0, True
        bound = max(bound, answer.lower_bound)
        options = [p for p in (found[0] if found else None, answer.place) if p is not None]
        if not options:
            return None, bound, False
        best = min(options, key=problem.cost)
        cost = problem.cost(best)
        proven = answer.optimal or cost <= bound + _PROVEN * max(1.0, bound)
        return best, cost if proven else bound, proven

    def _slots(
        self, view: SchedulingView, problem: PlacementProblem, place: list[int], journal: Journal
    ) -> dict[Executor, Slot]:
        book = SlotBook(view, [topology.id for topology in view.topologies])
        slots = {}
        for i, executor in enumerate(problem.graph.executors):
            slots[executor] = book.take(executor.topology, place[i])
        if journal.wanted:
            for i, executor in enumerate(problem.graph.executors):
                local = [0.0] * problem.nodes
                for j, rate in problem.graph.near[i]:
                    local[place[j]] += rate
                candidates = [
                    Candidate(slot, sum(local) - local[n])
                    for n in range(problem.nodes)
                    if (slot := book.peek(executor.topology, n)) is not None
                ]
                journal.record(executor, slots[executor], candidates,
                               score_name="its inter-node traffic there, all others fixed, tuples/s",
                               note="decided for all executors together")  # fmt: skip
        return slots
