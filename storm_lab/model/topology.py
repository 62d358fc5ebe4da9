"""Topologies: spouts, bolts and the streams between them.

Only what is declared at submission stands here; nothing of this changes while a topology runs. Resource
figures use Storm's units: CPU in points (100 = one core), memory in MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

DEFAULT_STREAM = "default"
ACKER = "__acker"


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
    """A bolt's input: the stream of another component and the grouping on it."""

    source: str
    stream: str = DEFAULT_STREAM
    grouping: Grouping = Grouping.SHUFFLE
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resources:
    """What one executor asks for, or a node offers: CPU points and memory in MB."""

    cpu_points: float = 0.0
    memory_mb: float = 0.0
    offheap_mb: float = 0.0

    @property
    def total_memory_mb(self) -> float:
        """On-heap plus off-heap memory, in MB."""
        return self.memory_mb + self.offheap_mb


DEFAULT_DEMAND = Resources(cpu_points=10.0, memory_mb=128.0, offheap_mb=0.0)
"""What an executor asks for where nobody declares anything (Storm 1.0 and later)."""


@dataclass(frozen=True, slots=True)
class Component:
    """A spout (no inputs) or a bolt.

    ``outputs`` maps each declared output stream to its field names. ``resources`` is what the
    topology's author asks for per executor, or None when nothing was declared.
    """

    id: str
    executors: int = 1
    tasks: int | None = None
    inputs: tuple[Subscription, ...] = ()
    outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resources: Resources | None = None
    tick_seconds: float | None = None

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
    ``message_timeout_s`` is ``topology.message.timeout.secs``; ``max_spout_pending`` counts root tuples
    per spout task (None = unlimited). ``settings`` holds further numeric Storm settings by their full key,
    validated where they are read.
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
    settings: Mapping[str, float | str | bool] = field(default_factory=dict)

    def component(self, component_id: str) -> Component:
        """The component of that id.

        Raises:
            KeyError: there is none.
        """
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
