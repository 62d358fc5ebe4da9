"""The result of an import: a topology with its user code and sources, and notes about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from storm_lab.errors import UserError
from storm_lab.model.machines import Machines
from storm_lab.model.topology import Grouping, Topology
from storm_lab.model.version import StormVersion
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.importers.calls import RecordedCalls
from storm_lab.workloads.importers.documents import Assumed, Unusable
from storm_lab.workloads.importers.figures import Figures, StatedBolt, StatedSpout
from storm_lab.workloads.usercode import Bolt, Spout
from storm_lab.workloads.workload_trace import WorkloadTrace


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a spout's records.

    ``rate_per_s``: records per second of all its executors together; None: never empty. ``anchored``: tuples
    are emitted with a message id. ``replays``: failed tuples are emitted again.
    """

    rate_per_s: float | None
    anchored: bool = True
    replays: bool = False


@dataclass(frozen=True, slots=True)
class Playable:
    """A topology with everything that flows through it.

    ``figures`` describe every component. A component whose own code was run over real input emits what
    ``calls`` recorded, and a spout in ``given`` emits those values, both at the costs of their figures.
    ``source_calls`` is the number of records of a spout in a trace if only its figures are known.
    """

    topology: Topology
    version: StormVersion
    sources: Mapping[str, Source]
    figures: Mapping[str, Figures]
    source_calls: int
    given: Mapping[str, tuple[tuple[object, ...], ...]] = field(default_factory=dict)
    calls: RecordedCalls = field(default_factory=RecordedCalls)

    def code(self) -> dict[str, Spout | Bolt]:
        """Return new user code by component; one pass over the input uses it up."""
        code = self.calls.code(self.figures)
        for component in self.topology.components:
            name = component.id
            if name in code:
                continue
            figures, direct = self.figures[name], _direct_tasks(self.topology, name)
            if component.is_spout:
                given = self.given.get(name, ())
                code[name] = StatedSpout(component, figures, self.source_calls, given=given, direct=direct)
            else:
                code[name] = StatedBolt(component, figures, direct=direct)
        return code

    def trace(self) -> WorkloadTrace:
        """Return the workload trace; `UserError` if it cannot be played."""
        return build_trace(self.topology, self.code(), self.version)


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    ``format`` names the format, and ``files`` what was read. ``playable`` is None if something is missing;
    ``missing`` lists it. ``unusable`` is everything that could not be used, including what is missing.
    ``assumed`` is everything that was not stated and for which a default was taken. ``read`` holds further
    notes on what was read.
    """

    format: str
    name: str
    files: tuple[str, ...]
    playable: Playable | None
    unusable: tuple[Unusable, ...]
    assumed: tuple[Assumed, ...]
    read: tuple[str, ...] = ()
    machines: Machines | None = None

    @property
    def missing(self) -> tuple[Unusable, ...]:
        """What the topology lacks to be played."""
        return tuple(item for item in self.unusable if item.missing)

    def ready(self) -> Playable:
        """Return the playable topology; `UserError` if something is missing, which names the first item."""
        if self.playable is None:
            message = f"cannot be played: {self.missing[0]}"
            raise UserError(message, field="topology", value=self.name, remedy="see Imported.missing")
        return self.playable


def _direct_tasks(topology: Topology, emitter: str) -> dict[str, int]:
    """Return, by direct stream, the number of tasks that its emitter may address in every subscriber."""
    found: dict[str, int] = {}
    for component in topology.components:
        for item in component.inputs:
            if item.source == emitter and item.grouping is Grouping.DIRECT:
                found[item.stream] = min(component.task_count, found.get(item.stream, component.task_count))
    return found
