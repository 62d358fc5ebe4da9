"""Storm's UI: the statistics of a running topology, from pages saved as JSON.

A rate is the count of a window divided by its length. The cost of a call is the execute latency, and tuples
per call are emitted divided by executed. The components' pages state which component subscribes to which. How
a stream is grouped is only in the page of the graph (``/api/v1/topology/ID/visualization``), and by which
fields is nowhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from storm_lab.model.topology import DEFAULT_STREAM, Grouping
from storm_lab.model.version import StormVersion
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part, Place
from storm_lab.workloads.importers.draft import Draft, DraftComponent, DraftInput
from storm_lab.workloads.importers.figures import Spread
from storm_lab.workloads.importers.scalars import a_text, grouping_of, number, read_settings, whole
from storm_lab.workloads.importers.ui_pages import UiPages

FORMAT = "Storm UI"
UNKNOWN_FIELD = "key"  # stands for the fields of a fields grouping, which no page names

_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")
_SPAN = re.compile(r"([0-9]{1,9})([dhms])")
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_LOADS = {
    "requestedCpu": "cpu_points",
    "requestedMemOnHeap": "memory_mb",
    "requestedMemOffHeap": "offheap_mb",
}

Stream = tuple[str, str]


@dataclass(slots=True)
class _Counts:
    """What the pages count of a component; ``own`` is its entry in the topology's page.

    ``emitted`` is by stream. ``executed`` and ``latency_ms`` (execute latency) are by the (component, stream)
    that a bolt reads.
    """

    own: Part
    emitted: dict[str, float] = field(default_factory=dict)
    executed: dict[Stream, float] = field(default_factory=dict)
    latency_ms: dict[Stream, float] = field(default_factory=dict)

    def emit(self, stream: str | None, count: float | None) -> None:
        """Count tuples of a stream, unless it is one of Storm's own or was counted before."""
        if stream is not None and not stream.startswith("__") and count is not None:
            self.emitted.setdefault(stream, max(0.0, count))

    def read(self, source: Stream, executed: float | None, latency: float | None) -> None:
        """Count executed tuples of an input, as `emit` does."""
        if not source[0] or source[0].startswith("__") or source[1].startswith("__"):
            return
        self.executed.setdefault(source, max(0.0, executed or 0.0))
        if latency is not None:
            self.latency_ms.setdefault(source, max(0.0, latency))


def read_ui(pages: UiPages, place: Place, notes: Notes) -> Draft:
    """Return the topology that the pages describe."""
    page = pages.topology
    if page is ABSENT:
        draft = Draft(FORMAT, "topology", place, notes)
        notes.missing(place, "the topology's page", "save /api/v1/topology/ID and give it too")
        return draft
    draft = Draft(FORMAT, a_text(page.get("name")) or a_text(page.get("id")) or "topology", page.place, notes)
    draft.measured = "execute latencies of a running cluster"
    seconds = _seconds(page, draft)
    counts: dict[str, _Counts] = {}
    for section, identity, is_spout in (("spouts", "spoutId", True), ("bolts", "boltId", False)):
        for item in page.under(section):
            name = a_text(item.get(identity)) or ""
            component = None if name.startswith("__") else draft.add(name, item.place, is_spout=is_spout)
            if component is not None:
                _put_size(item, component, notes)
                counts[name] = _counts(item, pages.components.get(name, ABSENT))
    _count_metrics(pages.metrics, counts)
    _subscriptions(pages, counts, draft)
    for component in draft.components.values():
        _figures(component, counts[component.id], seconds, draft)
    read_settings(page.get("configuration"), draft)
    if any(not component.is_spout for component in draft.components.values()):
        why = "where a bolt waits, give its server"
        notes.assume(draft.name, "CPU of a call", "all of the execute latency", why)
    if draft.workers is None:
        draft.workers = whole(page.get("workersTotal"), notes, "workersTotal", least=1)
    _version(pages, draft)
    return draft


def _seconds(page: Part, draft: Draft) -> float:
    uptime = number(page.get("uptimeSeconds")) or _pretty_seconds(a_text(page.get("uptime")) or "")
    window = number(page.get("window")) or _pretty_seconds(a_text(page.get("windowHint")) or "")
    spans = [span for span in (uptime, window) if span > 0]
    if not spans:
        draft.notes.assume(draft.name, "length of the window", "600 s", "the page does not say it")
        return 600.0
    draft.notes.read.append(f"rates are counts of {min(spans):g} s")
    return min(spans)


def _pretty_seconds(text: str) -> float:
    """Return the seconds of a time as the UI writes it, ``1d 2h 3m 4s``; 0 for anything else."""
    spans = [_SPAN.fullmatch(word) for word in text.split()]
    return float(sum(int(span[1]) * _UNITS[span[2]] for span in spans if span)) if all(spans) else 0.0


def _put_size(item: Part, component: DraftComponent, notes: Notes) -> None:
    component.executors = whole(item.get("executors"), notes, f"executors of {component.id}", least=1)
    component.tasks = whole(item.get("tasks"), notes, f"tasks of {component.id}", least=1)
    if component.tasks is not None and component.executors is not None:
        component.executors = min(component.executors, component.tasks)
    for key, attribute in _LOADS.items():
        value = number(item.get(key))
        if value is not None and 0 <= value <= 1e9:
            setattr(component, attribute, value)


def _counts(item: Part, page: Part) -> _Counts:
    """Return what a component's page counts, if there is one."""
    counts = _Counts(item)
    for output in page.under("outputStats"):
        counts.emit(a_text(output.get("stream")), number(output.get("emitted")))
    for entry in page.under("inputStats"):
        executed, latency = number(entry.get("executed")), number(entry.get("executeLatency"))
        counts.read(_stream(entry, "component", "stream"), executed, latency)
    return counts


def _count_metrics(page: Part, counts: dict[str, _Counts]) -> None:
    """Count from the page of all components' metrics, for components without a page of their own."""
    for item in page.under("spouts", "bolts"):
        own = counts.get(a_text(item.get("id")) or "")
        if own is None:
            continue
        for entry in item.under("emitted"):
            own.emit(a_text(entry.get("stream_id")), number(entry.get("value")))
        for entry in item.under("executed"):
            own.read(_stream(entry, "component_id", "stream_id"), number(entry.get("value")), None)
        for entry in item.under("executed_ms_avg"):
            own.read(_stream(entry, "component_id", "stream_id"), None, number(entry.get("value")))


def _stream(part: Part, component: str, stream: str) -> Stream:
    """Return the stream that an entry names under these two keys."""
    return a_text(part.get(component)) or "", a_text(part.get(stream)) or DEFAULT_STREAM


def _subscriptions(pages: UiPages, counts: dict[str, _Counts], draft: Draft) -> None:
    """Add the inputs of every bolt, from the graph and from the inputs that were counted."""
    grouped: dict[tuple[str, Stream], tuple[str, Place]] = {}
    for name, item in pages.graph.items():
        for entry in item.under(":inputs"):
            source = _stream(entry, ":component", ":stream")
            if not name.startswith("__") and not source[1].startswith("__"):
                grouped[name, source] = a_text(entry.get(":grouping")) or "", entry.place
    for component in draft.components.values():
        if component.is_spout:
            continue
        drawn = [source for bolt, source in grouped if bolt == component.id]
        for source in dict.fromkeys([*drawn, *counts[component.id].executed]):
            component.inputs.append(_input(component, source, grouped.get((component.id, source)), draft))
        if not component.inputs:
            named = f"/api/v1/topology/ID/component/{component.id}, or /api/v1/topology/ID/visualization"
            why = f"save {named}, and give it too"
            draft.notes.missing(component.place, f"the inputs of bolt {component.id!r}", why)


def _input(
    component: DraftComponent, source: Stream, grouped: tuple[str, Place] | None, draft: Draft
) -> DraftInput:
    where = f"{component.id} from {source[0]}.{source[1]}"
    if grouped is None:
        draft.notes.assume(where, "grouping", Grouping.SHUFFLE.value, "only the page of the graph says it")
        return DraftInput(source[0], component.place, source[1])
    kind = grouping_of(grouped[0], draft.notes, grouped[1])
    item = DraftInput(source[0], grouped[1], source[1], kind)
    if kind is Grouping.FIELDS:
        item.fields = (UNKNOWN_FIELD,)
        draft.notes.assume(where, "fields of the grouping", UNKNOWN_FIELD, "no page of the UI names them")
    return item


def _figures(component: DraftComponent, counts: _Counts, seconds: float, draft: Draft) -> None:
    own, emitted = counts.own, counts.emitted
    total = number(own.get("emitted")) or 0.0
    if not emitted and total > 0:
        emitted = _shared(component, total, draft)
    if component.is_spout:
        calls = sum(emitted.values())
        component.rate_per_s = calls / seconds
        if calls > 0:
            component.anchored = (number(own.get("acked")) or 0.0) + (number(own.get("failed")) or 0.0) > 0
    else:
        calls = sum(counts.executed.values()) or number(own.get("executed")) or 0.0
        _costs(component, counts)
    for stream, count in emitted.items():
        if calls > 0:
            component.stream(stream).per_call = count / calls


def _costs(component: DraftComponent, counts: _Counts) -> None:
    # The pages show a latency of 0 for what was not executed.
    latency, executed = (number(counts.own.get(key)) for key in ("executeLatency", "executed"))
    if latency is not None and (latency > 0 or (latency == 0 and executed)):
        component.cost_us = Spread(latency * 1000)
    for item in component.inputs:
        source = (item.source, item.stream)
        found = counts.latency_ms.get(source)
        if found == 0 and not counts.executed.get(source):
            found = None
        if found is not None and len(component.inputs) > 1:
            item.cost_us = Spread(found * 1000)
        elif found is not None and component.cost_us is None:
            component.cost_us = Spread(found * 1000)


def _shared(component: DraftComponent, total: float, draft: Draft) -> dict[str, float]:
    """Share a component's tuples among its streams that are read, if no page counts them by stream."""
    streams = sorted({item.stream for item in draft.subscriptions(component.id)}) or [DEFAULT_STREAM]
    if len(streams) > 1:
        why = f"give the page of component {component.id}"
        draft.notes.assume(component.id, "tuples by stream", "equal shares", why)
    return {stream: total / len(streams) for stream in streams}


def _version(pages: UiPages, draft: Draft) -> None:
    for page in (pages.topology, pages.cluster):
        numbers = _VERSION.match(a_text(page.get("stormVersion")) or "")
        if numbers is not None:
            draft.set_version(StormVersion((int(numbers[1]), int(numbers[2]), int(numbers[3] or 0))))
            return
    draft.version_assumed = "give the cluster's page"
