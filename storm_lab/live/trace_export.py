"""Exports a topology with its workload trace and sources as files that the Java player reads.

``plan.json`` describes the topology. The trace's tables are beside it, little-endian, for the player to map
into memory: ``records.bin`` (40 bytes a record, as `storm_lab.workloads.workload_trace.RECORD`, with CPU on
this machine) and ``emissions.bin`` (first record, stream, bytes, characters; 16 bytes). Each spout has files
with the records of its lines, its arrivals, and the queue that all its tasks share in whichever workers they
run: counters of lines and the rates at which they arrive.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan, check_plan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import UserError
from storm_lab.model import (
    Component,
    Grouping,
    StormVersion,
    Subscription,
    Topology,
    acker_count,
    executors_of,
)
from storm_lab.model.settings import CPU, OFFHEAP, ONHEAP
from storm_lab.model.version import V1_0_0
from storm_lab.workloads.workload_trace import RECORD

_WIRE_EMISSION = np.dtype([(name, "<i4") for name in ("first_record", "stream", "bytes", "characters")])
_ROOT_BYTES = 10
"""Serialised bytes of the root tuple's class and number: a long with its highest bits in use."""
_FORBIDDEN_IN_NAMES = re.compile(r"[^\w-]")
"""Storm takes names of topologies into the keys of its blobs, in which it refuses most other signs."""


def storm_name(topology: Topology) -> str:
    """Return the topology's id as a name that Storm accepts."""
    return _FORBIDDEN_IN_NAMES.sub("_", topology.id)


def export_plan(
    plan: TopologyPlan, spec: EmulationSpec, folder: Path, *, records: Path, origin_ns: int, mhz: float
) -> Path:
    """Write a topology's files into ``folder`` and return it; `UserError` if this Storm cannot play it.

    ``spec`` is the run to which it belongs. The player's files go to ``records``, where all workers must be
    able to write. Windows and times of submission count from ``origin_ns``, the start of the run on
    CLOCK_MONOTONIC. Costs are converted to ``mhz``, the clock of this machine.
    """
    version = spec.version
    check_plan(plan)
    check_playable(plan, version)
    folder.mkdir(parents=True, exist_ok=True)
    rows = plan.trace.records.astype(RECORD.newbyteorder("<"))
    rows["cpu_ns"] = np.rint(plan.trace.records["cpu_ns"] * (plan.trace.reference_mhz / mhz))
    (folder / "records.bin").write_bytes(rows.tobytes())
    emissions = np.zeros(len(plan.trace.emissions), _WIRE_EMISSION)
    for name in ("first_record", "stream", "bytes"):
        emissions[name] = plan.trace.emissions[name]
    emissions["characters"] = _characters(plan)
    (folder / "emissions.bin").write_bytes(emissions.tobytes())
    fields: dict[str, Any] = {
        "format": 1,
        "id": plan.topology.id,
        "topology": storm_name(plan.topology),
        "records": str(records),
        "origin_ns": origin_ns,
        "window_ns": round(spec.window_s * NS_PER_S),
        "sample_every": spec.sample_every,
        "tasks": executors_of(plan.topology, version)[-1].end,
        "settings": topology_settings(plan.topology, version),
        "components": [
            _component(plan, component, version, origin_ns, folder) for component in plan.topology.components
        ],
    }
    if plan.trace.servers:
        server_places = round(spec.cost.server_places)  # 0 = no limit
        places = np.zeros(max(1, len(plan.trace.servers) * server_places), "<i8")
        (folder / "servers.bin").write_bytes(places.tobytes())
        fields["servers"] = "servers.bin"
        fields["server_places"] = server_places
        fields["server_latency_ns"] = round(spec.cost.server_latency_us * 1000)
    (folder / "plan.json").write_text(json.dumps(fields, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return folder


def topology_settings(topology: Topology, version: StormVersion) -> dict[str, str | int | float | bool]:
    """Return the topology's configuration, by Storm's keys."""
    settings: dict[str, str | int | float | bool] = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in topology.settings.items()
    }
    settings["topology.workers"] = topology.workers
    settings["topology.acker.executors"] = acker_count(topology, version)
    settings["topology.message.timeout.secs"] = whole_seconds(topology.message_timeout_s, "message_timeout_s")
    if topology.max_spout_pending is not None:
        settings["topology.max.spout.pending"] = topology.max_spout_pending
    return settings


def check_playable(plan: TopologyPlan, version: StormVersion) -> None:
    """Refuse a topology or a source that this Storm cannot play; `UserError` names field and remedy."""
    topology_settings(plan.topology, version)
    for component in plan.topology.components:
        _component_settings(component, version)
    for name, source in plan.sources.items():
        for field, played, what, then in _UNPLAYED:
            if (value := getattr(source, field)) != played:
                message = f"spout {name!r} {what}, which live runs do not support"
                raise UserError(message, field=field, value=value, remedy=f"set it to {played}: {then}")
    for component in plan.topology.bolts:
        read: set[tuple[str, str]] = set()
        for item in component.inputs:
            if (item.source, item.stream) in read:
                raise UserError(
                    "a bolt cannot read a stream twice on real Storm",
                    field=f"inputs of {component.id}",
                    value=f"{item.source}.{item.stream}",
                    remedy="leave one of the two out",
                )
            read.add((item.source, item.stream))
            groupings = {how for _, how in _subscribers(plan.topology, item.source, item.stream)}
            if Grouping.DIRECT in groupings and len(groupings) > 1:
                raise UserError(
                    "a direct stream has a subscriber of another grouping, which Storm refuses",
                    field=f"{component.id} from {item.source}.{item.stream}",
                    value=item.grouping.value,
                    remedy="use direct grouping for all of them, or for none",
                )


_WAITS = "each nextTuple then waits fetch_ns"
_UNPLAYED = (
    ("checkpoint_ns", 0, "reads a log with stored offsets", "failed lines are then replayed from memory"),
    ("fetch_lines", 1, "fetches several lines at a time", _WAITS),
    ("fetch_thread", False, "fetches in a thread of its client", _WAITS),
    ("first_result", False, "has callers that take the first result", "calls are then answered by the ack"),
    ("patience_ns", 0, "has callers that wait when a spout has died", "they then call again at once"),
)
"""Fields of a source with the value that can be played, what another one means, and what follows from it."""


def _characters(plan: TopologyPlan) -> NDArray[np.int64]:
    """Return the length of the text that pads each tuple to its payload; 0 if the rest is larger."""
    emissions = plan.trace.emissions
    keys = np.array([_places(_keys(plan.topology, *stream)) for stream in plan.trace.streams], np.int64)
    # Kryo writes the length of the list, a class byte for each value, and integers in groups of 7 bits.
    fixed = 1 + 1 + _varint_bytes(2 * emissions["first_record"].astype(np.int64)) + _ROOT_BYTES + 1
    fixed = fixed + keys[emissions["stream"]] * 6
    left = np.maximum(0, emissions["bytes"].astype(np.int64) - fixed)
    # Kryo marks the end of a text shorter than 64 in its last byte, and writes the length of a longer one.
    characters: NDArray[np.int64] = np.where(left < 64, left, np.maximum(63, left - _varint_bytes(left)))
    return characters


def _varint_bytes(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    bits = np.ceil(np.log2(np.maximum(numbers, 1) + 1)).astype(np.int64)
    sizes: NDArray[np.int64] = np.maximum(1, -(-bits // 7))
    return sizes


def _component(
    plan: TopologyPlan, component: Component, version: StormVersion, origin_ns: int, folder: Path
) -> dict[str, Any]:
    topology = plan.topology
    index = {stream: number for number, stream in enumerate(plan.trace.streams)}
    outputs = []
    for stream in component.outputs:
        subscribers = _subscribers(topology, component.id, stream)
        direct = any(grouping is Grouping.DIRECT for _, grouping in subscribers)
        outputs.append(
            {
                "stream": stream,
                "index": index[component.id, stream],
                "direct": direct,
                "keys": _keys(topology, component.id, stream),
                "consumers": [name for name, _ in subscribers] if direct else [],
            }
        )
    fields: dict[str, Any] = {
        "id": component.id,
        "executors": component.executors,
        "tasks": component.task_count,
        "outputs": outputs,
        "inputs": [_input(topology, component, item) for item in component.inputs],
        "settings": _component_settings(component, version),
    }
    if component.tick_seconds is not None and component.id in plan.trace.ticks:
        fields["tick_record"] = plan.trace.ticks[component.id]
    if component.is_spout:
        fields["source"] = _source(plan, component.id, origin_ns, folder)
    return fields


def _subscribers(topology: Topology, source: str, stream: str) -> list[tuple[str, Grouping]]:
    """Return the subscribers of a stream, in the order of their records in the trace."""
    return [
        (component.id, item.grouping)
        for component in topology.components
        for item in component.inputs
        if (item.source, item.stream) == (source, stream)
    ]


def _keys(topology: Topology, source: str, stream: str) -> list[dict[str, Any]]:
    return [
        {"position": position, "two": grouping is Grouping.PARTIAL_KEY}
        for position, (_, grouping) in enumerate(_subscribers(topology, source, stream))
        if grouping in (Grouping.FIELDS, Grouping.PARTIAL_KEY)
    ]


def _places(keys: Iterable[Mapping[str, Any]]) -> int:
    """Return how many values of a tuple these keys take: two for a partial key, one otherwise."""
    return sum(2 if key["two"] else 1 for key in keys)


def _input(topology: Topology, component: Component, item: Subscription) -> dict[str, Any]:
    subscribers = [name for name, _ in _subscribers(topology, item.source, item.stream)]
    position = subscribers.index(component.id)
    fields: dict[str, Any] = {
        "source": item.source,
        "stream": item.stream,
        "grouping": item.grouping.value,
        "position": position,
    }
    if item.grouping is Grouping.PARTIAL_KEY:
        keys = _keys(topology, item.source, item.stream)
        fields["place"] = 3 + _places(key for key in keys if key["position"] < position)
    return fields


def _component_settings(component: Component, version: StormVersion) -> dict[str, int | float]:
    settings: dict[str, int | float] = {}
    if component.tick_seconds is not None:
        settings["topology.tick.tuple.freq.secs"] = whole_seconds(
            component.tick_seconds, f"{component.id}.tick_seconds"
        )
    if component.resources is not None and version >= V1_0_0:
        settings[ONHEAP] = component.resources.memory_mb
        settings[OFFHEAP] = component.resources.offheap_mb
        settings[CPU] = component.resources.cpu_points
    return settings


def _source(plan: TopologyPlan, spout: str, origin_ns: int, folder: Path) -> dict[str, Any]:
    source = plan.sources[spout]
    records = spout_path(folder, "lines", spout)
    records.write_bytes(np.asarray(plan.trace.sources[spout]).astype("<i8").tobytes())
    queue = spout_path(folder, "queue", spout)
    submit_ns = round(plan.submit_s * NS_PER_S)
    queue.write_bytes(new_queue(source, origin_ns + submit_ns))
    fields: dict[str, Any] = {
        "kind": source.kind.name,
        "records": records.name,
        "queue": queue.name,
        "sleep_ns": source.sleep_ns,
        "fetch_ns": source.fetch_ns,
        "anchored": source.anchored,
        "replays": source.on_fail is FailurePolicy.REPLAY,
    }
    if source.kind is SourceKind.CLOSED_LOOP:
        fields |= {"calls": source.calls, "answer_ns": source.answer_ns}
    if source.arrivals_ns is not None:
        arrivals = spout_path(folder, "arrivals", spout)
        arrivals.write_bytes((source.arrivals_ns + submit_ns).astype("<i8").tobytes())
        fields["arrivals"] = arrivals.name
        fields["arrival_period_ns"] = source.arrival_period_ns
    return fields


def whole_seconds(seconds: float, field: str, *, least: int = 1) -> int:
    """Return a time that Storm counts in whole seconds; `UserError` names ``field`` if it is none."""
    if not (math.isfinite(seconds) and seconds >= least and seconds == int(seconds)):
        remedy = f"give {least}, {least + 1}, {least + 2}, ..."
        raise UserError("Storm counts this in whole seconds", field=field, value=seconds, remedy=remedy)
    return int(seconds)


_STEPS, _FIRST_STEP, _BYTES = 64, 128, 1 << 16
"""Offsets of the number of rates and of the first rate in a queue's file, and the file's length."""
_STEP = 24
"""Bytes of a rate: its start, the lines that arrived before it, and the time from line to line."""


def spout_path(folder: Path, kind: str, spout: str) -> Path:
    """Return a spout's file of a kind (``queue``, ``lines``, ``arrivals``) among the exported files."""
    # The id of a component may hold any printable sign but a slash.
    return folder / f"{kind}-{quote(spout, safe='')}.bin"


def new_queue(source: SourcePlan, start_ns: int) -> bytes:
    """Return a queue with its first rate and nothing taken yet; its first line arrives at ``start_ns``."""
    content = bytearray(_BYTES)
    gap = _gap(source.rate_per_s) if source.kind is SourceKind.RATE else 0
    struct.pack_into("<q", content, _STEPS, 1)
    struct.pack_into("<qqq", content, _FIRST_STEP, start_ns - (gap >> 10), 0, gap)
    return bytes(content)


def _gap(rate_per_s: float) -> int:
    """Return the time from line to line in 1024ths of a nanosecond; 0 if no lines come."""
    return round(NS_PER_S * 1024 / rate_per_s) if rate_per_s > 0 else 0


def set_rate(queue: Path, at_ns: int, rate_per_s: float) -> None:
    """Change the rate at which a shared queue's lines arrive, from ``at_ns`` (CLOCK_MONOTONIC) on.

    Lines that have arrived and were not yet taken stay, and none comes before the queue's start. Only one
    process may call this; the spouts merely read the rates.
    """
    with queue.open("r+b") as file:
        content = file.read()
        (count,) = struct.unpack_from("<q", content, _STEPS)
        first_start, _, first_gap = struct.unpack_from("<qqq", content, _FIRST_STEP)
        begin_ns = first_start + (first_gap >> 10)
        start, lines, gap = struct.unpack_from("<qqq", content, _FIRST_STEP + (count - 1) * _STEP)
        arrived = lines + (max(0, at_ns - start) * 1024 // gap if gap else 0)
        place = _FIRST_STEP + count * _STEP
        if place + _STEP > len(content):
            raise UserError("its rate was changed too often", field="queue", value=str(queue))
        new_gap = _gap(rate_per_s)
        file.seek(place)
        file.write(struct.pack("<qqq", max(at_ns, begin_ns - (new_gap >> 10)), arrived, new_gap))
        file.flush()
        file.seek(_STEPS)
        file.write(struct.pack("<q", count + 1))
