"""Write a topology as storm-lab YAML, with its recording beside it, or for storm-loadgen.

storm-lab YAML reads back the same. What the format of storm-loadgen cannot express is reported as lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from storm_lab.errors import UserError, refused_by_system
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.model.topology import DEFAULT_STREAM, Component, Grouping, Subscription
from storm_lab.workloads.importers.calls import recording_bytes
from storm_lab.workloads.importers.figures import Emits, Figures, KeyShape, Spread
from storm_lab.workloads.importers.imported import Playable, Source
from storm_lab.workloads.importers.loadgen import FIELDS, KEYS, Rates

_ROUNDS = 500  # of the search for steady rates in a topology with loops


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
    document, recording = topology_document(playable), path.with_name(f"{path.stem}.recording.json.gz")
    recorded = bool(playable.calls.components or playable.given)
    if recorded:
        document["recording"] = recording.name
        _write(recording, recording_bytes(playable.calls, playable.given), "out")
    _write(path, yaml_text(document).encode(), "out")
    return (path, recording) if recorded else (path,)


def export_loadgen(playable: Playable, path: Path) -> list[str]:
    """Write a topology for storm-loadgen; return what is lost. `UserError` as by `export_topology`."""
    check_export(path, "out_loadgen")
    document, lost = loadgen_document(playable)
    _write(path, yaml_text(document).encode(), "out_loadgen")
    return lost


def yaml_text(document: dict[str, Any]) -> str:
    """Return a document as YAML, with its keys in their order."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def topology_document(playable: Playable) -> dict[str, Any]:
    """Return the topology as storm-lab YAML, without its recording."""
    topology, figures = playable.topology, playable.figures
    document = {
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
            c.id: _component(c, figures[c.id], playable.sources.get(c.id)) for c in topology.components
        },
    }
    return without_none(document)


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
    entry = {
        "from": item.source,
        "stream": None if item.stream == DEFAULT_STREAM else item.stream,
        "grouping": None if item.grouping is Grouping.SHUFFLE else item.grouping.value,
        "fields": list(item.fields) or None,
        "cost_us": None if cost is None else _cost(cost),
    }
    return without_none(entry)


def _emits(fields: tuple[str, ...], emits: Emits, per_tick: float | None) -> dict[str, Any]:
    keys = {
        name: {"distinct": keys.distinct, "shape": keys.shape.value}
        | ({"exponent": keys.exponent} if keys.shape is KeyShape.ZIPF else {})
        for name, keys in emits.keys.items()
    }
    entry = {"fields": list(fields), "per_call": emits.per_call, "bytes": emits.bytes}
    return without_none({**entry, "keys": keys or None, "per_tick": per_tick})


def _cost(spread: Spread) -> float | dict[str, float]:
    return spread.mean if spread == Spread(spread.mean) else spread.as_dict()


def _write(path: Path, content: bytes, field: str) -> None:
    with refused_by_system("cannot be written", field=field, value=str(path), remedy="give another path"):
        write_atomic(path, content)


def loadgen_document(playable: Playable) -> tuple[dict[str, Any], list[str]]:
    """Return the topology as a storm-loadgen document, and what is lost."""
    topology = playable.topology
    lost: list[str] = ["sizes of tuples"]
    rates = _rates(playable, lost)
    config = {
        "topology.workers": topology.workers,
        "topology.acker.executors": topology.ackers,
        "topology.max.spout.pending": topology.max_spout_pending,
        "topology.message.timeout.secs": topology.message_timeout_s,
        "topology.priority": topology.priority,
        **topology.settings,
    }
    document = {
        "name": topology.id,
        "config": without_none(config),
        "spouts": [_component_entry(c, playable, rates, lost) for c in topology.spouts],
        "bolts": [_component_entry(c, playable, rates, lost) for c in topology.bolts],
        "streams": [entry for bolt in topology.bolts for entry in _subscriptions(bolt, playable, lost)],
    }
    return document, list(dict.fromkeys(lost))


def without_none(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping without the keys that have no value."""
    return {key: value for key, value in document.items() if value is not None}


def _tuples_per_call(playable: Playable) -> dict[tuple[str, str], float]:
    found = {
        (name, stream): emits.per_call
        for name, figures in playable.figures.items()
        for stream, emits in figures.emits.items()
    }
    for name, calls in {**playable.calls.spouts, **playable.calls.bolts}.items():
        for stream in playable.topology.component(name).outputs:
            tuples = sum(1 for call in calls for emit in call.emits if emit.stream == stream)
            found[name, stream] = tuples / len(calls) if calls else 0.0
    for name in playable.given:
        found[name, next(iter(playable.topology.component(name).outputs))] = 1.0
    return found


def _rates(playable: Playable, lost: list[str]) -> Rates:
    per_call = _tuples_per_call(playable)
    calls = {name: source.rate_per_s or 0.0 for name, source in playable.sources.items()}
    if any(source.rate_per_s is None for source in playable.sources.values()):
        lost.append("sources that are never empty: their rate is 0")
    for _ in range(_ROUNDS):
        following = {name: calls[name] for name in playable.sources}
        for bolt in playable.topology.bolts:
            following[bolt.id] = sum(
                calls.get(item.source, 0.0)
                * per_call[item.source, item.stream]
                * (bolt.task_count if item.grouping is Grouping.ALL else 1)
                for item in bolt.inputs
            )
        before, calls = calls, following
        if all(math.isclose(calls[name], before.get(name, -1.0), rel_tol=1e-12) for name in calls):
            break
    return {(name, stream): calls[name] * tuples for (name, stream), tuples in per_call.items()}


def _component_entry(
    component: Component, playable: Playable, rates: Rates, lost: list[str]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": component.id, "parallelism": component.executors}
    figures = playable.figures[component.id]
    source, resources = playable.sources.get(component.id), component.resources
    dropped = source and source.anchored and not source.replays
    known = {*playable.calls.components, *playable.given}
    losses = {
        "more than one task per executor": component.task_count != component.executors,
        "tick tuples": component.tick_seconds is not None,
        "external servers": figures.server,
        "what a spout's call costs": component.is_spout and figures.cost_us.mean > 0,
        "spouts without message ids: they emit with them": source and not source.anchored,
        "failed tuples that are not emitted again: they are": dropped,
        "values that were recorded or given: their keys are uniform": component.id in known,
        "memory outside of the heap": resources and resources.offheap_mb,
    }
    lost += [what for what, applies in losses.items() if applies]
    if resources is not None:
        entry |= {"cpuLoad": resources.cpu_points, "memoryLoad": resources.memory_mb}
    streams = []
    for stream, fields in component.outputs.items():
        if fields != FIELDS:
            lost.append(f"names of fields: all streams have {' and '.join(FIELDS)}")
        all_keys = figures.emits[stream].keys.values()
        shapes = {keys.shape for keys in all_keys}
        if any(keys.distinct != KEYS for keys in all_keys):
            lost.append(f"numbers of keys: there are {KEYS}")
        if KeyShape.ZIPF in shapes:
            lost.append("keys by Zipf's law: they are half-normal")
        mean = rates[component.id, stream] / component.executors
        skewed = bool(shapes - {KeyShape.UNIFORM})
        streams.append({"streamId": stream, "rate": Spread(mean).as_dict(), "areKeysSkewed": skewed})
    if streams:
        entry["streams"] = streams
    return entry


def _subscriptions(component: Component, playable: Playable, lost: list[str]) -> list[dict[str, Any]]:
    figures = playable.figures[component.id]
    entries = []
    for item in component.inputs:
        grouping = {"type": item.grouping.name, "streamId": item.stream}
        if item.grouping is Grouping.DIRECT:
            lost.append("direct groupings: they are shuffles")
            grouping["type"] = Grouping.SHUFFLE.name
        cost = figures.input_cost_us.get((item.source, item.stream), figures.cost_us).scaled(1 / 1000)
        times = {"execTime": cost.as_dict(), "processTime": cost.as_dict()}
        entries.append({"from": item.source, "to": component.id, "grouping": grouping, **times})
    return entries
