"""The user's own machines in a short YAML file: nodes, racks, cores, speed, memory, slots and links.

The schema is `machines.schema.json` beside this file; ``docs/importing.md`` has an example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError, check_known, unknown_name
from storm_lab.model.checks import check_distinct
from storm_lab.model.cluster import Cluster, Node
from storm_lab.model.machines import MACHINE_TYPES, TESTBEDS, Machines, ports
from storm_lab.model.topology import Resources
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.documents import Notes, read_bounded, yaml_part
from storm_lab.workloads.importers.schema import MACHINES, checked, converted

MOST_NODES = 5000
_NEEDED = ("cores", "memory_mb", "nic_mbps")
_LINKS = {
    "loopback_us": "loopback_us",
    "same_rack_us": "lan_us",
    "between_racks_us": "inter_rack_us",
    "rack_uplink_mbps": "uplink_mbps",
}
"""Keys of ``links`` in a file, with the attributes of `Links` that they set."""


def load_machines(choice: str | Path) -> Machines:
    """Return the machines of a file or of one of `TESTBEDS`; `UserError` if it is unknown or invalid."""
    if str(choice) in TESTBEDS:
        return TESTBEDS[str(choice)]
    path = Path(choice)
    if not path.suffix and not path.exists():
        raise unknown_name("testbed", choice, TESTBEDS, "storm_lab", field="machines")
    return read_machines(read_bounded(path, field="machines"), path.name)


def read_machines(text: str, file: str) -> Machines:
    """Return the machines of a YAML text from ``file``; `UserError` names file, line, key and remedy."""
    part = yaml_part(text, file, Notes())
    given = checked(part, MACHINES)
    if ("testbed" in given) == ("nodes" in given):
        raise UserError("needs either testbed or nodes", field=str(part.place), remedy="give one of them")
    if "testbed" in given:
        where = str(part.at(("testbed",)).place)
        check_known("testbed", given["testbed"], TESTBEDS, "storm_lab", field=where)
        base = TESTBEDS[given["testbed"]]
    else:
        types = _types(given.get("types", {}), file)
        nodes = [
            node
            for number, entry in enumerate(given["nodes"])
            for node in _nodes(entry, types, str(part.at(("nodes", number)).place))
        ]
        if len(nodes) > MOST_NODES:
            remedy = f"at most {MOST_NODES}"
            raise UserError("there are too many nodes", field=file, value=len(nodes), remedy=remedy)
        check_distinct(file, "node", [node.id for node in nodes])
        base = Machines(Cluster(tuple(nodes)))
    cluster = base.cluster
    if "shared_cores" in given:
        cluster = replace(cluster, shared_cores=float(given["shared_cores"]))
    links = {_LINKS[key]: float(value) for key, value in given.get("links", {}).items()}
    return Machines(cluster, replace(base.links, **links))


def _types(given: Mapping[str, Any], file: str) -> dict[str, Node]:
    """Return the preset types and those of the file; each is made after the type that it is ``like``."""
    types = dict(MACHINE_TYPES)
    waiting = dict(given)
    while waiting:
        ready = [name for name, entry in waiting.items() if entry.get("like") not in waiting]
        if not ready:
            message = "machine types refer to each other in a cycle"
            raise UserError(message, field=file, value=", ".join(waiting))
        for name in ready:
            entry = waiting.pop(name)
            types[name] = _type({"type": entry.get("like"), **entry}, types, f"{file} types.{name}")
    return types


def _type(entry: Mapping[str, Any], types: Mapping[str, Node], where: str) -> Node:
    """Return a node without a name: its base type, changed by what the entry states."""
    base = _base(entry, types, where)
    kinds = dict.fromkeys(("memory_mb", "nic_mbps", "cpu_quota", "quota_period_ms"), float)
    stated = converted(entry, cores=int, threads_per_core=int, **kinds)
    cores, memory_mb = stated.get("cores", base.cores), stated.get("memory_mb", base.memory_mb)
    quota = stated.get("cpu_quota", base.cpu_quota)
    if quota is not None and quota > cores:
        owner = f"{where}.cpu_quota"
        raise UserError("is more than its cores", field=owner, value=quota, remedy=f"at most {cores}")
    # A preset offer that differs from the hardware (R-Storm's hosts) does not apply to a changed machine.
    same = entry.get("type") is not None and (cores, memory_mb) == (base.cores, base.memory_mb)
    offer = base.offer if same else Resources(cpu_points=100.0 * cores, memory_mb=memory_mb)
    offers = {name: float(value) for name, value in entry.get("offers", {}).items()}
    mhz = entry["speed"] * REFERENCE_MHZ if "speed" in entry else entry.get("mhz", base.core_mhz)
    slots = entry.get("slots", base.ports)
    return replace(
        base,
        id="",
        core_mhz=float(mhz),
        offer=replace(offer, **offers),
        ports=ports(int(slots)) if isinstance(slots, int | float) else tuple(map(int, slots)),
        **stated,
    )


def _base(entry: Mapping[str, Any], types: Mapping[str, Node], where: str) -> Node:
    """Return the type that an entry changes; `UserError`: it is unknown, or lacks a figure."""
    kind = entry.get("type")
    if kind is not None and kind not in types:
        raise unknown_name("machine type", kind, types, "storm_lab", field=where)
    if "mhz" in entry and "speed" in entry:
        raise UserError("gives both mhz and speed", field=where, remedy="give one of them")
    if kind is not None:
        return types[kind]
    lacking = [name for name in _NEEDED if name not in entry]
    lacking += ["mhz"] if "mhz" not in entry and "speed" not in entry else []
    if lacking:
        raise UserError(f"needs {lacking[0]}", field=where, remedy="give it, or a type of machine")
    return Node(id="")


def _nodes(entry: Mapping[str, Any], types: Mapping[str, Node], where: str) -> Iterator[Node]:
    kind = _type(entry, types, where)
    kind = replace(kind, rack=entry["rack"]) if "rack" in entry else kind
    count = int(entry.get("count", 1))
    digits = len(str(count))
    for number in range(1, count + 1):
        yield replace(kind, id=entry["name"] if count == 1 else f"{entry['name']}{number:0{digits}d}")
