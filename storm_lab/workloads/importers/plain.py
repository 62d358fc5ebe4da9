"""storm-lab's own YAML: topologies, and overlays of what a topology's own files do not state.

Both were checked against their schemas (`topology.schema.json` and `overlay.schema.json` beside this file)
and share the entries of components. Files of records hold the values that a spout emits: real input for a
topology whose own source is unavailable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError, check_known
from storm_lab.model.machines import MACHINE_TYPES
from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.model.version import StormVersion
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.calls import read_recording
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part, read_bounded, yaml_part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput, Row
from storm_lab.workloads.importers.figures import Defaults, Keys, KeyShape, Spread
from storm_lab.workloads.importers.scalars import read_settings
from storm_lab.workloads.importers.schema import OVERLAY, TOPOLOGY, checked, converted

FORMAT = "storm-lab YAML"


def read_plain(part: Part, path: Path, notes: Notes) -> Draft:
    """Return the topology of a file; `UserError` if it violates its schema or names an unreadable file."""
    given = checked(part, TOPOLOGY)
    draft = Draft(FORMAT, given["name"], part.place, notes, files=[path.name])
    measured = clock_of(given.get("measured_on"), str(part.place))
    factor = (measured or REFERENCE_MHZ) / REFERENCE_MHZ
    for name, entry in given["components"].items():
        place = part.at(("components", name)).place
        is_spout = not entry.get("inputs")
        why = "has no inputs, so it is" if is_spout else "has inputs, so it is"
        check_entry(part, name, entry, why, is_spout=is_spout)
        component = draft.add(name, place, is_spout=is_spout)
        if component is None:
            continue
        component.declared = "emits" in entry
        for number, item in enumerate(entry.get("inputs", ())):
            where = part.at(("components", name, "inputs", number))
            component.inputs.append(_input(where, name, item, factor))
        put_figures(component, entry, factor, path.parent, inside=True)
    read_settings(part.get("settings"), draft)
    put_topology(draft, given)
    if "recording" in given:
        _take_recording(path.parent / given["recording"], draft)
    return draft


def _input(part: Part, name: str, given: Mapping[str, Any], factor: float) -> DraftInput:
    """Return an input of a component; `UserError` if it has fields that its grouping does not use."""
    grouping = Grouping(given.get("grouping", Grouping.SHUFFLE))
    if given.get("fields") and grouping not in (Grouping.FIELDS, Grouping.PARTIAL_KEY):
        message = f"an input of {name} has fields, which grouping {grouping.value} does not use"
        remedy = "set grouping: fields, or leave the fields out"
        raise UserError(message, field=str(part.get("fields").place), value=given["fields"], remedy=remedy)
    stream, fields = given.get("stream", DEFAULT_STREAM), tuple(given.get("fields", ()))
    cost_us = spread_of(given["cost_us"], factor) if "cost_us" in given else None
    return DraftInput(given["from"], part.place, stream, grouping, fields, cost_us)


def _take_recording(path: Path, draft: Draft) -> None:
    calls, given = read_recording(path)
    strangers = [name for name in (*given, *calls.components) if name not in draft.components]
    if strangers:
        message = "the recording holds a component that the topology does not have"
        raise UserError(message, field="recording", value=strangers[0], remedy="export the topology again")
    draft.calls = calls
    for name, rows in given.items():
        draft.components[name].given = rows


LARGEST_RECORDS = 64 * 1024 * 1024
MOST_RECORDS = 100_000


def clock_of(given: Mapping[str, Any] | None, where: str) -> float | None:
    """Return the clock of ``measured_on`` in MHz of the cost model's cores; `UserError`: unknown type."""
    if given is None:
        return None
    if "type" in given:
        field = f"{where} measured_on.type"
        check_known("machine type", given["type"], MACHINE_TYPES, "storm_lab", field=field)
        return MACHINE_TYPES[given["type"]].core_mhz
    return float(given["speed"]) * REFERENCE_MHZ if "speed" in given else float(given["mhz"])


def spread_of(given: Any, factor: float) -> Spread:
    """Return a cost from a number or a mapping with a mean; ``factor`` converts it to the reference clock."""
    stated = given if isinstance(given, dict) else {"mean": given}
    numbers = {"mean": 0.0, "stddev": 0.0, "min": 0.0, "max": math.inf} | stated
    return Spread(*map(float, numbers.values())).scaled(factor)


def keys_of(given: Mapping[str, Any]) -> Keys:
    """Return the distribution of a field's values."""
    shape = KeyShape(given.get("shape", KeyShape.UNIFORM))
    return Keys(int(given["distinct"]), shape, float(given.get("exponent", 1.0)))


_FOR_BOLTS = ("tick",)
_FOR_SPOUTS = ("rate_per_s", "anchored", "replays", "records")


def check_entry(part: Part, name: str, given: Mapping[str, Any], why: str, *, is_spout: bool) -> None:
    """Raise `UserError` if an entry has a key for the other kind of component, or more executors than tasks.

    ``why`` begins the reason: the component "is", or "has no inputs, so it is", a spout.
    """
    own, other = ("spout", "bolts") if is_spout else ("bolt", "spouts")
    for key in _FOR_BOLTS if is_spout else _FOR_SPOUTS:
        if key in given:
            message = f"{name} {why} a {own}, and {key} is for {other}"
            place = part.at(("components", name, key)).place
            raise UserError(message, field=str(place), remedy="leave it out")
    if given.get("executors", 1) > given.get("tasks", math.inf):
        place = part.at(("components", name, "tasks")).place
        message = f"{name} has {given['executors']} executors, and each needs a task"
        remedy = "give at least as many tasks, or leave them out"
        raise UserError(message, field=str(place), value=given["tasks"], remedy=remedy)


def put_topology(draft: Draft, given: Mapping[str, Any]) -> None:
    """Override the draft with what is stated about the topology as a whole."""
    whole = dict.fromkeys(("workers", "ackers", "max_spout_pending", "priority"), int)
    _put(draft, given, name=str, owner=str, message_timeout_s=float, **whole)
    if "storm_version" in given:
        draft.set_version(StormVersion.parse(given["storm_version"]))


def _put(target: object, given: Mapping[str, Any], **kinds: Callable[[Any], Any]) -> None:
    """Set the attributes whose names are given, each to its value converted to its kind."""
    for name, value in converted(given, **kinds).items():
        setattr(target, name, value)


def put_figures(
    component: DraftComponent, given: Mapping[str, Any], factor: float, folder: Path, *, inside: bool
) -> None:
    """Override a component of the draft with what its entry states; ``inside`` and errors as `read_rows`."""
    _put(component, given, executors=int, tasks=int, anchored=bool, replays=bool)
    _put(component, given, cost_us=lambda cost: spread_of(cost, factor))
    _put(component, given, rate_per_s=lambda rate: rate if isinstance(rate, str) else float(rate))
    _put(component, given.get("resources", {}), cpu_points=float, memory_mb=float, offheap_mb=float)
    if "server" in given:
        component.server, component.server_us = given["server"]["name"], float(given["server"]["us"])
    if "tick" in given:
        component.tick_s = float(given["tick"]["every_s"])
        if "cost_us" in given["tick"]:
            component.tick_cost_us = float(given["tick"]["cost_us"]) * factor
    for name, emits in given.get("emits", {}).items():
        stated = emits if isinstance(emits, dict) else {"per_call": emits}
        stream = component.stream(name)
        _put(stream, stated, fields=tuple, per_call=float, bytes=int, per_tick=float)
        stream.keys |= {field: keys_of(keys) for field, keys in stated.get("keys", {}).items()}
    if "records" in given:
        field = f"records of {component.id}"
        component.records = read_rows(given["records"], folder, field, inside=inside)


def read_rows(name: str, folder: Path, field: str, *, inside: bool) -> list[Row]:
    """Return the records of a file; with ``inside``, it must be in ``folder`` or below it.

    A JSON file (``.json``, ``.jsonl``, ``.ndjson``) has a list, object or value per line, any other file a
    text per line. Raises `UserError` if the file cannot be read, holds no record or too many, or a line is
    not JSON.
    """
    path = folder / name
    if inside and not path.resolve().is_relative_to(folder.resolve()):
        message = "is outside the folder of the file that names it"
        raise UserError(message, field=field, value=name, remedy="put it there")
    lines = read_bounded(path, field=field, largest=LARGEST_RECORDS).split("\n")
    as_json = path.suffix in (".json", ".jsonl", ".ndjson")
    filled = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    rows = [_row(line, number, as_json, path.name, field) for number, line in filled]
    if not 1 <= len(rows) <= MOST_RECORDS:
        remedy = f"give 1 to {MOST_RECORDS}"
        raise UserError(f"holds {len(rows)} records", field=field, value=name, remedy=remedy)
    return rows


def _row(line: str, number: int, as_json: bool, file: str, field: str) -> Row:
    if not as_json:
        return [line.removesuffix("\r")]
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        remedy = "give one JSON value a line"
        raise UserError(f"line {number} is not JSON", field=field, value=file, remedy=remedy) from None
    return value if isinstance(value, list | dict) else [value]


@dataclass(frozen=True, slots=True)
class Overlay:
    """The content of an overlay file. ``part`` knows the lines; ``folder`` holds its files of records.

    ``cost_mhz`` is the clock at which its costs were measured, and those that an importer measures or finds
    in statistics; None: not stated.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    part: Part = ABSENT
    folder: Path = Path()

    @property
    def cost_mhz(self) -> float | None:
        """The clock that ``measured_on`` states."""
        return clock_of(self.given.get("measured_on"), "overlay")

    @property
    def properties(self) -> dict[str, str]:
        """Values for ``${...}``."""
        given = self.given.get("properties", {}).items()
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given}

    @property
    def defaults(self) -> Defaults:
        """What to assume where nothing is stated."""
        given = self.given.get("defaults", {})
        kinds = dict.fromkeys(("cost_us", "per_call", "rate_per_s"), float)
        return Defaults(**converted(given, bytes=int, keys=keys_of, **kinds))

    def rows(self, component: str) -> list[Row] | None:
        """Return the records that it gives to a spout, if any; `UserError` if the file cannot be read."""
        name = self.given.get("components", {}).get(component, {}).get("records")
        return None if name is None else read_rows(name, self.folder, f"records of {component}", inside=False)

    def lay_over(self, draft: Draft) -> None:
        """Override the draft; `UserError` for an unknown component or a file that cannot be read."""
        put_topology(draft, self.given.get("topology", {}))
        factor = (self.cost_mhz or REFERENCE_MHZ) / REFERENCE_MHZ
        for name, entry in self.given.get("components", {}).items():
            where = str(self.part.at(("components", name)).place)
            check_known("component", name, draft.components, "the topology", field=where)
            component = draft.components[name]
            check_entry(self.part, name, entry, "is", is_spout=component.is_spout)
            if "emits" in entry and name in draft.calls.components:
                place = self.part.at(("components", name, "emits")).place
                why = "its own code was run: what that emits is played"
                draft.notes.cannot_use(place, f"emits of {name}", why)
            tick_s = component.tick_s
            put_figures(component, entry, factor, self.folder, inside=False)
            if draft.measured_here and name in draft.calls.ticks:
                # It was run with this period, of which only the ticks that emit may have been kept.
                component.tick_s = tick_s
            if "cost_us" in entry:
                # This cost holds for every call, so it replaces what an importer found for single inputs.
                for item in component.inputs:
                    item.cost_us = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to read: values for variables, the overlay, whether Python may be run, and for how long."""

    properties: Mapping[str, str]
    environment: Mapping[str, str] | None
    overlay: Overlay
    run_python: bool
    python_seconds: float


def load_overlay(path: Path) -> Overlay:
    """Read an overlay file; `UserError` if it cannot be read or violates its schema."""
    part = yaml_part(read_bounded(path, field="overlay"), path.name, Notes())
    return Overlay(checked(part, OVERLAY), part, path.parent)
