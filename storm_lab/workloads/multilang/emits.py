"""What components emit, ack and fail, the tasks that tuples go to, and the recording of a whole run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, zip_longest
from typing import Any, NamedTuple

from storm_lab.model.topology import ACKER
from storm_lab.model.version import V2_8_8
from storm_lab.workloads.java_values import as_java, fields_key, payload_bytes
from storm_lab.workloads.multilang.components import Component
from storm_lab.workloads.multilang.plan import ComponentSpec, InputSpec

Call = list[Any]
"""``[component, [[stream, values, size, task], ...], source or None, failed]``, as stored in JSON."""
Tree = list[Call]  # the calls that follow from one, breadth first
Tally = list[int]  # a sum and the number of its summands

_MOST_NOTES = 20


@dataclass(slots=True)
class Recording:
    """A run: ``trees`` by spout, one for each tuple that it emitted, and ``ticks`` by bolt.

    CPU times are in ns: ``cost_ns`` by component, ``input_ns`` by component and the stream it reads,
    ``tick_ns`` of ticks. ``rate_per_s`` holds the spouts that sleep again and again. ``failures`` counts
    failed calls. ``broken`` maps a component to the reason why it cannot be run after all.
    """

    trees: dict[str, list[Tree]] = field(default_factory=dict)
    ticks: dict[str, list[Tree]] = field(default_factory=dict)
    cost_ns: dict[str, Tally] = field(default_factory=dict)
    input_ns: dict[tuple[str, str, str], Tally] = field(default_factory=dict)
    tick_ns: dict[str, Tally] = field(default_factory=dict)
    rate_per_s: dict[str, float] = field(default_factory=dict)
    anchored: set[str] = field(default_factory=set)
    replays: set[str] = field(default_factory=set)
    failures: dict[str, Tally] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def note(self, component: str, text: str) -> None:
        """Note something about a component, once."""
        texts = self.notes.setdefault(component, [])
        if text not in texts and len(texts) < _MOST_NOTES:
            texts.append(text)

    def outcome(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the run as stored in JSON; ``names`` are the components that were run.

        ``spouts``, ``bolts`` and ``ticks`` are those of a recording file: calls in the order of a trace.
        """
        ticks = {name: _median(self.ticks[name]) for name in names if name in self.ticks}
        # A trace takes the records of the spouts in turn, and then the ticks.
        trees = [tree for turn in zip_longest(*self.trees.values()) for tree in turn if tree is not None]
        calls: dict[str, list[Any]] = {name: [] for name in names}
        for name, *call in chain(*trees, *(tree[1:] for tree in ticks.values())):
            calls[name].append(call)
        rest = [item.name for item in fields(self) if item.name not in ("broken", "trees", "ticks")]
        return {
            **{name: getattr(self, name) for name in rest},
            "spouts": {name: calls[name] for name in self.trees},
            "bolts": {name: calls[name] for name in names if name not in self.trees},
            "ticks": {name: tree[0][1:] for name, tree in ticks.items()},
            "tick_counts": {name: _emitting(self.ticks[name]) for name in ticks},
            "input_ns": [[*key, *tally] for key, tally in self.input_ns.items()],
            "anchored": sorted(self.anchored),
            "replays": sorted(self.replays),
        }


def add(table: dict[Any, Tally], key: Any, amount: int, count: int) -> None:
    """Add to a tally."""
    entry = table.setdefault(key, [0, 0])
    entry[0] += amount
    entry[1] += count


def _emitting(trees: list[Tree]) -> tuple[int, int]:
    """Return how many ticks emitted, and the number of ticks until the last of these.

    Ticks after it belong to a period that has not ended.
    """
    numbers = [number for number, tree in enumerate(trees, start=1) if tree[0][1]]
    return len(numbers), max(numbers, default=0)


def _median(trees: list[Tree]) -> Tree:
    """Return the tree of the tick that emitted the median number of tuples, among those that emitted any."""
    emitting = [tree for tree in trees if tree[0][1]] or trees[-1:]
    emitting.sort(key=lambda tree: len(tree[0][1]))
    return emitting[(len(emitting) - 1) // 2]


@dataclass(slots=True)
class Emitted:
    """An emitted tuple: its values as JSON carries them, their size in bytes, and the tasks it goes to.

    ``targets`` holds the indices of the receiving tasks for each route of the stream; ``task`` is that of a
    direct emit.
    """

    stream: str
    values: list[Any]
    size: int
    task: int | None
    targets: list[list[int]]
    tup_id: Any

    def row(self) -> list[Any]:
        """Return the tuple as a recording stores it."""
        return [self.stream, self.values, self.size, self.task]


class CallCollector:
    """Collects what one call of a component does, between `begin` and `end`; notes go to ``out``."""

    def __init__(self, table: TaskTable, out: Recording) -> None:
        self.acked = self.failed = False  # whether the call acked or failed its tuple; bolts set it
        self.table = table
        self.out = out
        self._emits: list[Emitted] | None = None

    def begin(self) -> None:
        """Begin a call of a component."""
        self._emits, self.failed, self.acked = [], False, False

    def end(self) -> list[Emitted]:
        """End the call; return what it emitted."""
        emits, self._emits = self._emits or [], None
        return emits

    def given(self, name: str, record: list[Any] | dict[str, Any]) -> list[Emitted]:
        """Return the emit of a record given in place of a spout's own: a list, or values by field."""
        self.begin()
        stream, fields = next(iter(self.table.outputs[name].items()), ("default", []))
        values = [record.get(field) for field in fields] if isinstance(record, dict) else record
        self._take(name, values, stream, None, None)
        return self.end()

    def emit(
        self,
        component: Component,
        values: Any,
        stream: str | None,
        direct_task: int | None,
        *,
        tup_id: Any = None,
        anchors: Iterable[Any] | None = None,
    ) -> list[int]:
        """Take an emit of a component; return the ids of the tasks that get the tuple."""
        if not isinstance(values, list | tuple):
            raise TypeError(f"all tuples must be lists or tuples, not {type(values).__name__}: {values!r}")
        name = str(component.component_name)
        if anchors is not None and not list(anchors):
            self.out.note(name, "emits without anchors: played anchored")
        if self._emits is None:
            self.out.note(name, "emits outside of its calls, from a thread of its own: left out")
            return []
        return self._take(name, json.loads(json.dumps(values)), stream or "default", tup_id, direct_task)

    def _take(
        self, name: str, values: list[Any], stream: str, tup_id: Any, direct_task: int | None
    ) -> list[int]:
        fields = self.table.outputs[name].get(stream)
        if fields is None:
            self.out.note(name, f"emits on the stream {stream!r}, which it does not declare: left out")
            return []
        size = payload_bytes(values)
        if len(values) != len(fields):
            self.out.note(name, f"emits {len(values)} values on {stream!r}, which has {len(fields)} fields")
            values = [*values, *[None] * len(fields)][: len(fields)]
        routes = self.table.routes[name, stream]
        task = None
        if any(route.item.grouping == "direct" for route in routes):
            found = (self.table.index_in(route, direct_task) for route in routes)
            task = next((index for index in found if index is not None), None)
            if task is None:
                self.out.note(name, f"emits on the direct stream {stream!r} without a task of it: left out")
                return []
        for route in routes:
            if route.item.grouping == "partial-key" and self.table.tasks[route.target] > 1:
                what = f"its partial-key grouping to {route.target}"
                self.out.note(name, f"{what}: run with one task per key, not two")
        targets = [self.table.target_tasks(route, values, direct_task) for route in routes]
        assert self._emits is not None
        self._emits.append(Emitted(stream, values, size, task, targets, tup_id))
        return [
            self.table.first[route.target] + index
            for route, tasks in zip(routes, targets, strict=True)
            for index in tasks
        ]


class Route(NamedTuple):
    """A subscription to a stream: the component that reads it, and how its tasks share the tuples."""

    target: str
    item: InputSpec


class TaskTable:
    """Task ids as Storm assigns them, from 1 in the order of the components' names, and routes of streams.

    By component, ``tasks`` is the number of its tasks, ``first`` the id of the first one, and ``outputs`` its
    streams with their fields. ``routes`` are the subscriptions to the stream of a component, in the
    topology's order.
    """

    def __init__(self, specs: Sequence[ComponentSpec], tasks: dict[str, int]) -> None:
        self.tasks = tasks
        self.first: dict[str, int] = {}
        number = 1
        for name in sorted([*tasks, ACKER]):
            self.first[name] = number
            number += tasks.get(name, 1)
        self.routes: dict[tuple[str, str], list[Route]] = defaultdict(list)
        self.outputs = {spec.name: spec.outputs for spec in specs}
        for spec in specs:
            for item in spec.inputs:
                self.routes[item.component, item.stream].append(Route(spec.name, item))
        self._turns: dict[tuple[str, str, str], int] = {}

    def component_of(self) -> dict[str, str]:
        """Return the component of each task id, as in the context of a component."""
        return {
            str(first + index): name
            for name, first in self.first.items()
            for index in range(self.tasks.get(name, 1))
        }

    def index_in(self, route: Route, task: int | None) -> int | None:
        """Return the index of a task id among the tasks of a route's target; None if it is none of them."""
        index = -1 if task is None else task - self.first[route.target]
        return index if 0 <= index < self.tasks[route.target] else None

    def target_tasks(self, route: Route, values: Sequence[Any], direct_task: int | None) -> list[int]:
        """Return the indices of those tasks of a route's target that a tuple goes to.

        All tuples of a key go to one task, also by a partial-key grouping, which in Storm uses two.
        """
        item = route.item
        count, kind = self.tasks[route.target], item.grouping
        if kind == "direct":
            index = self.index_in(route, direct_task)
            return [] if index is None else [index]
        if kind == "all":
            return list(range(count))
        if kind == "global" or count == 1:
            return [0]
        if kind in ("fields", "partial-key"):
            names = self.outputs[item.component].get(item.stream, [])
            selected = [values[names.index(field)] for field in item.fields if field in names]
            try:
                return [fields_key([*map(as_java, selected or values[:1])], V2_8_8) % count]
            except TypeError:
                return [0]
        key = (item.component, item.stream, route.target)
        self._turns[key] = (self._turns.get(key, -1) + 1) % count
        return [self._turns[key]]
