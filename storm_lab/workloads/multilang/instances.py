"""The instances of components, one for each task, made when its first tuple arrives."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from storm_lab.workloads.multilang.clock import TookTooLongError, at_most
from storm_lab.workloads.multilang.components import Bolt, Component, Spout
from storm_lab.workloads.multilang.emits import CallCollector
from storm_lab.workloads.multilang.loading import Loader, LoadError, exception_text
from storm_lab.workloads.multilang.plan import ComponentSpec, Plan

MOST_INSTANCES = 64
"""Most instances of a component; further tasks share them."""
START_S = 20.0
"""Seconds that making and initialising an instance may take."""


class Instances:
    """Instances by component and task, whose calls ``collector`` collects.

    ``faults`` maps a component to the reason why it cannot be made.
    """

    def __init__(
        self, plan: Plan, specs: Sequence[ComponentSpec], loader: Loader, collector: CallCollector
    ) -> None:
        self.collector = collector
        self.faults: dict[str, str] = {}
        self._plan = plan
        self._specs = {spec.name: spec for spec in specs}
        self._loader = loader
        self._made: dict[tuple[str, int], Component | None] = {}

    def get(self, name: str, task: int) -> Component | None:
        """Return the instance of a task; None if it cannot be made."""
        key = (name, task % MOST_INSTANCES)
        if key not in self._made:
            self._made[key] = self._make(name, key[1])
        return self._made[key]

    def made(self, name: str) -> list[tuple[int, Component | None]]:
        """Return the tasks of a component that have an instance, always with the first, and the instances."""
        self.get(name, 0)
        found = {task: instance for (owner, task), instance in self._made.items() if owner == name}
        return sorted(found.items(), key=itemgetter(0))

    def values(self, source: str, stream: str, values: Sequence[Any]) -> Any:
        """Return the values of a tuple, as a named tuple if the names of its fields allow it."""
        fields = tuple(self._specs[source].outputs.get(stream, ()))
        if any(isinstance(value, list | dict) for value in values):
            # Each receiver gets its own copy, which it may change.
            values = json.loads(json.dumps(values))
        kind = _named(fields)
        return tuple(values) if kind is None or len(fields) != len(values) else kind(*values)

    def _make(self, name: str, task: int) -> Component | None:
        spec = self._specs[name]
        if not spec.code:
            self.faults[name] = f"it is not Python: {spec.java or 'no code was found'}"
            return None
        try:
            with at_most(START_S):
                made = self._loader.make(spec)
                if isinstance(made, Spout) is not spec.is_spout or not isinstance(made, Spout | Bolt):
                    raise LoadError(f"{type(made).__name__} is not a {'spout' if spec.is_spout else 'bolt'}")
                conf, context = self._handshake(spec, task)
                made.attach(self.collector, conf, context)
                made.initialize(conf, context)
                return made
        except LoadError as error:
            why = str(error)
        except TookTooLongError:
            why = f"it did not start within {START_S:g} s"
        except (Exception, SystemExit) as error:
            why = f"its initialize raised {exception_text(error)}"
        self.faults.setdefault(name, why)
        return None

    def _handshake(self, spec: ComponentSpec, task: int) -> tuple[dict[str, Any], dict[str, Any]]:
        conf = {"topology.name": self._plan.name, "topology.debug": False, **self._plan.config, **spec.config}
        context = {
            "taskid": self.collector.table.first[spec.name] + task,
            "componentid": spec.name,
            "task->component": self.collector.table.component_of(),
            "source->stream->fields": {
                item.component: self._specs[item.component].outputs
                for item in spec.inputs
                if item.component in self._specs
            },
            "stream->outputfields": spec.outputs,
        }
        return conf, context


@cache
def _named(fields: tuple[str, ...]) -> Any:
    try:
        return namedtuple("Values", fields)
    except ValueError:
        return None
