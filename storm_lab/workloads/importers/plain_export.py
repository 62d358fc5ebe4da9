"""Writing a topology in our own YAML, with a recording beside it if there is one; it reads back the same."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import yaml

from storm_lab.errors import refused_by_system
from storm_lab.machine.whole_file import write_whole
from storm_lab.model.topology import DEFAULT_STREAM, Component, Grouping, Subscription
from storm_lab.workloads.importers.figures import Emits, Figures, Keys, KeyShape, Spread
from storm_lab.workloads.importers.imported import Playable, Source
from storm_lab.workloads.importers.loadgen_export import loadgen_document
from storm_lab.workloads.importers.recording_file import recording_bytes


def export_topology(playable: Playable, path: Path) -> tuple[Path, ...]:
    """Write a topology to ``path``, and its recording, if it has one, beside it; returns the files written.

    Raises:
        UserError: the folder cannot be written to.
    """
    document = topology_document(playable)
    files: list[tuple[Path, bytes]] = []
    if playable.calls is not None or playable.given:
        recording = path.with_name(f"{path.stem}.recording.json.gz")
        document["recording"] = recording.name
        files.append((recording, recording_bytes(playable.calls, playable.given)))
    files.append((path, yaml_text(document).encode()))
    for file, content in files:
        _write(file, content)
    return tuple(file for file, _ in reversed(files))


def export_loadgen(playable: Playable, path: Path) -> list[str]:
    """Write a topology for storm-loadgen; returns what is lost on the way.

    Raises:
        UserError: the folder cannot be written to.
    """
    document, lost = loadgen_document(playable)
    _write(path, yaml_text(document).encode())
    return lost


def yaml_text(document: dict[str, Any]) -> str:
    """A document as YAML, keys in the order in which they stand."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def topology_document(playable: Playable) -> dict[str, Any]:
    """The topology as our YAML holds it, without its recording."""
    topology = playable.topology
    document: dict[str, Any] = {
        "storm_lab": "topology/1",
        "name": topology.id,
        "storm_version": str(playable.version),
        "workers": topology.workers,
    }
    if topology.ackers is not None:
        document["ackers"] = topology.ackers
    if topology.max_spout_pending is not None:
        document["max_spout_pending"] = topology.max_spout_pending
    document["message_timeout_s"] = topology.message_timeout_s
    document["priority"] = topology.priority
    if topology.owner:
        document["owner"] = topology.owner
    if topology.settings:
        document["settings"] = dict(topology.settings)
    document["components"] = {
        component.id: _component(
            component, playable.figures[component.id], playable.sources.get(component.id)
        )
        for component in topology.components
    }
    return document


def _component(component: Component, figures: Figures, source: Source | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"executors": component.executors}
    if component.tasks is not None:
        entry["tasks"] = component.tasks
    if source is not None:
        entry["rate_per_s"] = "saturated" if source.rate_per_s is None else source.rate_per_s
        entry["anchored"] = source.anchored
        if source.replays:
            entry["replays"] = True
    if component.inputs:
        entry["inputs"] = [_input(item, figures) for item in component.inputs]
    entry["cost_us"] = _spread(figures.cost_us)
    if figures.server:
        entry["server"] = {"name": figures.server, "us": figures.server_us}
    if component.resources is not None:
        asked = component.resources
        entry["resources"] = {
            "cpu_points": asked.cpu_points,
            "memory_mb": asked.memory_mb,
            "offheap_mb": asked.offheap_mb,
        }
    if component.tick_seconds is not None:
        entry["tick"] = {"every_s": component.tick_seconds, "cost_us": figures.tick_cost_us}
    if component.outputs:
        entry["emits"] = {
            stream: _emits(fields, figures.emits[stream], figures.tick_emits.get(stream))
            for stream, fields in component.outputs.items()
        }
    return entry


def _input(item: Subscription, figures: Figures) -> dict[str, Any]:
    entry: dict[str, Any] = {"from": item.source}
    if item.stream != DEFAULT_STREAM:
        entry["stream"] = item.stream
    if item.grouping is not Grouping.SHUFFLE:
        entry["grouping"] = item.grouping.value
    if item.fields:
        entry["fields"] = list(item.fields)
    cost = figures.input_cost_us.get((item.source, item.stream))
    if cost is not None:
        entry["cost_us"] = _spread(cost)
    return entry


def _emits(fields: tuple[str, ...], emits: Emits, per_tick: float | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "fields": list(fields),
        "per_call": emits.per_call,
        "bytes": emits.bytes,
    }
    if emits.keys:
        entry["keys"] = {name: _keys(keys) for name, keys in emits.keys.items()}
    if per_tick is not None:
        entry["per_tick"] = per_tick
    return entry


def _keys(keys: Keys) -> dict[str, Any]:
    entry: dict[str, Any] = {"distinct": keys.distinct, "shape": keys.shape.value}
    if keys.shape is KeyShape.ZIPF:
        entry["exponent"] = keys.exponent
    return entry


def _spread(spread: Spread) -> Any:
    if spread == Spread(spread.mean):
        return spread.mean
    entry = {"mean": spread.mean, "stddev": spread.stddev, "min": spread.low}
    if math.isfinite(spread.high):
        entry["max"] = spread.high
    return entry


def _write(path: Path, content: bytes) -> None:
    with refused_by_system("cannot be written", field="out", value=str(path), remedy="give another path"):
        write_whole(path, content)
