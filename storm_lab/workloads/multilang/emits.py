"""What components emit, ack and fail, taken as they do it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from storm_lab.workloads.multilang.components import Component
from storm_lab.workloads.multilang.plan import ComponentSpec
from storm_lab.workloads.multilang.recording import Recording
from storm_lab.workloads.multilang.tasks import TaskTable
from storm_lab.workloads.size import payload_bytes


@dataclass(slots=True)
class Emitted:
    """An emitted tuple: its values as JSON carries them, their size in bytes, and the tasks it goes to.

    ``targets`` has the indices of tasks for every route of the stream; ``task`` is that of a direct emit.
    """

    stream: str
    values: list[Any]
    size: int
    task: int | None
    targets: list[list[int]]
    tup_id: Any

    def row(self) -> list[Any]:
        """As a recording holds it."""
        return [self.stream, self.values, self.size, self.task]


class EmitTaker:
    """The `Collector` of all components: between `begin` and `end` it is one component's call."""

    def __init__(self, specs: Sequence[ComponentSpec], table: TaskTable, out: Recording) -> None:
        self.acked = False
        self._outputs = {spec.name: spec.outputs for spec in specs}
        self._table = table
        self._out = out
        self._emits: list[Emitted] | None = None
        self._failed = False

    def begin(self, name: str) -> None:
        """A call of a component begins."""
        self._emits, self._failed, self.acked = [], False, False

    def end(self) -> tuple[list[Emitted], bool]:
        """The call has ended: what it emitted, and whether it failed its tuple."""
        emits, self._emits = self._emits or [], None
        return emits, self._failed

    def given(self, name: str, record: list[Any] | dict[str, Any]) -> list[Emitted]:
        """The emit of a record that was given in place of a spout's own, a list or values by field."""
        self.begin(name)
        stream, fields = next(iter(self._outputs[name].items()), ("default", []))
        values = [record.get(field) for field in fields] if isinstance(record, dict) else record
        self._take(name, values, stream, None, None)
        return self.end()[0]

    def emit(
        self,
        component: Component,
        values: list[Any],
        stream: str,
        tup_id: Any,
        anchors: Iterable[Any] | None,
        direct_task: int | None,
    ) -> list[int]:
        """Take an emit of a component; returns the tasks that get the tuple."""
        name = str(component.component_name)
        if anchors is not None and not list(anchors):
            self._out.note(name, "emits without anchors: played anchored")
        if self._emits is None:
            self._out.note(name, "emits outside of its calls, from a thread of its own: left out")
            return []
        return self._take(name, json.loads(json.dumps(values)), stream, tup_id, direct_task)

    def fail(self, component: Component, tup_id: Any) -> None:
        """Note that the call failed its tuple."""
        self._failed = True

    def ack(self, component: Component, tup_id: Any) -> None:
        """Note that the call acked its tuple."""
        self.acked = True

    def _take(
        self, name: str, values: list[Any], stream: str, tup_id: Any, direct_task: int | None
    ) -> list[int]:
        fields = self._outputs[name].get(stream)
        if fields is None:
            self._out.note(name, f"emits on the stream {stream!r}, which it does not declare: left out")
            return []
        size = payload_bytes(values)
        if len(values) != len(fields):
            self._out.note(name, f"emits {len(values)} values on {stream!r}, which has {len(fields)} fields")
            values = [*values, *[None] * len(fields)][: len(fields)]
        routes = self._table.routes(name, stream)
        task = None
        if any(route.item.grouping == "direct" for route in routes):
            if direct_task is not None:
                found = (self._table.index_in(route, direct_task) for route in routes)
                task = next((index for index in found if index is not None), None)
            if task is None:
                self._out.note(name, f"emits on the direct stream {stream!r} without a task of it: left out")
                return []
        targets = self._table.targets(name, stream, values, direct_task)
        assert self._emits is not None
        self._emits.append(Emitted(stream, values, size, task, targets, tup_id))
        return [
            self._table.first[route.target] + index
            for route, tasks in zip(routes, targets, strict=True)
            for index in tasks
        ]
