"""storm-loadgen: topologies captured from a running cluster by the load generator of Storm's examples.

Rates are in tuples per second and executor, latencies in milliseconds. In its files, the emits of a bolt have
a rate of their own; here it is divided by the rate of the bolt's input, which gives tuples per call. A
topology can also be written for storm-loadgen, which plays it on real Storm; what its format cannot express
is reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storm_lab.model.topology import DEFAULT_STREAM, Component, Grouping
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput, DraftStream
from storm_lab.workloads.importers.figures import Keys, KeyShape, Spread
from storm_lab.workloads.importers.imported import Playable
from storm_lab.workloads.importers.scalars import a_text, amount, flag, grouping_of, read_settings, whole

FORMAT = "storm-loadgen"
FIELDS = ("key", "value")
"""Fields of all its streams; fields groupings use the first."""
KEYS = 2048
_ROUNDS = 500
_KEYS = {"name", "config", "spouts", "bolts", "streams"}

Rates = dict[tuple[str, str], float]
"""Tuples per second of each (component, stream), all executors together."""


def looks_like_loadgen(part: Part) -> bool:
    """Whether a document has the rates or latencies of a captured topology."""
    for section in ("spouts", "bolts"):
        for item in part.under(section):
            if item.get("className") is not ABSENT:
                return False
            if any(stream.get("rate") is not ABSENT for stream in item.under("streams")):
                return True
    times = (item.get(key) for item in part.under("streams") for key in ("execTime", "processTime"))
    return any(time is not ABSENT for time in times)


def read_loadgen(part: Part, path: Path, notes: Notes) -> Draft:
    """Return the topology of a captured file."""
    draft = Draft(FORMAT, a_text(part.get("name")) or path.stem, part.place, notes, files=[path.name])
    draft.measured = "latencies of a running cluster"
    for key, item in part.items():
        if key not in _KEYS:
            notes.cannot_use(item.place, f"the key {key!r}", "storm-loadgen has no such key")
    rates: dict[tuple[str, str], Spread] = {}
    for section, is_spout in (("spouts", True), ("bolts", False)):
        for item in part.under(section):
            _component(item, draft, rates, is_spout=is_spout)
    for item in part.under("streams"):
        _subscription(item, draft)
    read_settings(part.get("config"), draft)
    # A rate is that of one executor.
    total = {key: rate.mean * (draft.components[key[0]].executors or 1) for key, rate in rates.items()}
    _convert_rates(draft, total)
    if any(rate.stddev for rate in rates.values()):
        notes.cannot_use(part.place, "the spread of rates", "rates are steady here: their means count")
    return draft


def _component(part: Part, draft: Draft, rates: dict[tuple[str, str], Spread], *, is_spout: bool) -> None:
    name, notes = a_text(part.get("id")) or "", draft.notes
    component = DraftComponent(name, is_spout, part.place)
    if not draft.add(component):
        return
    component.executors = whole(part.get("parallelism"), notes, f"parallelism of {name}", least=1)
    # 0 stands for "not set".
    component.cpu_points = amount(part.get("cpuLoad"), notes, f"cpuLoad of {name}") or None
    component.memory_mb = amount(part.get("memoryLoad"), notes, f"memoryLoad of {name}") or None
    component.declared = True
    for item in part.under("streams"):
        stream = a_text(item.get("streamId")) or DEFAULT_STREAM
        shape = KeyShape.HALF_NORMAL if flag(item.get("areKeysSkewed")) else KeyShape.UNIFORM
        component.streams.setdefault(stream, DraftStream(fields=FIELDS)).keys[FIELDS[0]] = Keys(KEYS, shape)
        rate = _spread(item.get("rate"), draft, f"rate of {name}.{stream}")
        if rate is not None:
            rates[name, stream] = rate
    slow = part.get("slowExecutorPattern")
    if slow is not ABSENT:
        why = "all executors of a component cost the same here; give the slow ones a slower node"
        notes.cannot_use(slow.place, f"slowExecutorPattern of {name}", why)


def _subscription(part: Part, draft: Draft) -> None:
    source, target = (a_text(part.get(key)) or "" for key in ("from", "to"))
    component = draft.components.get(target)
    if component is None:
        draft.notes.missing(part.place, f"the stream to {target!r}", "there is no such bolt")
        return
    grouping = part.get("grouping")
    where = part if grouping is ABSENT else grouping
    kind = grouping_of(a_text(where.get("type")), draft.notes, where.place)
    cost = _spread(part.get("execTime"), draft, f"execTime of {target} from {source}")
    process = _spread(part.get("processTime"), draft, f"processTime of {target} from {source}")
    if process is not None and cost is not None and process.mean > cost.mean + 1:
        why = "acks that come later than execute ends are not played: acked when it ends"
        draft.notes.cannot_use(part.place, f"processTime of {target} from {source}", why)
    component.inputs.append(
        DraftInput(
            source=source,
            place=part.place,
            stream=a_text(where.get("streamId")) or DEFAULT_STREAM,
            grouping=kind,
            fields=FIELDS[:1] if kind in (Grouping.FIELDS, Grouping.PARTIAL_KEY) else (),
            # To storm-loadgen, a missing distribution is zero.
            cost_us=Spread(0.0) if cost is None else cost.scaled(1000.0),
        )
    )


def _spread(part: Part, draft: Draft, what: str) -> Spread | None:
    notes = draft.notes
    mean = amount(part.get("mean"), notes, f"mean of the {what}", most=1e9)
    if mean is None:
        return None
    stddev = amount(part.get("stddev"), notes, f"stddev of the {what}", most=1e9)
    low = amount(part.get("min"), notes, f"min of the {what}", most=1e9)
    high = amount(part.get("max"), notes, f"max of the {what}", most=1.8e308)
    return Spread(
        mean, mean / 4 if stddev is None else stddev, low or 0.0, math.inf if high is None else high
    )


def _convert_rates(draft: Draft, rates: Rates) -> None:
    """Turn rates of streams into rates of spouts, and into tuples per call of every component."""
    arriving: dict[str, float] = {}
    for component in draft.components.values():
        for item in component.inputs:
            copies = (component.executors or 1) if item.grouping is Grouping.ALL else 1
            rate = rates.get((item.source, item.stream), 0.0) * copies
            arriving[component.id] = arriving.get(component.id, 0.0) + rate
    for component in draft.components.values():
        own = {stream: rates.get((component.id, stream), 0.0) for stream in component.streams}
        total = sum(own.values()) if component.is_spout else arriving.get(component.id, 0.0)
        if component.is_spout:
            component.rate_per_s = total
            component.anchored = True
            component.replays = True
        for stream, rate in own.items():
            component.streams[stream].per_call = rate / total if total > 0 else 0.0
            if rate > 0 and total == 0:
                what = f"{component.id}.{stream}, {rate:g} tuples/s"
                why = "nothing arrives at the bolt by its inputs' rates: it emits nothing"
                draft.notes.cannot_use(component.place, what, why)


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
        settled = all(
            math.isclose(following[name], calls.get(name, -1.0), rel_tol=1e-12) for name in following
        )
        calls = following
        if settled:
            break
    return {(name, stream): calls[name] * tuples for (name, stream), tuples in per_call.items()}


def _component_entry(
    component: Component, playable: Playable, rates: Rates, lost: list[str]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": component.id, "parallelism": component.executors}
    figures = playable.figures[component.id]
    if component.task_count != component.executors:
        lost.append("more than one task per executor")
    if component.tick_seconds is not None:
        lost.append("tick tuples")
    if figures.server:
        lost.append("external servers")
    if component.is_spout and figures.cost_us.mean > 0:
        lost.append("what a spout's call costs")
    source = playable.sources.get(component.id)
    if source is not None and not source.anchored:
        lost.append("spouts without message ids: they emit with them")
    elif source is not None and not source.replays:
        lost.append("failed tuples that are not emitted again: they are")
    if component.id in playable.calls.components or component.id in playable.given:
        lost.append("values that were recorded or given: their keys are uniform")
    if component.resources is not None:
        entry["cpuLoad"] = component.resources.cpu_points
        entry["memoryLoad"] = component.resources.memory_mb
        if component.resources.offheap_mb:
            lost.append("memory outside of the heap")
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
        streams.append(
            {
                "streamId": stream,
                "rate": Spread(mean).as_dict(),
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
        entries.append(
            {
                "from": item.source,
                "to": component.id,
                "grouping": {"type": grouping.name, "streamId": item.stream},
                "execTime": cost.as_dict(),
                "processTime": cost.as_dict(),
            }
        )
    return entries
