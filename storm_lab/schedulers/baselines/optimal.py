"""The least inter-node traffic that any policy could reach, as a reference for heuristics.

Small instances are solved exactly. For larger ones, local search finds the best placement it can, with a
lower bound; status and notes say so. The constraints are T-Storm's, with the same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from storm_lab.schedulers.baselines.exact_model import solve
from storm_lab.schedulers.baselines.placement_problem import PlacementProblem, search
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.keeping import Round
from storm_lab.schedulers.papers.tstorm import PackingParameters
from storm_lab.schedulers.parameters import parameter
from storm_lab.schedulers.slot_book import SlotBook

_PROVEN = 1e-6


@dataclass(frozen=True, slots=True)
class OptimalParameters(PackingParameters):
    """T-Storm's constraints, and the effort of the search."""

    exact_executors: int = parameter(
        40, low=0, doc="largest number of executors for which exactness is tried"
    )
    effort: float = parameter(20.0, low=0.1, doc="deterministic time for the exact solver, about seconds")
    restarts: int = parameter(30, low=0, doc="starts of the local search")


class OptimalScheduler(Scheduler[OptimalParameters]):
    """Places all topologies from scratch, with the least inter-node traffic that is found."""

    name = "optimal"
    version = "1"
    Parameters = OptimalParameters
    rename_invariant = True

    def schedule(self, view: SchedulingView) -> SchedulingResult:
        """Search; the notes hold ``inter-node traffic``, ``lower bound`` (both in tuples/s) and ``proven``.

        Raises `UserError` if nothing was measured and a topology has a cycle.
        """
        work = Round(view)
        problem = PlacementProblem.of(view, self.parameters)
        place, bound, proven = self._solve(view, problem)
        if place is None:
            reason = "no placement satisfies all constraints" if proven else "no placement was found"
            return work.without_change(
                f"{reason} ({problem.cap} executors per node); the present assignment stays"
            )
        cost = problem.cost(place)
        if proven:
            message = f"Optimal: inter-node traffic {cost:g} tuples/s"
        else:
            message = f"Best found: inter-node traffic {cost:g} tuples/s, not below {bound:g}"
        _place_all(work, problem, place)
        for topology in view.topologies:
            work.scheduled(topology.id, message)
        return work.result(
            {"inter-node traffic": cost, "lower bound": bound, "proven": "yes" if proven else "no"}
        )

    def _solve(self, view: SchedulingView, problem: PlacementProblem) -> tuple[list[int] | None, float, bool]:
        """Return the best placement, a lower bound, and whether the placement (or its absence) is proven."""
        bound = problem.lower_bound()
        restarts = self.parameters.restarts if problem.executors <= 1000 else min(2, self.parameters.restarts)
        found = search(problem, view.random("optimal"), restarts)
        if found is not None and found[1] <= bound + _PROVEN * max(1.0, bound):
            return found[0], found[1], True
        place = None if found is None else found[0]
        if problem.executors > self.parameters.exact_executors:
            return place, bound, False
        exact, exact_bound, proven = solve(problem, self.parameters.effort, place)
        if exact is None and proven:
            return None, 0.0, True
        bound = max(bound, exact_bound)
        options = [option for option in (place, exact) if option is not None]
        if not options:
            return None, bound, False
        best = min(options, key=problem.cost)
        cost = problem.cost(best)
        proven = proven or cost <= bound + _PROVEN * max(1.0, bound)
        return best, cost if proven else bound, proven


def _place_all(work: Round, problem: PlacementProblem, place: list[int]) -> None:
    """Take a slot on its node for every executor, and record its traffic for each other node."""
    book = SlotBook(work.view)
    executors = problem.graph.executors
    for executor, node in zip(executors, place, strict=True):
        work.placed[executor] = book.take(executor.topology, node)
    if not work.view.explain:
        return
    for executor, near in zip(executors, problem.graph.near, strict=True):
        local = [0.0] * problem.nodes
        for peer, rate in near.items():
            local[place[peer]] += rate
        candidates = [
            Candidate(slot, sum(local) - local[n])
            for n in range(problem.nodes)
            if (slot := book.peek(executor.topology, n)) is not None
        ]
        work.journal.record(
            executor,
            work.placed[executor],
            candidates,
            score_name="its inter-node traffic there with all others fixed, tuples/s",
            note="decided for all executors together",
        )
