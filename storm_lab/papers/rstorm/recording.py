"""Recordings of real runs: topologies, placements and mean rates, read from a file and checked.

The packaged file holds facts measured by R-Storm's first author (its ``source`` says where). A reader's own
file has the same form, or the long one (`storm_lab.papers.rstorm.recording_detail`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError, unknown_name
from storm_lab.model import Assignment, Component, Executor, Resources, Slot, Subscription, Topology
from storm_lab.model.cluster import DEFAULT_PORTS
from storm_lab.model.topology import check_executors
from storm_lab.papers.rstorm.recording_detail import is_detailed, to_short_form
from storm_lab.papers.rstorm.usercode import BOLTS, FIELDS, SPOUTS

PACKAGED = "packaged"
SCHEMA = "rstorm-recordings/1"
HOSTS = 6
WORKERS = 12
"""Workers that every recorded topology asks for."""

_FILE = Path(__file__).with_name("recordings.json")
_MEMORY_MB = 150.0


@dataclass(frozen=True, slots=True)
class Definition:
    """What one component does: a name known to `storm_lab.papers.rstorm.usercode`, and its sleeps."""

    does: str
    sleep_ms: float = 0.0
    sleep_ms_per_char: float = 0.0


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A real run, or a hypothetical one: placement, and mean rates in tuples per 10 s.

    If nothing was recorded, ``sink`` is None and the two mappings are empty.
    """

    topology: str
    scheduler: str
    placement: Assignment
    sink: float | None
    emitted: Mapping[str, float]
    executed: Mapping[str, float]

    @property
    def variant(self) -> str:
        """Name of the run, usable as a file name."""
        return f"{self.topology}-{self.scheduler}"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A topology and what its components do."""

    topology: Topology
    definitions: Mapping[str, Definition]

    @property
    def sinks(self) -> tuple[str, ...]:
        """The output bolts, whose streams no component consumes."""
        return tuple(c.id for c in self.topology.bolts if not self.topology.consumers(c.id))


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTopology(Layout):
    """A topology with its recorded runs."""

    runs: Mapping[str, RecordedRun]

    @property
    def is_loaded(self) -> bool:
        """Whether no spout ever sleeps."""
        return not any(definition.sleep_ms > 0 for definition in self.definitions.values())


@dataclass(frozen=True, slots=True)
class Recordings:
    """All topologies of a file, and its digest; ``left_out`` names runs of unknown topologies."""

    topologies: Mapping[str, RecordedTopology]
    line_lengths: tuple[int, ...]
    digest: str
    left_out: tuple[str, ...] = ()

    def topology(self, name: str) -> RecordedTopology:
        """Return the topology with this name; `UserError` names the existing ones if there is none."""
        if name not in self.topologies:
            raise unknown_name("topology", name, self.topologies, "the file of recordings")
        return self.topologies[name]

    @property
    def runs(self) -> tuple[RecordedRun, ...]:
        """All runs, topology by topology."""
        return tuple(run for topology in self.topologies.values() for run in topology.runs.values())


def host(number: int) -> str:
    """Id of a host of the testbed."""
    return f"host{number}"


def load_recordings(source: str = PACKAGED) -> Recordings:
    """Load the recordings of the package or of a file; `UserError`: it cannot be read or does not fit."""
    path = _FILE if source == PACKAGED else Path(source)
    try:
        data = path.read_bytes()
        return _parsed(data)
    except UserError:
        raise
    except (OSError, ValueError) as error:
        message = f"the recordings cannot be read: {error}"
        raise UserError(message, field="recordings", value=source, remedy="give a JSON file") from error


@cache
def _parsed(data: bytes) -> Recordings:
    document = json.loads(data)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        remedy = f"set its schema to {SCHEMA!r}"
        raise UserError("the file is not a file of recordings", field="schema", remedy=remedy)
    try:
        if is_detailed(document):
            package = json.loads(_FILE.read_bytes())
            known = {name: entry["components"] for name, entry in package["topologies"].items()}
            document = to_short_form(document, known, package["line_lengths"])
        lengths = tuple(int(length) for length in document["line_lengths"])
        topologies = {name: _topology(name, entry) for name, entry in document["topologies"].items()}
        left_out = tuple(document.get("left_out", document.get("extra_runs", ())))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        message = f"the recordings do not match their schema: {error!r}"
        remedy = "compare with storm_lab/papers/rstorm/recordings.json"
        raise UserError(message, field="recordings", remedy=remedy) from error
    if not lengths and any(
        d.does == "line" for each in topologies.values() for d in each.definitions.values()
    ):
        remedy = "give the length of one line or more"
        raise UserError("spouts emit lines, but there are none", field="line_lengths", remedy=remedy)
    return Recordings(topologies, lengths, hashlib.sha256(data).hexdigest(), left_out)


def _topology(name: str, entry: Mapping[str, Any]) -> RecordedTopology:
    components, definitions = [], {}
    for row in entry["components"]:
        points = row.get("cpu_points")
        known = BOLTS if row["inputs"] else SPOUTS
        if row["does"] not in known:
            where = f"{name}.{row['id']}.does"
            raise unknown_name("user code", row["does"], known, "R-Storm", field=where)
        definitions[row["id"]] = Definition(
            row["does"], float(row.get("sleep_ms", 0)), float(row.get("sleep_ms_per_char", 0))
        )
        components.append(
            Component(
                row["id"],
                int(row["executors"]),
                tasks=int(row["tasks"]) if "tasks" in row else None,
                inputs=tuple(Subscription(source) for source in row["inputs"]),
                outputs={"default": FIELDS},
                resources=None if points is None else Resources(float(points), _MEMORY_MB),
            )
        )
    topology = Topology(
        id=name,
        name=name,
        components=tuple(components),
        workers=WORKERS,
        ackers=0,
        settings={"topology.debug": True},
    )
    check_executors(topology)
    runs = {scheduler: _run(name, scheduler, run) for scheduler, run in entry["runs"].items()}
    return RecordedTopology(topology, definitions, runs)


def _run(name: str, scheduler: str, entry: Mapping[str, Any]) -> RecordedRun:
    sink = entry.get("sink")
    return RecordedRun(
        topology=name,
        scheduler=scheduler,
        placement=Assignment.of(
            (Executor(name, first, last, component), Slot(host(node), DEFAULT_PORTS[port]))
            for component, first, last, node, port in entry["placement"]
        ),
        sink=None if sink is None else float(sink),
        emitted=dict(entry.get("emitted", {})),
        executed=dict(entry.get("executed", {})),
    )


def merged_by_host(run: RecordedRun) -> RecordedRun:
    """A hypothetical run: the same executors on the same hosts, but in one worker per host."""
    slots = {
        executor: Slot(slot.node, min(s.port for s in run.placement.slots.values() if s.node == slot.node))
        for executor, slot in run.placement.slots.items()
    }
    return RecordedRun(run.topology, f"{run.scheduler}-merged", Assignment.of(slots.items()), None, {}, {})
