"""Lays out the flow of tuples for the kernel: streams, groupings, traces, sources and traffic counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storm_lab.emulator.source import FailurePolicy, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.state import kinds
from storm_lab.emulator.state.arrays import Kernel
from storm_lab.emulator.state.layout import Arrays, records, with_attributes
from storm_lab.emulator.state.names import NS_PER_MS, NS_PER_S, NS_PER_US, Names
from storm_lab.model import ACKER, Grouping, StormVersion
from storm_lab.model.settings import LOAD_AWARE_OFF, SPOUT_SLEEP_2_MS, SPOUT_SLEEP_MS, flag_of, number_of
from storm_lab.model.version import V1_0_0

_GROUPINGS = {
    Grouping.SHUFFLE: kinds.G_SHUFFLE,
    Grouping.FIELDS: kinds.G_FIELDS,
    Grouping.ALL: kinds.G_ALL,
    Grouping.GLOBAL: kinds.G_GLOBAL,
    Grouping.NONE: kinds.G_NONE,
    Grouping.DIRECT: kinds.G_DIRECT,
    Grouping.LOCAL_OR_SHUFFLE: kinds.G_LOCAL,
    Grouping.PARTIAL_KEY: kinds.G_PARTIAL,
}


def build_streams(arrays: Arrays, spec: EmulationSpec, names: Names) -> None:
    """Lay out each component's streams, their subscribers, and how these group tuples."""
    version = spec.version
    streams: list[tuple[int, int]] = []
    subscriptions: list[tuple[int, int, int, int]] = []
    # By source component: the components that receive its tuples, and their groupings.
    targets: dict[int, list[tuple[int, int]]] = {}
    for t, plan in enumerate(spec.topologies):
        topology = plan.topology
        load_aware = version >= V1_0_0 and not flag_of(topology.settings, LOAD_AWARE_OFF)
        arrays["topology"][t].first_stream = len(streams)
        for component, stream in plan.trace.streams:
            component_targets = targets.setdefault(names.component_index[topology.id, component], [])
            first = len(subscriptions)
            for target in topology.components:
                for item in target.inputs:
                    if (item.source, item.stream) != (component, stream):
                        continue
                    kind = _GROUPINGS[item.grouping]
                    if kind == kinds.G_SHUFFLE and version >= V1_0_0:
                        kind = kinds.G_LOAD_AWARE if load_aware else kinds.G_SHUFFLE_ONCE
                    index = names.component_index[topology.id, target.id]
                    subscriptions.append((index, kind, len(component_targets), int(load_aware)))
                    component_targets.append((index, kind))
            streams.append((first, len(subscriptions) - first))
    arrays["stream"] = records("stream", len(streams))
    for row, (first, count) in zip(arrays["stream"], streams, strict=True):
        row.first_subscription, row.subscriptions = first, count
    arrays["subscription"] = records("subscription", len(subscriptions))
    for row, values in zip(arrays["subscription"], subscriptions, strict=True):
        row.component, row.grouping, row.own, row.load_aware = values
    _build_shuffles(arrays, {source: found for source, found in targets.items() if found}, version)


def _build_shuffles(arrays: Arrays, targets: dict[int, list[tuple[int, int]]], version: StormVersion) -> None:
    """Shuffle each task's lists of targets, as Storm does; partial key groupings count tuples in theirs."""
    components, tasks = arrays["component"], arrays["task"]
    firsts: list[int] = []
    pieces: list[NDArray[np.int64]] = []
    length = 0
    for source, component_targets in targets.items():
        first = int(components[source].first_task)
        for task in tasks[first : first + int(components[source].tasks)]:
            task.shuffle = len(firsts)
            for number, (target, kind) in enumerate(component_targets):
                n = int(components[target].tasks)
                partial = kind == kinds.G_PARTIAL
                firsts.append(length)
                pieces.append(np.zeros(n, np.int64) if partial else _shuffled(n, int(task.rng), number))
                length += n
    arrays["shuffle"] = records("shuffle", len(firsts))
    arrays["shuffle"]["first"] = firsts
    # From 1.0 on the index is incremented before use, so the first pick is position 1.
    arrays["shuffle"]["index"] = 1 if version >= V1_0_0 else 0
    arrays["permutation"] = np.concatenate([*pieces, np.zeros(0, np.int64)]).astype(np.int32)


def _shuffled(n: int, seed: int, stream: int) -> NDArray[np.int64]:
    """Return a random order of 0 to n-1: ranks of SplitMix64 draws, which are the same on every machine."""
    start = (seed + (stream + 1) * 0xA0761D6478BD642F) & 0xFFFFFFFFFFFFFFFF
    z = np.uint64(start) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(z ^ (z >> np.uint64(31)), kind="stable").astype(np.int64)


def _joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate the pieces; a single piece, which is the usual case, is not copied."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def build_traces(arrays: Arrays, spec: EmulationSpec) -> None:
    """Lay out the recorded work of every topology: records, emissions, and the servers they wait for."""
    cost = spec.cost
    all_records, all_emissions = [], []
    record_base = emission_base = server_base = 0
    servers: list[str] = []
    built: dict[int, int] = {}
    for t, plan in enumerate(spec.topologies):
        trace = plan.trace
        earlier = built.get(id(trace))
        if earlier is not None and not trace.servers:
            # Topologies with the same trace share one copy of it.
            arrays["topology"][t].first_record = arrays["topology"][earlier].first_record
            continue
        built[id(trace)] = t
        piece = trace.records.copy()
        piece["first_emission"] += emission_base
        piece["server"] = np.where(piece["server"] >= 0, piece["server"] + server_base, -1)
        if trace.reference_mhz != cost.reference_mhz:
            piece["cpu_ns"] = piece["cpu_ns"] * round(trace.reference_mhz) // round(cost.reference_mhz)
        emitted = trace.emissions.copy()
        emitted["first_record"] += record_base
        arrays["topology"][t].first_record = record_base
        all_records.append(piece)
        all_emissions.append(emitted)
        record_base += len(piece)
        emission_base += len(emitted)
        server_base += len(trace.servers)
        servers.extend(trace.servers)
    arrays["record"] = with_attributes(_joined(all_records))
    arrays["emission"] = with_attributes(_joined(all_emissions))
    places = round(cost.server_places)
    arrays["server"] = records("server", len(servers))
    for i, server in enumerate(arrays["server"]):
        server.latency = round(cost.server_latency_us * NS_PER_US)
        server.first, server.places = i * places, places
    arrays["server_place"] = np.zeros(len(servers) * places, np.int64)


def build_sources(arrays: Arrays, plans: Sequence[TopologyPlan], names: Names) -> None:
    """Lay out every spout's source: its kind, its rate, its lines and their arrivals."""
    sources = len(names.source_index) + sum(len(own) - 1 for own in names.readers.values())
    table = arrays["source"] = records("source", sources)
    lines: list[NDArray[np.int64]] = []
    arrivals: list[NDArray[np.int64]] = []
    line_base = arrival_base = 0
    for t, plan in enumerate(plans):
        for spout in plan.topology.spouts:
            source = plan.sources[spout.id]
            index = names.component_index[plan.topology.id, spout.id]
            line_records = plan.trace.sources[spout.id] + int(arrays["topology"][t].first_record)
            first = names.source_index[plan.topology.id, spout.id]
            readers = names.readers.get((plan.topology.id, spout.id), ())
            row = table[first]
            row.kind = source.kind.value
            row.component = index
            row.origin = round(plan.submit_s * NS_PER_S)
            row.anchored = int(source.anchored)
            row.replay = int(source.on_fail is FailurePolicy.REPLAY)
            row.head = row.tail = -1
            row.stride = 1
            row.first_line, row.lines = line_base, len(line_records)
            row.rate_milli = round(source.rate_per_s * 1000)
            row.sleep, row.answer, row.patience = source.sleep_ns, source.answer_ns, source.patience_ns
            row.first_result = int(source.first_result)
            row["client_fetch" if source.fetch_thread else "fetch"] = source.fetch_ns
            row.fetch_lines = source.fetch_lines
            settings = plan.topology.settings
            # Each version has only one of the two settings.
            pause_ms = number_of(settings, SPOUT_SLEEP_2_MS, number_of(settings, SPOUT_SLEEP_MS, 1.0))
            row.pause = round(pause_ms * NS_PER_MS)
            if source.arrivals_ns is not None:
                row.first_arrival, row.arrivals = arrival_base, len(source.arrivals_ns)
                row.arrival_period = source.arrival_period_ns
                partitions = max(1, len(readers))
                # Those of the first partition, then of the second, ...
                arrivals.extend(source.arrivals_ns[i::partitions] for i in range(partitions))
                arrival_base += len(source.arrivals_ns)
            if readers:
                split_source(table[first : first + len(readers)], [len(e.tasks) for e in readers])
            lines.append(line_records)
            line_base += len(line_records)
        for bolt, record in plan.trace.ticks.items():
            component = arrays["component"][names.component_index[plan.topology.id, bolt]]
            component.tick_record = record + int(arrays["topology"][t].first_record)
    arrays["line_record"] = np.concatenate(lines).astype(np.int64)
    arrays["arrival"] = np.concatenate(arrivals).astype(np.int64) if arrivals else np.zeros(0, np.int64)


def split_source(rows: NDArray[Any], tasks: Sequence[int]) -> None:
    """Deal a log's lines to its partitions in turn: partition i of n has the lines i, i + n, i + 2 n, ...

    Each gets its readers' share of the rate, and every n-th of recorded arrivals. ``rows`` are the
    partitions' sources, of which the first is filled in; ``tasks`` is how many tasks read each one.
    """
    original = rows[0].copy()
    rows[:] = original
    rows["stride"] = len(rows)
    rows["next_line"] = np.arange(len(rows))
    if original["rate_milli"] > 0:
        gap = 1_000_000_000_000 // int(original["rate_milli"])
        rows["origin"] += gap * np.arange(len(rows))
        rows["rate_milli"] = shares(int(original["rate_milli"]), tasks)
    if original["arrivals"] > 0:
        # Each partition's arrivals are contiguous.
        rows["arrivals"] = (int(original["arrivals"]) + len(rows) - 1 - np.arange(len(rows))) // len(rows)
        rows["first_arrival"] += np.cumsum(rows["arrivals"]) - rows["arrivals"]
        # A partition that receives no line is a source of rate 0.
        rows["kind"][rows["arrivals"] == 0] = kinds.S_RATE


def shares(rate: int, tasks: Sequence[int]) -> list[int]:
    """Split an integer rate in proportion to the tasks; the parts add up to it."""
    ends = np.cumsum([0, *tasks]) * rate // sum(tasks)
    return [int(part) for part in np.diff(ends)]


def build_pairs(arrays: Arrays, plans: Sequence[TopologyPlan], names: Names) -> None:
    """Lay out counters by locality, pair of components that exchange tuples, and pair of their tasks."""
    components = arrays["component"]
    pairs: set[tuple[int, int]] = set()
    for plan in plans:
        topology = plan.topology
        acker = names.component_index[topology.id, ACKER]
        for component in topology.components:
            index = names.component_index[topology.id, component.id]
            pairs.update((names.component_index[topology.id, s.source], index) for s in component.inputs)
            if components[acker].tasks:
                pairs.add((index, acker))
                if component.is_spout:
                    pairs.add((acker, index))
    arrays["pair"] = records("pair", len(pairs))
    length = 0
    for i, (a, b) in enumerate(sorted(pairs)):
        if components[a].pairs == 0:
            components[a].first_pair = i
        components[a].pairs += 1
        arrays["pair"][i].component, arrays["pair"][i].first = b, length
        length += int(components[a].tasks) * int(components[b].tasks)
    arrays["traffic"] = records("traffic", len(kinds.LOCALITY_NAMES) * length)


def max_copies(kernel: Kernel, plans: Sequence[TopologyPlan]) -> int:
    """Return the most copies that one record's emissions make, for which one event must have room."""
    per_stream = np.zeros(len(kernel.stream), np.int64)
    for i, stream in enumerate(kernel.stream):
        for j in range(stream.first_subscription, stream.first_subscription + stream.subscriptions):
            sub = kernel.subscription[j]
            per_stream[i] += kernel.component[sub.component].tasks if sub.grouping == kinds.G_ALL else 1
    largest = 1
    for topology, plan in zip(kernel.topology, plans, strict=True):
        if not len(plan.trace.emissions):
            continue
        streams = plan.trace.emissions["stream"] + int(topology.first_stream)
        running = np.concatenate(([0], np.cumsum(per_stream[streams])))
        first = plan.trace.records["first_emission"]
        copies = running[first + np.maximum(plan.trace.records["emissions"], 0)] - running[first]
        largest = max(largest, int(np.max(copies, initial=1)))
    return largest
