"""Writing a topology for storm-loadgen, which plays it on real Storm; what has no place there is told.

It describes rates and latencies: tuples a call become tuples a second and executor, at the rates that the
sources have.
"""

from __future__ import annotations

import math
from typing import Any

from storm_lab.model.topology import Component, Grouping
from storm_lab.workloads.importers.figures import KeyShape, Spread
from storm_lab.workloads.importers.imported import Playable
from storm_lab.workloads.importers.loadgen import FIELDS

_ROUNDS = 500
_NAMES = {grouping: grouping.name for grouping in Grouping}
"""Groupings by the names that the load generator gives them; it has no direct one."""


def loadgen_document(playable: Playable) -> tuple[dict[str, Any], list[str]]:
    """The topology as storm-loadgen holds it, and what is lost on the way."""
    topology = playable.topology
    lost: list[str] = ["sizes of tuples"]
    per_call = _tuples_a_call(playable)
    calls = _calls_per_second(playable, per_call, lost)
    config: dict[str, Any] = {"topology.workers": topology.workers}
    if topology.ackers is not None:
        config["topology.acker.executors"] = topology.ackers
    if topology.max_spout_pending is not None:
        config["topology.max.spout.pending"] = topology.max_spout_pending
    config["topology.message.timeout.secs"] = topology.message_timeout_s
    config["topology.priority"] = topology.priority
    config.update(topology.settings)
    document: dict[str, Any] = {"name": topology.id, "config": config}
    for section, components in (("spouts", topology.spouts), ("bolts", topology.bolts)):
        document[section] = [_component(c, playable, per_call, calls, lost) for c in components]
    document["streams"] = [
        entry for component in topology.bolts for entry in _subscriptions(component, playable, lost)
    ]
    return document, list(dict.fromkeys(lost))


def _tuples_a_call(playable: Playable) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for component in playable.topology.components:
        for stream in component.outputs:
            emits = playable.figures[component.id].emits.get(stream)
            found[component.id, stream] = 0.0 if emits is None else emits.per_call
    if playable.calls is not None:
        for name, calls in {**playable.calls.spouts, **playable.calls.bolts}.items():
            for stream in playable.topology.component(name).outputs:
                tuples = sum(1 for call in calls for emit in call.emits if emit.stream == stream)
                found[name, stream] = tuples / len(calls) if calls else 0.0
    for name in playable.given:
        found[name, next(iter(playable.topology.component(name).outputs))] = 1.0
    return found


def _calls_per_second(
    playable: Playable, per_call: dict[tuple[str, str], float], lost: list[str]
) -> dict[str, float]:
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
        settled = all(
            math.isclose(following[name], calls.get(name, -1.0), rel_tol=1e-12) for name in following
        )
        calls = following
        if settled:
            break
    return calls


def _component(
    component: Component,
    playable: Playable,
    per_call: dict[tuple[str, str], float],
    calls: dict[str, float],
    lost: list[str],
) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": component.id, "parallelism": component.executors}
    figures = playable.figures[component.id]
    if component.task_count != component.executors:
        lost.append("tasks beyond one an executor")
    if component.tick_seconds is not None:
        lost.append("tick tuples")
    if figures.server:
        lost.append("external servers")
    if component.is_spout and figures.cost_us.mean > 0:
        lost.append("what a spout's call costs")
    if component.resources is not None:
        entry["cpuLoad"] = component.resources.cpu_points
        entry["memoryLoad"] = component.resources.memory_mb
    streams = []
    for stream, fields in component.outputs.items():
        if fields != FIELDS:
            lost.append(f"names of fields: all streams have {' and '.join(FIELDS)}")
        emits = figures.emits.get(stream)
        shapes = {keys.shape for keys in emits.keys.values()} if emits is not None else set()
        if KeyShape.ZIPF in shapes:
            lost.append("keys by Zipf's law: they are half-normal")
        mean = calls[component.id] * per_call[component.id, stream] / component.executors
        streams.append(
            {
                "streamId": stream,
                "rate": _distribution(Spread(mean)),
                "areKeysSkewed": bool(shapes - {KeyShape.UNIFORM}),
            }
        )
    if streams:
        entry["streams"] = streams
    return entry


def _subscriptions(component: Component, playable: Playable, lost: list[str]) -> list[dict[str, Any]]:
    figures = playable.figures[component.id]
    entries = []
    for item in component.inputs:
        grouping = item.grouping
        if grouping is Grouping.DIRECT:
            lost.append("direct groupings: they are shuffles")
            grouping = Grouping.SHUFFLE
        cost = figures.input_cost_us.get((item.source, item.stream), figures.cost_us).scaled(1 / 1000)
        time = _distribution(cost)
        entries.append(
            {
                "from": item.source,
                "to": component.id,
                "grouping": {"type": _NAMES[grouping], "streamId": item.stream},
                "execTime": time,
                "processTime": dict(time),
            }
        )
    return entries


def _distribution(spread: Spread) -> dict[str, float]:
    entry = {"mean": spread.mean, "stddev": spread.stddev, "min": spread.low}
    if math.isfinite(spread.high):
        entry["max"] = spread.high
    return entry
