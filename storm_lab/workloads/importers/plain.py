"""storm-lab's own YAML for topologies; the schema is `topology.schema.json` beside this file.

A topology is written with its recording beside it, if it has one, and reads back the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.model.topology import DEFAULT_STREAM, Component, Grouping, Subscription
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.calls import read_recording, recording_bytes
from storm_lab.workloads.importers.documents import Notes, Part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput
from storm_lab.workloads.importers.figures import Emits, Figures, KeyShape, Spread
from storm_lab.workloads.importers.imported import Playable, Source
from storm_lab.workloads.importers.loadgen import loadgen_document, without_none
from storm_lab.workloads.importers.scalars import read_settings
from storm_lab.workloads.importers.schema import TOPOLOGY, checked
from storm_lab.workloads.importers.yaml_figures import (
    check_bolt,
    check_tasks,
    clock_of,
    put_figures,
    put_topology,
    spread_of,
)

FORMAT = "storm-lab YAML"


def read_plain(part: Part, path: Path, notes: Notes) -> Draft:
    """Return the topology of a file; `UserError` if it violates its schema or names an unreadable file."""
    given = checked(part, TOPOLOGY)
    draft = Draft(FORMAT, given["name"], part.place, notes, files=[path.name])
    measured = clock_of(given.get("measured_on"), str(part.place))
    factor = (measured or REFERENCE_MHZ) / REFERENCE_MHZ
    for name, entry in given["components"].items():
        place = part.at(("components", name)).place
        component = DraftComponent(name, is_spout=not entry.get("inputs"), place=place)
        component.declared = "emits" in entry
        if not component.is_spout:
            check_bolt(part, name, entry, "has inputs, so it is a bolt")
        check_tasks(part, name, entry)
        for number, item in enumerate(entry.get("inputs", ())):
            _check_input(part.at(("components", name, "inputs", number)), name, item)
            component.inputs.append(
                DraftInput(
                    source=item["from"],
                    place=part.at(("components", name, "inputs", number)).place,
                    stream=item.get("stream", DEFAULT_STREAM),
                    grouping=Grouping(item.get("grouping", Grouping.SHUFFLE.value)),
                    fields=tuple(item.get("fields", ())),
                    cost_us=spread_of(item["cost_us"], factor) if "cost_us" in item else None,
                )
            )
        if draft.add(component):
            put_figures(component, entry, factor, path.parent, inside=True)
    read_settings(part.get("settings"), draft)
    put_topology(draft, given)
    if "recording" in given:
        _take_recording(path.parent / given["recording"], draft)
    return draft


def _check_input(part: Part, name: str, given: Mapping[str, Any]) -> None:
    """Raise `UserError` if an input has fields that its grouping does not use."""
    grouping = given.get("grouping", Grouping.SHUFFLE.value)
    if given.get("fields") and grouping not in (Grouping.FIELDS.value, Grouping.PARTIAL_KEY.value):
        message = f"an input of {name} has fields, which grouping {grouping} does not use"
        remedy = "set grouping: fields, or leave the fields out"
        raise UserError(message, field=str(part.get("fields").place), value=given["fields"], remedy=remedy)


def _take_recording(path: Path, draft: Draft) -> None:
    calls, given = read_recording(path)
    strangers = [name for name in (*given, *calls.components) if name not in draft.components]
    if strangers:
        message = "the recording holds a component that the topology does not have"
        raise UserError(message, field="recording", value=strangers[0], remedy="export the topology again")
    draft.calls = calls
    for name, rows in given.items():
        draft.components[name].given = rows


def check_export(path: Path, field: str) -> None:
    """Raise `UserError` for a name that no topology is written to, because it could not be read back."""
    if path.suffix not in (".yaml", ".yml"):
        remedy = "give the name of a file that ends in .yaml or .yml"
        raise UserError("a topology is written as YAML", field=field, value=str(path), remedy=remedy)


def export_topology(playable: Playable, path: Path) -> tuple[Path, ...]:
    """Write a topology and, beside it, its recording, if any; return the files.

    Raises `UserError` if the name does not end in .yaml or .yml, or the files cannot be written.
    """
    check_export(path, "out")
    document = topology_document(playable)
    files: list[tuple[Path, bytes]] = []
    if playable.calls.components or playable.given:
        recording = path.with_name(f"{path.stem}.recording.json.gz")
        document["recording"] = recording.name
        files.append((recording, recording_bytes(playable.calls, playable.given)))
    files.append((path, yaml_text(document).encode()))
    for file, content in files:
        _write(file, content)
    return tuple(file for file, _ in reversed(files))


def export_loadgen(playable: Playable, path: Path) -> list[str]:
    """Write a topology for storm-loadgen; return what is lost. `UserError` as by `export_topology`."""
    check_export(path, "out_loadgen")
    document, lost = loadgen_document(playable)
    _write(path, yaml_text(document).encode())
    return lost


def yaml_text(document: dict[str, Any]) -> str:
    """Return a document as YAML, with its keys in their order."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def topology_document(playable: Playable) -> dict[str, Any]:
    """Return the topology as storm-lab YAML, without its recording."""
    topology, figures = playable.topology, playable.figures
    return without_none(
        {
            "storm_lab": "topology/1",
            "name": topology.id,
            "storm_version": str(playable.version),
            "workers": topology.workers,
            "ackers": topology.ackers,
            "max_spout_pending": topology.max_spout_pending,
            "message_timeout_s": topology.message_timeout_s,
            "priority": topology.priority,
            "owner": topology.owner or None,
            "settings": dict(topology.settings) or None,
            "components": {
                component.id: _component(component, figures[component.id], playable.sources.get(component.id))
                for component in topology.components
            },
        }
    )


def _component(component: Component, figures: Figures, source: Source | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"executors": component.executors, "tasks": component.tasks}
    if source is not None:
        entry["rate_per_s"] = "saturated" if source.rate_per_s is None else source.rate_per_s
        entry["anchored"] = source.anchored
        entry["replays"] = source.replays or None
    entry["inputs"] = [_input(item, figures) for item in component.inputs] or None
    entry["cost_us"] = _cost(figures.cost_us)
    if figures.server:
        entry["server"] = {"name": figures.server, "us": figures.server_us}
    if component.resources is not None:
        entry["resources"] = asdict(component.resources)
    if component.tick_seconds is not None:
        entry["tick"] = {"every_s": component.tick_seconds, "cost_us": figures.tick_cost_us}
    entry["emits"] = {
        stream: _emits(fields, figures.emits[stream], figures.tick_emits.get(stream))
        for stream, fields in component.outputs.items()
    } or None
    return without_none(entry)


def _input(item: Subscription, figures: Figures) -> dict[str, Any]:
    cost = figures.input_cost_us.get((item.source, item.stream))
    return without_none(
        {
            "from": item.source,
            "stream": None if item.stream == DEFAULT_STREAM else item.stream,
            "grouping": None if item.grouping is Grouping.SHUFFLE else item.grouping.value,
            "fields": list(item.fields) or None,
            "cost_us": None if cost is None else _cost(cost),
        }
    )


def _emits(fields: tuple[str, ...], emits: Emits, per_tick: float | None) -> dict[str, Any]:
    keys = {
        name: {"distinct": keys.distinct, "shape": keys.shape.value}
        | ({"exponent": keys.exponent} if keys.shape is KeyShape.ZIPF else {})
        for name, keys in emits.keys.items()
    }
    return without_none(
        {
            "fields": list(fields),
            "per_call": emits.per_call,
            "bytes": emits.bytes,
            "keys": keys or None,
            "per_tick": per_tick,
        }
    )


def _cost(spread: Spread) -> float | dict[str, float]:
    return spread.mean if spread == Spread(spread.mean) else spread.as_dict()


def _write(path: Path, content: bytes) -> None:
    with refused_by_system("cannot be written", field="out", value=str(path), remedy="give another path"):
        write_atomic(path, content)
