"""Tasks of the components that are run, and where emitted tuples go among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from storm_lab.model.topology import ACKER
from storm_lab.model.version import V2_8_8
from storm_lab.workloads.grouping_key import fields_key
from storm_lab.workloads.multilang.plan import ComponentSpec, InputSpec


@dataclass(frozen=True, slots=True)
class Route:
    """A subscription to a stream: who reads it, and how its tasks share the tuples."""

    target: str
    item: InputSpec


class TaskTable:
    """Task ids as Storm gives them, from 1 in the order of the components' names, and routes.

    ``tasks`` is the number of tasks of each component.
    """

    def __init__(self, specs: Sequence[ComponentSpec], tasks: dict[str, int]) -> None:
        self.tasks = tasks
        self.first: dict[str, int] = {}
        number = 1
        for name in sorted([*tasks, ACKER]):
            self.first[name] = number
            number += tasks.get(name, 1)
        self._routes: dict[tuple[str, str], list[Route]] = {}
        self._outputs = {spec.name: spec.outputs for spec in specs}
        for spec in specs:
            for item in spec.inputs:
                self._routes.setdefault((item.component, item.stream), []).append(Route(spec.name, item))
        self._turns: dict[tuple[str, str, str], int] = {}

    def component_of(self) -> dict[str, str]:
        """Component by task id, as the context of a component has it."""
        return {
            str(first + index): name
            for name, first in self.first.items()
            for index in range(self.tasks.get(name, 1))
        }

    def routes(self, source: str, stream: str) -> list[Route]:
        """Who subscribed a stream, in the topology's order."""
        return self._routes.get((source, stream), [])

    def targets(
        self, source: str, stream: str, values: Sequence[Any], direct_task: int | None
    ) -> list[list[int]]:
        """For every route, the indices of the tasks that a tuple goes to."""
        routes = self.routes(source, stream)
        return [self._chosen(route, source, stream, values, direct_task) for route in routes]

    def index_in(self, route: Route, task: int) -> int | None:
        """The index of a task id among the tasks of a route's target; None when it is none of them."""
        index = task - self.first[route.target]
        return index if 0 <= index < self.tasks[route.target] else None

    def _chosen(
        self, route: Route, source: str, stream: str, values: Sequence[Any], direct_task: int | None
    ) -> list[int]:
        count, kind = self.tasks[route.target], route.item.grouping
        if kind == "direct":
            index = None if direct_task is None else self.index_in(route, direct_task)
            return [] if index is None else [index]
        if kind == "all":
            return list(range(count))
        if kind == "global" or count == 1:
            return [0]
        if kind in ("fields", "partial-key"):
            names = self._outputs[source].get(stream, [])
            selected = [values[names.index(field)] for field in route.item.fields if field in names]
            try:
                return [fields_key(selected or values[:1], V2_8_8) % count]
            except TypeError:
                return [0]
        key = (source, stream, route.target)
        self._turns[key] = (self._turns.get(key, -1) + 1) % count
        return [self._turns[key]]
