"""Topologies: spouts, bolts and the streams between them.

A topology holds only what is declared at submission; it does not change while it runs. Resource figures use
Storm's units: CPU in points (100 = one core), memory in MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from storm_lab.errors import UserError, check_known
from storm_lab.model.checks import check_distinct, check_id, check_kinds, check_number, check_whole
from storm_lab.model.settings import SettingValue, check_topology_settings

DEFAULT_STREAM = "default"
ACKER = "__acker"
_RESERVED_COMPONENTS = frozenset({ACKER, "__system"})
_RESERVED_STREAMS = frozenset({"__ack_init", "__ack_ack", "__ack_fail", "__ack_reset_timeout"})
MAX_TASKS = 100_000
"""Maximum number of tasks, executors, ackers or workers of a topology. Storm's only limit is memory."""
MAX_AMOUNT = 1e12
"""Maximum CPU points or MB of an executor or a node; it keeps sums finite."""
MIN_TIME_S = 0.001
MAX_TIME_S = 1e9
"""Bounds of periods and time-outs: Storm's timers resolve a millisecond; the maximum is 31 years."""


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
    """A bolt's input: a stream of another component and its grouping; `UserError` for other types."""

    source: str
    stream: str = DEFAULT_STREAM
    grouping: Grouping = Grouping.SHUFFLE
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_kinds(f"a subscription to {self.source!r}", self)


@dataclass(frozen=True, slots=True)
class Resources:
    """What an executor asks for or a node offers: CPU points and MB; `UserError` if negative or no number."""

    cpu_points: float = 0.0
    memory_mb: float = 0.0
    offheap_mb: float = 0.0

    def __post_init__(self) -> None:
        for name in ("cpu_points", "memory_mb", "offheap_mb"):
            check_number("a demand or offer", name, getattr(self, name), high=MAX_AMOUNT)

    @property
    def total_memory_mb(self) -> float:
        """On-heap plus off-heap memory, in MB."""
        return self.memory_mb + self.offheap_mb


DEFAULT_DEMAND = Resources(cpu_points=10.0, memory_mb=128.0, offheap_mb=0.0)
"""What an executor asks for if nothing is declared (Storm 1.0 and later)."""


@dataclass(frozen=True, slots=True)
class Component:
    """A spout (no inputs) or a bolt.

    ``outputs`` maps each output stream to its field names. ``resources`` is what is declared per executor, if
    anything. Raises `UserError` for an id or stream name that Storm reserves, or a figure out of range or of
    the wrong type.
    """

    id: str
    executors: int = 1
    tasks: int | None = None
    inputs: tuple[Subscription, ...] = ()
    outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resources: Resources | None = None
    tick_seconds: float | None = None

    def __post_init__(self) -> None:
        check_id("a component", self.id)
        owner = f"component {self.id!r}"
        check_kinds(owner, self)
        for field_name, names, reserved in (
            ("component", (self.id,), _RESERVED_COMPONENTS),
            ("stream", tuple(self.outputs), _RESERVED_STREAMS),
        ):
            for name in reserved.intersection(names):
                message = f"{owner} has a name that Storm reserves"
                remedy = "choose a name that does not begin with two underscores"
                raise UserError(message, field=field_name, value=name, remedy=remedy)
        check_whole(owner, "executors", self.executors, low=0, high=MAX_TASKS)
        if self.tasks is not None:
            check_whole(owner, "tasks", self.tasks, low=0, high=MAX_TASKS)
        if self.tick_seconds is not None:
            check_number(owner, "tick_seconds", self.tick_seconds, low=MIN_TIME_S, high=MAX_TIME_S, unit="s")

    @property
    def is_spout(self) -> bool:
        """Whether the component is a spout: it has no inputs."""
        return not self.inputs

    @property
    def task_count(self) -> int:
        """Number of tasks: as declared, otherwise one per executor (all Storm versions)."""
        return self.executors if self.tasks is None else self.tasks


@dataclass(frozen=True, slots=True)
class Topology:
    """A submitted topology.

    ``ackers`` None means the version's default: one in 0.8, one per requested worker from 0.9 on.
    ``message_timeout_s`` is ``topology.message.timeout.secs``. ``max_spout_pending`` counts root tuples per
    spout task (None = unlimited). ``settings`` holds further Storm settings by their full key, of those that
    `storm_lab.model.settings` lists.

    Raises:
        UserError: two components have the same id, an input names a component that does not exist, a figure
            is not a number or out of range, or a setting is unknown.
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
        check_id("a topology", self.id)
        owner = f"topology {self.id!r}"
        check_kinds(owner, self)
        ids = [component.id for component in self.components]
        check_distinct(owner, "component", ids)
        for component in self.components:
            for subscription in component.inputs:
                reader = f"component {component.id!r} cannot read from it: {owner}"
                check_known("component", subscription.source, ids, reader, field="from")
        tasks = sum(component.task_count for component in self.components)
        check_whole(owner, "tasks of all components", tasks, low=0, high=MAX_TASKS)
        check_whole(owner, "workers", self.workers, low=1, high=MAX_TASKS)
        if self.ackers is not None:
            check_whole(owner, "ackers", self.ackers, low=0, high=MAX_TASKS)
        if self.max_spout_pending is not None:
            check_whole(owner, "max_spout_pending", self.max_spout_pending, low=1, high=2**31 - 1)
        check_whole(owner, "priority", self.priority, low=0, high=2**31 - 1)
        check_number(owner, "launch_time_s", self.launch_time_s)
        check_number(
            owner, "message_timeout_s", self.message_timeout_s, low=MIN_TIME_S, high=MAX_TIME_S, unit="s"
        )
        check_topology_settings(owner, self.settings)

    def component(self, component_id: str) -> Component:
        """Return the component with that id; raise `KeyError` if there is none."""
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
    """Raise `UserError` if a component has no executor or no task, so that its tuples cannot be delivered."""
    for component in topology.components:
        owner = f"component {component.id!r} of topology {topology.id!r}"
        check_whole(owner, "executors", component.executors, low=1, high=MAX_TASKS)
        check_whole(owner, "tasks", component.task_count, low=1, high=MAX_TASKS)
