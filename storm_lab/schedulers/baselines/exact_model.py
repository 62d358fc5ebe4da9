"""Exact placement with OR-tools' CP-SAT solver: least inter-node traffic under T-Storm's constraints.

There are two models. The first only counts, per node, executors that are interchangeable (same topology, load
and traffic); it solves far larger instances. The second has one variable per executor and node. The solver is
single-threaded with a deterministic time limit, so that the same input gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from storm_lab.model.grouped import grouped
from storm_lab.schedulers.baselines.placement_problem import PlacementProblem

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

    def limit_nodes(self, count: Sequence[Any], mhz: Sequence[Any]) -> None:
        """Limit executors and CPU per node (in thousandths of MHz), and order equal nodes by their counts."""
        for n in range(self.problem.nodes):
            self.model.add(count[n] <= self.problem.cap)
            self.model.add(mhz[n] <= int(self.problem.capacity[n] * 1000))
        # Ordering removes equivalent solutions: nodes of equal capacity and slots can exchange their
        # contents.
        alike = grouped(
            range(self.problem.nodes), lambda n: (self.problem.capacity[n], self.problem.slots[n])
        )
        for group in alike.values():
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
        milli_mhz = [round(problem.load[members[0]] * 1000) for members in classes]
        self.limit_nodes(
            [sum(row[n] for row in self.x) for n in nodes],
            [sum(row[n] * each for row, each in zip(self.x, milli_mhz, strict=True)) for n in nodes],
        )
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
        self.limit_nodes(
            [sum(row[n] for row in self.x) for n in nodes],
            [sum(row[n] * round(problem.load[i] * 1000) for i, row in enumerate(self.x)) for n in nodes],
        )
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
