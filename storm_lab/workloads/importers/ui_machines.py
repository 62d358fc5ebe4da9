"""Machines from the UI's page of supervisors."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.model.cluster import Cluster, Node
from storm_lab.model.machines import Machines, machine
from storm_lab.model.topology import Resources
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.scalars import a_text, number

MOST_CORES = 1024
_CORES = 4
_MEMORY_MB = 8192.0
_NIC_MBPS = 1000.0


def machines_of(page: Part, notes: Notes) -> Machines | None:
    """The supervisors of a page, one node each; what the page does not say is assumed, and noted."""
    nodes: list[Node] = []
    for item in page.under("supervisors"):
        host = a_text(item.get("host")) or ""
        name = a_text(item.get("id")) or host
        if not name or any(node.id == name for node in nodes):
            notes.cannot_use(item.place, "a supervisor", "it has no name of its own")
            continue
        slots = number(item.get("slotsTotal")) or 0.0
        if not 1 <= slots <= 1000:
            notes.cannot_use(item.place, f"supervisor {name}", "it has no slots")
            continue
        cpu, memory = number(item.get("totalCpu")), number(item.get("totalMem"))
        # An offer of 100 points is a core by Storm's convention; its default of 400 is what nobody changed.
        cores = max(1, round(cpu / 100)) if cpu and 0 < cpu <= 100 * MOST_CORES else _CORES
        node = machine(
            cores,
            REFERENCE_MHZ,
            memory if memory and 64 <= memory <= 1e8 else _MEMORY_MB,
            _NIC_MBPS,
            slots=int(slots),
            offer=Resources(cpu or 100.0 * cores, memory or _MEMORY_MB),
        )
        nodes.append(replace(node, id=name, host=host))
    if not nodes:
        return None
    notes.assume(
        f"{len(nodes)} supervisors",
        "cores and memory as offered, clock",
        f"{REFERENCE_MHZ:g} MHz, network {_NIC_MBPS:g} Mbit/s",
        "no page says them; give a machines file",
    )
    return Machines(Cluster(tuple(nodes)))
