"""The least inter-node traffic that any policy could reach, as a reference for heuristics.

Small instances are solved exactly, by OR-tools' CP-SAT solver. For larger ones, local search finds the best
placement it can, with a lower bound; status and notes say so. The constraints are T-Storm's, with the same
parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from storm_lab.model.grouped import grouped
from storm_lab.schedulers.baselines.placement_problem import PlacementProblem, search
from storm_lab.schedulers.contract import Candidate, Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.keeping import Round, SlotBook
from storm_lab.schedulers.papers.tstorm import PackingParameters
from storm_lab.schedulers.parameters import parameter

_SCALE = 1_000_000_000


def solve(
    problem: PlacementProblem, effort: float, hint: Sequence[int] | None = None
) -> tuple[list[int] | None, float, bool]:
    """Solve the problem, giving up after ``effort`` units of deterministic time (roughly seconds).

    Returns the best placement (None: none found), a lower bound of its cost in tuples per second, and whether
    it is proven that the placement is optimal or that there is none.
    """
    # Imported here because the import takes half a second and is needed only here.
    from ortools.sat.python import cp_model

    classes = interchangeable(problem)
    model: _ClassModel | _ExecutorModel
    if len(classes) <= problem.executors / 2:
        model = _ClassModel(cp_model, problem, classes)
    else:
        model = _ExecutorModel(cp_model, problem, hint)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    solver.parameters.random_seed = 1
    status = solver.solve(model.model)
    total = sum(rate for i, row in enumerate(problem.graph.near) for j, rate in row.items() if i < j)
    if status == cp_model.INFEASIBLE:
        return None, 0.0, True
    bound = max(0.0, total - solver.best_objective_bound / model.scale)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, bound, False
    return model.placement(solver), bound, status == cp_model.OPTIMAL


def interchangeable(problem: PlacementProblem) -> list[list[int]]:
    """Return classes of executors that can be exchanged without changing the problem."""
    near = problem.graph.near
    classes: list[list[int]] = []
    by_key: dict[tuple[object, ...], list[list[int]]] = {}
    for i in range(problem.executors):
        key = (problem.topology_of[i], problem.load[i], problem.graph.executors[i].component,
               round(sum(near[i].values()), 6), len(near[i]))  # fmt: skip
        for members in by_key.setdefault(key, []):
            if _exchangeable(near, members[0], i):
                members.append(i)
                break
        else:
            members = [i]
            by_key[key].append(members)
            classes.append(members)
    return classes


def _exchangeable(near: Sequence[dict[int, float]], a: int, b: int) -> bool:
    others = (near[a].keys() | near[b].keys()) - {a, b}
    return all(abs(near[a].get(x, 0.0) - near[b].get(x, 0.0)) <= 1e-9 * near[a].get(x, 1.0) for x in others)


class _PlacementModel:
    def __init__(self, cp_model: Any, problem: PlacementProblem) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        heaviest = max((rate for row in problem.graph.near for rate in row.values()), default=1.0)
        self.scale = _SCALE / max(1.0, heaviest * max(1, problem.executors))
        self.topologies = range(max(problem.topology_of, default=-1) + 1)
        self.works = [
            [self.model.new_bool_var(f"works{t}on{n}") for n in range(problem.nodes)] for t in self.topologies
        ]
        for n in range(problem.nodes):
            self.model.add(sum(self.works[t][n] for t in self.topologies) <= problem.slots[n])

    def scaled(self, rate: float) -> int:
        return round(rate * self.scale)

    def limit_nodes(self, x: Sequence[Sequence[Any]], mhz: Sequence[float]) -> None:
        """Limit executors and CPU per node, and order equal nodes by their numbers of executors.

        ``x`` has rows of equal executors and their number on each node; one of row i needs ``mhz[i]``.
        """
        nodes, milli_mhz = range(self.problem.nodes), [round(each * 1000) for each in mhz]
        count = [sum(row[n] for row in x) for n in nodes]
        cpu = [sum(row[n] * each for row, each in zip(x, milli_mhz, strict=True)) for n in nodes]
        for n in nodes:
            self.model.add(count[n] <= self.problem.cap)
            self.model.add(cpu[n] <= int(self.problem.capacity[n] * 1000))
        # Ordering removes equivalent solutions: nodes of equal capacity and slots can be exchanged.
        sizes = list(zip(self.problem.capacity, self.problem.slots, strict=True))
        for group in grouped(range(self.problem.nodes), sizes.__getitem__).values():
            for a, b in pairwise(group):
                self.model.add(count[a] >= count[b])


class _ClassModel(_PlacementModel):
    """Model with the number of executors of each class on each node as variables."""

    def __init__(self, cp_model: Any, problem: PlacementProblem, classes: list[list[int]]) -> None:
        super().__init__(cp_model, problem)
        self.classes = classes
        nodes = range(problem.nodes)
        self.x = [[self.model.new_int_var(0, min(len(c), problem.cap), "") for _ in nodes] for c in classes]
        for members, row in zip(classes, self.x, strict=True):
            self.model.add(sum(row) == len(members))
            works = self.works[problem.topology_of[members[0]]]
            for n in nodes:
                self.model.add(row[n] <= len(members) * works[n])
        self.limit_nodes(self.x, [problem.load[members[0]] for members in classes])
        near = problem.graph.near
        gains = []
        for a, first in enumerate(classes):
            for b in range(a, len(classes)):
                second = classes[b] if b != a else first[1:]
                rate = near[first[0]].get(second[0], 0.0) if second else 0.0
                if self.scaled(rate) == 0:
                    continue
                for n in nodes:
                    most = min(len(first), problem.cap) * min(len(classes[b]), problem.cap)
                    both = self.model.new_int_var(0, most, "")
                    self.model.add_multiplication_equality(both, [self.x[a][n], self.x[b][n]])
                    # A class has x * (x - 1) / 2 pairs inside; all terms are doubled to avoid the half, so
                    # the scale is, too.
                    pairs = both - self.x[a][n] if a == b else 2 * both
                    gains.append(self.scaled(rate) * pairs)
        self.model.maximize(sum(gains))
        self.scale *= 2.0

    def placement(self, solver: Any) -> list[int]:
        place = [-1] * self.problem.executors
        for members, row in zip(self.classes, self.x, strict=True):
            left = iter(members)
            for n, count in enumerate(row):
                for _ in range(solver.value(count)):
                    place[next(left)] = n
        return place


class _ExecutorModel(_PlacementModel):
    """Model with variables for whether an executor is on a node and whether a pair shares a node."""

    def __init__(self, cp_model: Any, problem: PlacementProblem, hint: Sequence[int] | None) -> None:
        super().__init__(cp_model, problem)
        nodes = range(problem.nodes)
        self.x = [[self.model.new_bool_var("") for _ in nodes] for _ in range(problem.executors)]
        for i, row in enumerate(self.x):
            self.model.add_exactly_one(row)
            for n in nodes:
                self.model.add_implication(row[n], self.works[problem.topology_of[i]][n])
                if hint is not None:
                    self.model.add_hint(row[n], hint[i] == n)
        self.limit_nodes(self.x, problem.load)
        gains = []
        for i, near in enumerate(problem.graph.near):
            for j, rate in near.items():
                if i >= j or self.scaled(rate) == 0:
                    continue
                for n in nodes:
                    both = self.model.new_bool_var("")
                    self.model.add_implication(both, self.x[i][n])
                    self.model.add_implication(both, self.x[j][n])
                    gains.append(self.scaled(rate) * both)
        self.model.maximize(sum(gains))

    def placement(self, solver: Any) -> list[int]:
        return [next(n for n, var in enumerate(row) if solver.value(var)) for row in self.x]


_PROVEN = 1e-6


@dataclass(frozen=True, slots=True)
class OptimalParameters(PackingParameters):
    """T-Storm's constraints, and the effort of the search."""

    exact_executors: int = parameter(40, low=0)  # largest number for which exactness is tried
    effort: float = parameter(20.0, low=0.1)  # deterministic time for the exact solver, about seconds
    restarts: int = parameter(30, low=0)  # starts of the local search


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
            limit = f"({problem.cap} executors per node)"
            return work.without_change(f"{reason} {limit}; the present assignment stays")
        cost = problem.cost(place)
        message = f"inter-node traffic {cost:g} tuples/s"
        message = f"Optimal: {message}" if proven else f"Best found: {message}, not below {bound:g}"
        _place_all(work, problem, place)
        for topology in view.topologies:
            work.scheduled(topology.id, message)
        answer = "yes" if proven else "no"
        return work.result({"inter-node traffic": cost, "lower bound": bound, "proven": answer})

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
