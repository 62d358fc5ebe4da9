"""storm-loadgen: topologies captured from a running cluster by the load generator of Storm's examples.

Rates are in tuples per second and executor, latencies in milliseconds. In its files, the emits of a bolt have
a rate of their own; here it is divided by the rate of the bolt's input, which gives tuples per call.
"""

from __future__ import annotations

import math
from pathlib import Path

from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part
from storm_lab.workloads.importers.draft import Draft, DraftStream
from storm_lab.workloads.importers.figures import Keys, KeyShape, Spread
from storm_lab.workloads.importers.scalars import a_text, add_stream, amount, flag, read_settings, whole

FORMAT = "storm-loadgen"
FIELDS = ("key", "value")  # fields of all its streams; fields groupings use the first
KEYS = 2048
_KEYS = {"name", "config", "spouts", "bolts", "streams"}

Rates = dict[tuple[str, str], float]  # tuples per second of each (component, stream), all executors together


def looks_like_loadgen(part: Part) -> bool:
    """Whether a document has the rates or latencies of a captured topology."""
    for item in part.under("spouts", "bolts"):
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
    component = draft.add(a_text(part.get("id")) or "", part.place, is_spout=is_spout)
    if component is None:
        return
    name, notes = component.id, draft.notes
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
    item = add_stream(part, draft)
    if item is None:
        return
    of = f"of {a_text(part.get('to'))} from {item.source}"
    cost, process = (_spread(part.get(key), draft, f"{key} {of}") for key in ("execTime", "processTime"))
    if process is not None and cost is not None and process.mean > cost.mean + 1:
        why = "acks that come later than execute ends are not played: acked when it ends"
        draft.notes.cannot_use(part.place, f"processTime {of}", why)
    if item.grouping in (Grouping.FIELDS, Grouping.PARTIAL_KEY):
        item.fields = FIELDS[:1]
    # To storm-loadgen, a missing distribution is zero.
    item.cost_us = Spread(0.0) if cost is None else cost.scaled(1000.0)


def _spread(part: Part, draft: Draft, what: str) -> Spread | None:
    notes = draft.notes
    mean = amount(part.get("mean"), notes, f"mean of the {what}", most=1e9)
    if mean is None:
        return None
    stddev = amount(part.get("stddev"), notes, f"stddev of the {what}", most=1e9)
    low = amount(part.get("min"), notes, f"min of the {what}", most=1e9)
    high = amount(part.get("max"), notes, f"max of the {what}", most=1.8e308)
    stddev = mean / 4 if stddev is None else stddev
    return Spread(mean, stddev, low or 0.0, math.inf if high is None else high)


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
