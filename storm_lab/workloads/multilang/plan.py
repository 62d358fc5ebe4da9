"""The plan for the process that runs Python components, and the components in its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TICK = "topology.tick.tuple.freq.secs"


@dataclass(slots=True)
class InputSpec:
    """A subscription: another component's stream and the grouping on it, with the model's names."""

    component: str
    stream: str
    grouping: str
    fields: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ComponentSpec:
    """A component as its topology declares it.

    ``code`` tells where its Python code is: ``module`` and ``class``, or ``script``. It is empty for a
    component in another language, which ``java`` names. ``outputs`` maps streams to their fields;
    ``outputs_known`` is false if they could not be read. ``tick_s`` is the period of its tick tuples.
    """

    name: str
    is_spout: bool
    par: int = 1
    inputs: list[InputSpec] = field(default_factory=list)
    outputs: dict[str, list[str]] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    java: str = ""
    tick_s: float | None = None
    outputs_known: bool = True
    line: int | None = None


@dataclass(slots=True)
class Given:
    """What was specified for a component in advance: tasks, period of ticks, rate, or the values it emits."""

    tasks: int | None = None
    tick_s: float | None = None
    rate_per_s: float | None = None
    records: list[Any] | None = None


@dataclass(slots=True)
class Plan:
    """A run of Python components.

    Components are declared either by the streamparse topology in ``topology_file`` or by ``components``.
    Modules are searched in ``folders``. ``rate_per_s`` applies to spouts whose rate is not known. The run
    ends after ``seconds``.
    """

    name: str
    folders: list[str]
    topology_file: str = ""
    components: list[ComponentSpec] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Given] = field(default_factory=dict)
    rate_per_s: float = 100.0
    seconds: float = 60.0


def tick_of(config: Mapping[str, Any]) -> float | None:
    """Return the period of tick tuples that a configuration sets, in seconds; None if it sets none."""
    period = config.get(TICK)
    return float(period) if isinstance(period, int | float) and period > 0 else None


def component_of(raw: Mapping[str, Any]) -> ComponentSpec:
    """Return a component from its JSON."""
    values = dict(raw)
    values["inputs"] = [InputSpec(**item) for item in values.get("inputs", [])]
    return ComponentSpec(**values)
