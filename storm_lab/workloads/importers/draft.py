"""A topology while it is being read: what the format stated, with gaps where it stated nothing.

Importers fill a draft, and an overlay overrides it. `storm_lab.workloads.importers.finish` turns it into a
topology with user code and notes what it had to assume.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storm_lab.model.checks import ID_RULE, is_id
from storm_lab.model.machines import Machines
from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.model.version import V2_8_8, StormVersion
from storm_lab.workloads.importers.calls import RecordedCalls
from storm_lab.workloads.importers.documents import Notes, Place
from storm_lab.workloads.importers.figures import Keys, Spread

SATURATED = "saturated"  # stands for a rate: the source is never empty
UNNAMED = "value"  # field of a stream whose fields are unknown

Row = list[object] | dict[str, object]  # the values of one record, in order of the fields or by field


@dataclass(slots=True)
class DraftInput:
    """A subscription of a bolt; ``cost_us`` is the cost of one of its tuples, if known."""

    source: str
    place: Place
    stream: str = DEFAULT_STREAM
    grouping: Grouping = Grouping.SHUFFLE
    fields: tuple[str, ...] = ()
    cost_us: Spread | None = None


@dataclass(slots=True)
class DraftStream:
    """An output stream; ``fields`` is None if they are not stated."""

    fields: tuple[str, ...] | None = None
    per_call: float | None = None
    bytes: int | None = None
    keys: dict[str, Keys] = field(default_factory=dict)
    per_tick: float | None = None


@dataclass(slots=True)
class DraftComponent:
    """A spout or a bolt; None stands for what is not stated.

    ``declared``: ``streams`` holds all its streams, so that a subscription to another one is a mistake.
    ``rate_per_s``: records per second of all executors of a spout together, or `SATURATED`. ``records``: what
    a file holds for a spout to emit. ``given``: the values of these records in the order of the spout's
    fields.
    """

    id: str
    is_spout: bool
    place: Place
    executors: int | None = None
    tasks: int | None = None
    inputs: list[DraftInput] = field(default_factory=list)
    streams: dict[str, DraftStream] = field(default_factory=dict)
    declared: bool = False
    cpu_points: float | None = None
    memory_mb: float | None = None
    offheap_mb: float | None = None
    tick_s: float | None = None
    cost_us: Spread | None = None
    tick_cost_us: float | None = None
    server: str = ""
    server_us: float = 0.0
    rate_per_s: float | str | None = None
    anchored: bool | None = None
    replays: bool = False
    records: list[Row] = field(default_factory=list)
    given: tuple[tuple[object, ...], ...] = ()

    @property
    def has_cost(self) -> bool:
        """Whether the cost of a call is stated."""
        return self.cost_us is not None or any(item.cost_us is not None for item in self.inputs)

    def stream(self, name: str) -> DraftStream:
        """Return the stream of that name; add it if there is none."""
        return self.streams.setdefault(name, DraftStream())


@dataclass(slots=True)
class Draft:
    """A topology, and what is known about it.

    ``settings`` are Storm's, by their full keys. ``version_assumed`` says where an assumed version comes
    from; it is empty if the version is stated. ``measured`` says where costs come from that were measured on
    a machine of unknown clock; it is empty if they hold at the reference clock. ``measured_here`` is true if
    they were measured on this machine. ``calls`` are those of components whose own code was run. ``files``
    were read, and ``machines`` were found in them.
    """

    format: str
    name: str
    place: Place
    notes: Notes
    components: dict[str, DraftComponent] = field(default_factory=dict)
    workers: int | None = None
    ackers: int | None = None
    max_spout_pending: int | None = None
    message_timeout_s: float | None = None
    max_task_parallelism: int | None = None
    priority: int | None = None
    owner: str = ""
    settings: dict[str, float | str | bool] = field(default_factory=dict)
    version: StormVersion = V2_8_8
    version_assumed: str = "not stated; give storm_version"
    measured: str = ""
    measured_here: bool = False
    calls: RecordedCalls = field(default_factory=RecordedCalls)
    files: list[str] = field(default_factory=list)
    machines: Machines | None = None

    def set_version(self, version: StormVersion) -> None:
        """Take the version that is stated."""
        self.version, self.version_assumed = version, ""

    def scale_costs(self, factor: float) -> None:
        """Convert costs from another clock to the reference clock."""
        for component in self.components.values():
            if component.cost_us is not None:
                component.cost_us = component.cost_us.scaled(factor)
            if component.tick_cost_us is not None:
                component.tick_cost_us *= factor
            for item in component.inputs:
                if item.cost_us is not None:
                    item.cost_us = item.cost_us.scaled(factor)

    def add(self, name: str, place: Place, *, is_spout: bool) -> DraftComponent | None:
        """Add a component and return it, unless its id is invalid or taken, which is noted."""
        if not is_id(name):
            self.notes.missing(place, "a component", f"its id is not {ID_RULE}")
            return None
        if name in self.components:
            why = "another one has this id: the first counts"
            self.notes.cannot_use(place, f"component {name!r}", why)
            return None
        self.components[name] = DraftComponent(name, is_spout, place)
        return self.components[name]

    def subscriptions(self, source: str, stream: str | None = None) -> list[DraftInput]:
        """Return the subscriptions to a component, or only those to one of its streams."""
        inputs = [item for component in self.components.values() for item in component.inputs]
        return [item for item in inputs if item.source == source and stream in (None, item.stream)]

    def fields_of(self, component: DraftComponent, stream: str) -> tuple[str, ...]:
        """Return a stream's fields: those declared, else those of its keys and groupings, else `UNNAMED`."""
        declared = component.streams[stream].fields
        if declared is not None:
            return declared
        named = [name for item in self.subscriptions(component.id, stream) for name in item.fields]
        return tuple(dict.fromkeys([*component.streams[stream].keys, *named])) or (UNNAMED,)

    def fit_rows(self, component: DraftComponent) -> None:
        """Give a spout its records' values, in order of its first stream's fields; note what does not fit."""
        rows = component.records
        heard = [item.stream for item in self.subscriptions(component.id)]
        first = next(iter([*component.streams, *heard]), DEFAULT_STREAM)
        stream = component.stream(first)
        if stream.fields is None and isinstance(rows[0], dict):
            stream.fields = tuple(str(key) for key in rows[0])
        fields = self.fields_of(component, first)
        if stream.fields is None and isinstance(rows[0], list) and len(rows[0]) != len(fields):
            named = [name for name in fields if name != UNNAMED]
            extra = [f"value{n}" for n in range(len(rows[0]) - len(named))]
            fields = stream.fields = (*named, *extra) if extra else fields
        keys = {str(key): None for row in rows if isinstance(row, dict) for key in row}
        lacking = [name for name in fields if isinstance(rows[0], dict) and name not in keys]
        if lacking:
            why = f"none has the field {lacking[0]!r}; they have: {', '.join(list(keys)[:12])}"
            self.notes.missing(component.place, f"the records of {component.id}", why)
            return
        given = []
        for number, row in enumerate(rows, start=1):
            values = tuple(row.get(name) for name in fields) if isinstance(row, dict) else tuple(row)
            if len(values) != len(fields):
                why = f"it has {len(values)} values where the fields are: {', '.join(fields)}"
                self.notes.missing(component.place, f"record {number} of {component.id}", why)
                return
            given.append(values)
        component.given = tuple(given)
