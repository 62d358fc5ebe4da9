"""Translates a scheduling request of Nimbus into the view that storm_lab's schedulers take.

Storm names topologies ``<name>-<number>-<time>`` and gives nodes random ids. Topologies and machines that the
run knows keep their own names and their complete description; others are described by what Nimbus sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from storm_lab.model import (
    ACKER,
    Assignment,
    Cluster,
    Component,
    Executor,
    Grouping,
    MeasuredLoad,
    Node,
    Resources,
    Slot,
    StormVersion,
    Subscription,
    Topology,
    executors_of,
)
from storm_lab.model.settings import CPU, OFFHEAP, ONHEAP, effective_settings
from storm_lab.schedulers.contract import SchedulingView

REQUEST_FORMAT = 1

_GROUPINGS = {"local_or_shuffle": Grouping.LOCAL_OR_SHUFFLE, "none": Grouping.NONE}
_POINTS_A_CORE = 100.0


@dataclass(frozen=True, slots=True)
class Known:
    """What a run knows before the first request.

    Args:
        version: the release of Storm that asks; None to take what the request states (Storm from 1.0 on).
        cluster: its machines; None to take them from the request.
        node_of: node id by host name or address, as Storm knows it.
        topologies: by the name under which they were submitted.
    """

    version: StormVersion | None
    cluster: Cluster | None = None
    node_of: Mapping[str, str] = field(default_factory=dict)
    topologies: Mapping[str, Topology] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One request of Nimbus.

    ``view`` is what a scheduler sees. ``storm_id`` and ``supervisor`` map topologies and nodes back to
    Storm's own ids. ``left_out`` maps Storm's ids of topologies that were left out of the view to the reason.
    """

    view: SchedulingView
    storm_id: Mapping[str, str]
    supervisor: Mapping[str, str]
    left_out: Mapping[str, str]


def read_request(
    fields: Mapping[str, Any], known: Known, *, load: MeasuredLoad | None = None, seed: int = 0
) -> Request:
    """Turn Nimbus's request into a view.

    Raises `ValueError` if it has another format or is incomplete, `UserError` if it describes topologies or
    machines that the model refuses.
    """
    if fields.get("format") != REQUEST_FORMAT:
        raise ValueError(f"the request has format {fields.get('format')!r}, not {REQUEST_FORMAT}")
    try:
        return _read(fields, known, load, seed)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"the request cannot be read ({type(error).__name__}: {error})") from error


def _version(fields: Mapping[str, Any], known: Known) -> StormVersion:
    if known.version is not None:
        return known.version
    stated = re.match(r"\d+\.\d+\.\d+", str(fields.get("storm", "")))
    if stated is None:
        unknown = "it does not state the version of Storm (before 1.0 it never does)"
        raise ValueError(f"{unknown}: give --storm-version")
    return StormVersion.parse(stated[0])


def _read(fields: Mapping[str, Any], known: Known, load: MeasuredLoad | None, seed: int) -> Request:
    version = _version(fields, known)
    nodes = _nodes(fields["nodes"], known)
    node_of = {supervisor: node.id for supervisor, node in nodes.items()}
    offered = {row["id"]: {int(port) for port in row["ports"]} for row in fields["nodes"]}
    dead = {slot for key, node in nodes.items() for slot in node.slots if slot.port not in offered[key]}
    topologies: dict[str, Topology] = {}
    storm_id: dict[str, str] = {}
    left_out: dict[str, str] = {}
    present: list[tuple[Executor, Slot]] = []
    for row in fields["topologies"]:
        topology = _topology(row, known)
        executors = {(e.start, e.end): e for e in executors_of(topology, version)}
        held = [
            (Slot(node_of.get(node, node), int(port)), [(int(first), int(last)) for first, last in pairs])
            for node, port, pairs in row["present"]
        ]
        problem = _difference(row["executors"], executors.values())
        if problem is None and topology.id in topologies:
            problem = "another topology has this name"
        if problem is not None:
            left_out[row["id"]] = problem
            # Its workers stay where they are: no other topology may have their slots.
            dead |= {slot for slot, _ in held}
            continue
        topologies[topology.id] = topology
        storm_id[topology.id] = row["id"]
        present += [(executors[pair], slot) for slot, pairs in held for pair in pairs if pair in executors]
    order = _order(known.topologies)
    place = _order(node.id for node in (known.cluster.nodes if known.cluster else ()))
    view = SchedulingView(
        topologies=tuple(sorted(topologies.values(), key=lambda topology: order(topology.id))),
        cluster=Cluster(tuple(sorted(nodes.values(), key=lambda node: place(node.id)))),
        version=version,
        present=Assignment.of(sorted(present)),
        load=load,
        blacklisted_hosts=frozenset(fields.get("blacklisted", ())),
        dead_slots=frozenset(dead),
        seed=seed,
    )
    return Request(view, storm_id, {node: supervisor for supervisor, node in node_of.items()}, left_out)


def _nodes(rows: Sequence[Mapping[str, Any]], known: Known) -> dict[str, Node]:
    """Return the node of each supervisor id."""
    described = {} if known.cluster is None else {node.id: node for node in known.cluster.nodes}
    hosts = [str(row["host"]) for row in rows]
    nodes: dict[str, Node] = {}
    for row, host in zip(rows, hosts, strict=True):
        name = known.node_of.get(host, host)
        if name in described:
            nodes[row["id"]] = described[name]
            continue
        if hosts.count(host) > 1:
            name = str(row["id"])
        memory, points = row.get("memory_mb"), row.get("cpu_points")
        node = Node(id=name, host=host, ports=tuple(sorted(int(port) for port in row["ports"])))
        if memory and points:
            node = replace(
                node,
                cores=max(1, round(points / _POINTS_A_CORE)),
                memory_mb=float(memory),
                offer=Resources(cpu_points=float(points), memory_mb=float(memory)),
            )
        nodes[row["id"]] = node
    return nodes


def _order(known: Iterable[str]) -> Callable[[str], tuple[int, str]]:
    """Return a sort key that puts known names first, in their order, and then the others alphabetically."""
    place = {name: number for number, name in enumerate(known)}
    return lambda name: (place.get(name, len(place)), name)


def _topology(row: Mapping[str, Any], known: Known) -> Topology:
    name = str(row["name"])
    counts: dict[str, list[int]] = {}
    for first, last, component in row["executors"]:
        counts.setdefault(component, []).append(int(last) - int(first) + 1)
    if name in known.topologies:
        # A rebalance may have changed these numbers.
        topology = known.topologies[name]
        return replace(
            topology,
            workers=int(row["workers"]),
            ackers=len(counts.get(ACKER, ())),
            components=tuple(
                replace(c, executors=len(counts.get(c.id, ())) or c.executors, tasks=c.task_count)
                for c in topology.components
            ),
        )
    conf = row["conf"]
    rows = sorted(row["components"], key=lambda each: (not each["spout"], each["id"]))
    # Bolts that Storm itself adds have tasks like any other.
    added = sorted(counts.keys() - {each["id"] for each in rows} - {ACKER})
    first_user = rows[0]["id"] if rows else ""
    return Topology(
        id=name,
        name=name,
        components=(
            *(_component(each, counts.get(each["id"], [])) for each in rows),
            *(
                Component(
                    component,
                    executors=len(counts[component]),
                    tasks=sum(counts[component]),
                    inputs=(Subscription(first_user),),
                )
                for component in added
            ),
        ),
        workers=int(row["workers"]),
        ackers=len(counts.get(ACKER, ())),
        priority=int(conf.get("topology.priority", 29)),
        owner=str(conf.get("topology.submitter.user", "")),
        message_timeout_s=float(conf.get("topology.message.timeout.secs", 30)),
        max_spout_pending=conf.get("topology.max.spout.pending"),
        settings=effective_settings(conf),
    )


def _component(row: Mapping[str, Any], tasks: Sequence[int]) -> Component:
    conf = row["conf"]
    resources = None
    if any(key in conf for key in (ONHEAP, OFFHEAP, CPU)):
        resources = Resources(
            cpu_points=float(conf.get(CPU) or 0.0),
            memory_mb=float(conf.get(ONHEAP) or 0.0),
            offheap_mb=float(conf.get(OFFHEAP) or 0.0),
        )
    tick = conf.get("topology.tick.tuple.freq.secs")
    return Component(
        row["id"],
        executors=len(tasks) or int(row["executors"]),
        tasks=sum(tasks) or None,
        inputs=() if row["spout"] else tuple(_subscription(item) for item in row["inputs"]),
        outputs={stream: tuple(names) for stream, names in row["outputs"].items()},
        resources=resources,
        tick_seconds=None if tick is None else float(tick),
    )


def _subscription(row: Mapping[str, Any]) -> Subscription:
    name, fields = row["grouping"], tuple(row["fields"])
    if name == "fields":
        # Storm writes a global grouping as a fields grouping without fields.
        grouping = Grouping.FIELDS if fields else Grouping.GLOBAL
    elif name in ("custom_serialized", "custom_object"):
        grouping = Grouping.SHUFFLE
    else:
        grouping = _GROUPINGS.get(name) or Grouping(name)
    return Subscription(row["source"], row["stream"], grouping, fields)


def _difference(rows: Sequence[Sequence[Any]], executors: Iterable[Executor]) -> str | None:
    """Return how Nimbus's executors differ from those that the topology implies; None if they do not."""
    theirs = {(int(first), int(last), str(component)) for first, last, component in rows}
    ours = {(e.start, e.end, e.component) for e in executors}
    if theirs == ours:
        return None
    first, last, component = min(theirs ^ ours)
    where = "Nimbus has" if (first, last, component) in theirs else "Nimbus lacks"
    return f"its executors differ from its description: {where} {component}[{first},{last}]"
