"""storm-loadgen: topologies captured from a running cluster by the load generator of Storm's examples.

Rates are in tuples a second and executor, latencies in milliseconds. What a bolt emits is a rate of its own
there; here it becomes tuples a call, of the rate at which the bolt gets tuples.
"""

from __future__ import annotations

import math

from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput, DraftStream
from storm_lab.workloads.importers.figures import Keys, KeyShape, Spread
from storm_lab.workloads.importers.grouping_names import grouping_of
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.scalars import a_text, amount, flag, whole
from storm_lab.workloads.importers.settings import read_settings

FORMAT = "storm-loadgen"
FIELDS = ("key", "value")
"""Fields of all its streams; fields groupings are on the first."""
KEYS = 2048
_KEYS = {"name", "config", "spouts", "bolts", "streams"}

Rates = dict[tuple[str, str], float]
"""Tuples a second of each (component, stream), all executors together."""


def looks_like_loadgen(part: Part) -> bool:
    """Whether a document has the rates or latencies of a captured topology."""
    for section in ("spouts", "bolts"):
        for item in part.under(section):
            if item.get("className") is not None:
                return False
            if any(stream.get("rate") is not None for stream in item.under("streams")):
                return True
    return any(item.get("execTime") or item.get("processTime") for item in part.under("streams"))


def read_loadgen(part: Part, name: str, notes: Notes) -> Draft:
    """The topology of a captured file; ``name`` is used where it has none."""
    draft = Draft(FORMAT, a_text(part.get("name")) or name, part.place, notes)
    draft.measured = "latencies of a running cluster"
    for key, item in part.items():
        if key not in _KEYS:
            notes.cannot_use(item.place, f"the key {key!r}", "storm-loadgen has none of this name")
    rates: Rates = {}
    for section, is_spout in (("spouts", True), ("bolts", False)):
        for item in part.under(section):
            _component(item, draft, rates, is_spout=is_spout)
    for item in part.under("streams"):
        _subscription(item, draft)
    read_settings(part.get("config"), draft)
    _turn_rates(draft, rates)
    if rates:
        notes.cannot_use(part.place, "the spread of rates", "rates are steady here: their means count")
    return draft


def _component(part: Part, draft: Draft, rates: Rates, *, is_spout: bool) -> None:
    name, notes = a_text(part.get("id")) or "", draft.notes
    component = DraftComponent(name, is_spout, part.place)
    if not draft.add(component):
        return
    component.executors = whole(part.get("parallelism"), notes, f"parallelism of {name}", least=1)
    # 0 stands for "not set".
    component.cpu_points = amount(part.get("cpuLoad"), notes, f"cpuLoad of {name}") or None
    component.memory_mb = amount(part.get("memoryLoad"), notes, f"memoryLoad of {name}") or None
    component.declared = True
    for stream in part.under("streams"):
        _stream(stream, component, draft, rates)
    slow = part.get("slowExecutorPattern")
    if slow is not None:
        why = "all executors of a component cost the same here; give the slow ones a slower node"
        notes.cannot_use(slow.place, f"slowExecutorPattern of {name}", why)


def _stream(part: Part, component: DraftComponent, draft: Draft, rates: Rates) -> None:
    name = a_text(part.get("streamId")) or DEFAULT_STREAM
    stream = component.streams.setdefault(name, DraftStream(fields=FIELDS))
    shape = KeyShape.HALF_NORMAL if flag(part.get("areKeysSkewed")) else KeyShape.UNIFORM
    stream.keys[FIELDS[0]] = Keys(KEYS, shape)
    rate = _spread(part.get("rate"), draft, f"rate of {component.id}.{name}")
    if rate is not None:
        rates[component.id, name] = rate.mean * (component.executors or 1)


def _subscription(part: Part, draft: Draft) -> None:
    source, target = (a_text(part.get(key)) or "" for key in ("from", "to"))
    component = draft.components.get(target)
    if component is None:
        draft.notes.missing(part.place, f"the stream to {target!r}", "there is no such bolt")
        return
    grouping = part.get("grouping")
    where = part if grouping is None else grouping
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
            # A missing distribution is zero to storm-loadgen.
            cost_us=Spread(0.0) if cost is None else cost.scaled(1000.0),
        )
    )


def _spread(part: Part | None, draft: Draft, what: str) -> Spread | None:
    if part is None:
        return None
    notes = draft.notes
    mean = amount(part.get("mean"), notes, f"mean of the {what}", most=1e9)
    if mean is None:
        return None
    stddev = amount(part.get("stddev"), notes, f"stddev of the {what}", most=1e9)
    low = amount(part.get("min"), notes, f"min of the {what}", most=1e9)
    most = part.get("max")
    high = amount(most, notes, f"max of the {what}", most=1.8e308) if most is not None else None
    return Spread(
        mean, mean / 4 if stddev is None else stddev, low or 0.0, math.inf if high is None else high
    )


def _turn_rates(draft: Draft, rates: Rates) -> None:
    """Rates of streams become rates of spouts, and tuples a call of every component."""
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
