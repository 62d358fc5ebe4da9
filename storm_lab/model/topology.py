"""Topologies: spouts, bolts and the streams between them.

Only what is declared at submission stands here; nothing of this changes while a topology runs. Resource
figures use Storm's units: CPU in points (100 = one core), memory in MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from storm_lab.errors import UserError, check_known
from storm_lab.model.checks import check_distinct, check_kinds, check_name, check_number, check_whole
from storm_lab.model.settings import SettingValue, check_topology_settings

DEFAULT_STREAM = "default"
ACKER = "__acker"
_OWN_COMPONENTS = frozenset({ACKER, "__system"})
_OWN_STREAMS = frozenset({"__ack_init", "__ack_ack", "__ack_fail", "__ack_reset_timeout"})
MOST_TASKS = 100_000
"""Most tasks of a topology, and most executors, ackers and workers. Storm has no limit but memory."""
MOST_AMOUNT = 1e12
"""Most CPU points or MB of an executor or a node: sums of them stay far from infinity."""
SHORTEST_S = 0.001
LONGEST_S = 1e9
"""Periods and time-outs: a millisecond is what Storm's timers can keep; the most is 31 years."""


class Grouping(Enum):
    """How a consumer's tasks share the tuples of a stream."""

    SHUFFLE = "shuffle"
    FIELDS = "fields"
    ALL = "all"
    GLOBAL = "global"
    NONE = "none"
    DIRECT = "direct"
    LOCAL_OR_SHUFFLE = "local-or-shuffle"
    PARTIAL_KEY = "partial-key"


@dataclass(frozen=True, slots=True)
class Subscription:
    """A bolt's input: the stream of another component and the grouping on it; `UserError` for other kinds."""

    source: str
    stream: str = DEFAULT_STREAM
    grouping: Grouping = Grouping.SHUFFLE
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_kinds(f"a subscription to {self.source!r}", self)


@dataclass(frozen=True, slots=True)
class Resources:
    """What an executor asks for, or a node offers: CPU points, MB; `UserError` if negative or no number."""

    cpu_points: float = 0.0
    memory_mb: float = 0.0
    offheap_mb: float = 0.0

    def __post_init__(self) -> None:
        for name in ("cpu_points", "memory_mb", "offheap_mb"):
            check_number("a demand or offer", name, getattr(self, name), high=MOST_AMOUNT)

    @property
    def total_memory_mb(self) -> float:
        """On-heap plus off-heap memory, in MB."""
        return self.memory_mb + self.offheap_mb


DEFAULT_DEMAND = Resources(cpu_points=10.0, memory_mb=128.0, offheap_mb=0.0)
"""What an executor asks for where nobody declares anything (Storm 1.0 and later)."""


@dataclass(frozen=True, slots=True)
class Component:
    """A spout (no inputs) or a bolt.

    ``outputs`` maps each declared output stream to its field names. ``resources`` is what the topology's
    author asks for per executor, or None when nothing was declared. `UserError` for an id that Storm keeps
    for itself, or a figure that is no whole number or out of range.
    """

    id: str
    executors: int = 1
    tasks: int | None = None
    inputs: tuple[Subscription, ...] = ()
    outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resources: Resources | None = None
    tick_seconds: float | None = None

    def __post_init__(self) -> None:
        check_name("a component", "id", self.id)
        owner = f"component {self.id!r}"
        check_kinds(owner, self)
        for field_name, names, kept in (
            ("component", (self.id,), _OWN_COMPONENTS),
            ("stream", tuple(self.outputs), _OWN_STREAMS),
        ):
            for name in kept.intersection(names):
                message = f"{owner} has a name that Storm keeps for its ackers"
                remedy = "choose one that does not begin with two underscores"
                raise UserError(message, field=field_name, value=name, remedy=remedy)
        check_whole(owner, "executors", self.executors, low=0, high=MOST_TASKS)
        if self.tasks is not None:
            check_whole(owner, "tasks", self.tasks, low=0, high=MOST_TASKS)
        if self.tick_seconds is not None:
            check_number(owner, "tick_seconds", self.tick_seconds, low=SHORTEST_S, high=LONGEST_S, unit="s")

    @property
    def is_spout(self) -> bool:
        """A component without inputs is a spout."""
        return not self.inputs

    @property
    def task_count(self) -> int:
        """Number of tasks: as declared, else one per executor (Storm, all versions)."""
        return self.executors if self.tasks is None else self.tasks


@dataclass(frozen=True, slots=True)
class Topology:
    """A submitted topology.

    ``ackers`` None means the version's own default: one in 0.8, one per requested worker from 0.9 on.
    ``message_timeout_s`` is ``topology.message.timeout.secs``; ``max_spout_pending`` counts root tuples per
    spout task (None = unlimited). ``settings`` holds further Storm settings by their full key, those that
    `storm_lab.model.settings` lists. `UserError` for components of one id, an input from a component that is
    not there, a figure that is no number or out of range, or an unknown setting.
    """

    id: str
    components: tuple[Component, ...]
    workers: int = 1
    ackers: int | None = None
    name: str = ""
    owner: str = ""
    launch_time_s: float = 0.0
    priority: int = 29
    message_timeout_s: float = 30.0
    max_spout_pending: int | None = None
    settings: Mapping[str, SettingValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name("a topology", "id", self.id)
        owner = f"topology {self.id!r}"
        check_kinds(owner, self)
        ids = [component.id for component in self.components]
        check_distinct(owner, "component", ids)
        for component in self.components:
            for subscription in component.inputs:
                reader = f"component {component.id!r} cannot read from it: {owner}"
                check_known("component", subscription.source, ids, reader, field="from")
        tasks = sum(component.task_count for component in self.components)
        check_whole(owner, "tasks of all components", tasks, low=0, high=MOST_TASKS)
        check_whole(owner, "workers", self.workers, low=1, high=MOST_TASKS)
        if self.ackers is not None:
            check_whole(owner, "ackers", self.ackers, low=0, high=MOST_TASKS)
        if self.max_spout_pending is not None:
            check_whole(owner, "max_spout_pending", self.max_spout_pending, low=1, high=2**31 - 1)
        check_whole(owner, "priority", self.priority, low=0, high=2**31 - 1)
        check_number(owner, "launch_time_s", self.launch_time_s)
        check_number(
            owner, "message_timeout_s", self.message_timeout_s, low=SHORTEST_S, high=LONGEST_S, unit="s"
        )
        check_topology_settings(owner, self.settings)

    def component(self, component_id: str) -> Component:
        """The component of that id; `KeyError` if there is none."""
        for component in self.components:
            if component.id == component_id:
                return component
        raise KeyError(f"topology {self.id!r} has no component {component_id!r}")

    @property
    def spouts(self) -> tuple[Component, ...]:
        """The spouts, in order of declaration."""
        return tuple(c for c in self.components if c.is_spout)

    @property
    def bolts(self) -> tuple[Component, ...]:
        """The bolts, in order of declaration."""
        return tuple(c for c in self.components if not c.is_spout)

    def consumers(self, component_id: str) -> tuple[Component, ...]:
        """Components that subscribe to any stream of ``component_id``, in order of declaration."""
        return tuple(c for c in self.components if any(s.source == component_id for s in c.inputs))


def check_executors(topology: Topology) -> None:
    """Refuse a topology that nobody can play (`UserError`): a component has no executor or no task.

    Storm's schedulers may be asked about such a one, but its tuples would have nowhere to go.
    """
    for component in topology.components:
        owner = f"component {component.id!r} of topology {topology.id!r}"
        check_whole(owner, "executors", component.executors, low=1, high=MOST_TASKS)
        check_whole(owner, "tasks", component.task_count, low=1, high=MOST_TASKS)
