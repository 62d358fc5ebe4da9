"""Pages of Storm's UI (its REST interface, ``/api/v1/...``) as JSON, distinguished by their content.

They are fetched over HTTP only if a URL is given in place of files. The page of supervisors describes the
machines.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from urllib.parse import quote, unquote, urlsplit

from storm_lab.errors import UserError
from storm_lab.model.checks import ID_RULE, is_id
from storm_lab.model.cluster import Cluster, Node
from storm_lab.model.machines import Machines, machine
from storm_lab.model.topology import Resources
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.documents import ABSENT, LARGEST_FILE, Notes, Part, Place, json_part
from storm_lab.workloads.importers.scalars import a_text, number

TIMEOUT_S = 10.0
MOST_PAGES = 500
MOST_CORES = 1024
_CORES = 4
_MEMORY_MB = 8192.0
_NIC_MBPS = 1000.0


@dataclass(slots=True)
class UiPages:
    """The pages of one topology: its own, those of its components, its graph, and the cluster's."""

    topology: Part = ABSENT
    components: dict[str, Part] = field(default_factory=dict)
    metrics: Part = ABSENT
    graph: Part = ABSENT
    cluster: Part = ABSENT
    supervisors: Part = ABSENT


def sort_pages(parts: Iterable[Part], notes: Notes) -> UiPages:
    """Sort pages by their kind; of two of a kind the first counts."""
    pages = UiPages()
    for part in parts:
        kind = kind_of_page(part)
        if kind == "components":
            name = a_text(part.get("id")) or ""
            if pages.components.setdefault(name, part) is not part:
                notes.cannot_use(part.place, f"a second page of {name}", "the first one counts")
        elif kind == "":
            notes.cannot_use(part.place, "this page", "it is not a page of a topology, component or cluster")
        elif kind == "other":
            notes.cannot_use(part.place, "this page", "it has nothing about the topology")
        elif getattr(pages, kind) is not ABSENT:
            notes.cannot_use(part.place, f"a second {kind} page", "the first one counts")
        else:
            setattr(pages, kind, part)
    return pages


def kind_of_page(part: Part) -> str:
    """Return which attribute of `UiPages` a page is for, or "other"; empty if it is none of Storm's UI."""
    if not isinstance(part.value, Mapping):
        return ""
    keys = set(part.value)
    if "componentType" in keys or {"spoutSummary", "boltStats"} & keys:
        return "components"
    if "topologyStats" in keys or _has(part, "spoutId", "boltId"):
        return "topology"
    if _has(part, "complete_ms_avg", "executed_ms_avg"):
        return "metrics"
    if any(item.get(":type") is not ABSENT for _, item in part.items()):
        return "graph"
    if isinstance(part.get("supervisors").value, list):
        return "supervisors"
    if "stormVersion" in keys and "slotsTotal" in keys:
        return "cluster"
    if {"topologies", "hostPortList", "nimbuses", "visualizationTable"} & keys:
        return "other"
    return ""


def _has(part: Part, *names: str) -> bool:
    items = part.under("spouts", "bolts")
    return any(item.get(name) is not ABSENT for item in items for name in names)


def fetch_pages(url: str, notes: Notes) -> list[Part]:
    """Fetch the pages of the topology at a URL, or of the only topology there.

    Raises `UserError` if a page of the topology cannot be fetched, or if the URL names no topology and there
    is not exactly one.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _unfetched(url, error) from None
    before, _, after = parts.path.partition("/api/v1/")
    base = f"{parts.scheme}://{parts.netloc}{before.rstrip('/')}/api/v1"
    words = after.split("/")
    named = words[0] == "topology" and len(words) > 1 and words[1] not in ("", "summary")
    identity = unquote(words[1]) if named else _only_topology(base)
    topology = _fetch(f"{base}/topology/{quote(identity, safe='')}")
    pages = [topology]
    names = [
        a_text(item.get(key)) or ""
        for section, key in (("spouts", "spoutId"), ("bolts", "boltId"))
        for item in topology.under(section)
    ]
    own = f"topology/{quote(identity, safe='')}"
    # Where there are too many components, the graph still says what they read.
    rest = [f"{own}/visualization", "cluster/summary", "supervisor/summary"]
    rest += [f"{own}/component/{quote(name, safe='')}" for name in names if name]
    for page in rest[:MOST_PAGES]:
        try:
            pages.append(_fetch(f"{base}/{page}"))
        except UserError as error:
            notes.cannot_use(Place(f"{base}/{page}"), "this page", error.message)
    return pages


def _only_topology(base: str) -> str:
    found = [a_text(item.get("id")) or "" for item in _fetch(f"{base}/topology/summary").under("topologies")]
    if len(found) != 1:
        remedy = "add /topology/ID, with one of: " + (", ".join(found[:20]) or "none")
        raise UserError(f"the UI has {len(found)} topologies", field="url", value=base, remedy=remedy)
    return found[0]


def _fetch(url: str) -> Part:
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            data = answer.read(LARGEST_FILE + 1)
    except (OSError, ValueError, HTTPException) as error:
        raise _unfetched(url, error) from None
    if len(data) > LARGEST_FILE:
        raise UserError("the page is too large", field="url", value=url)
    return json_part(data.decode("utf-8", "replace"), url)


def _unfetched(url: str, error: Exception) -> UserError:
    reason = getattr(error, "reason", None) or error
    message = f"the page cannot be fetched ({reason})"
    return UserError(message, field="url", value=url, remedy="save it, and give the file")


def _offered(item: Part, key: str, name: str, notes: Notes) -> float | None:
    """Return what a supervisor offers of a resource; a negative number is noted and not used."""
    value = number(item.get(key))
    if value is not None and value < 0:
        notes.cannot_use(item.place, f"{key} of supervisor {name}", "it is negative")
        return None
    return value


def machines_of(page: Part, notes: Notes) -> Machines | None:
    """Return the supervisors of a page, one node each; what the page does not state is assumed and noted."""
    nodes: list[Node] = []
    for item in page.under("supervisors"):
        host = a_text(item.get("host")) or ""
        name = a_text(item.get("id")) or host
        if not is_id(name) or any(node.id == name for node in nodes):
            notes.cannot_use(item.place, "a supervisor", f"its name is taken, or not {ID_RULE}")
            continue
        slots = number(item.get("slotsTotal")) or 0.0
        if not 1 <= slots <= 1000:
            notes.cannot_use(item.place, f"supervisor {name}", "it has no slots")
            continue
        cpu, memory = (_offered(item, key, name, notes) for key in ("totalCpu", "totalMem"))
        # By Storm's convention, an offer of 100 points is a core; 400 is Storm's default, left unchanged.
        cores = max(1, round(cpu / 100)) if cpu and 0 < cpu <= 100 * MOST_CORES else _CORES
        memory_mb = memory if memory and 64 <= memory <= 1e8 else _MEMORY_MB
        offer = Resources(cpu or 100.0 * cores, memory or _MEMORY_MB)
        node = machine(cores, REFERENCE_MHZ, memory_mb, _NIC_MBPS, slots=int(slots), offer=offer)
        nodes.append(replace(node, id=name, host=host))
    if not nodes:
        return None
    figures = f"{REFERENCE_MHZ:g} MHz, network {_NIC_MBPS:g} Mbit/s"
    why = "not on any page; give a machines file"
    notes.assume(f"{len(nodes)} supervisors", "cores and memory as offered, clock", figures, why)
    return Machines(Cluster(tuple(nodes)))
