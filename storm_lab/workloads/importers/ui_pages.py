"""Pages of Storm's UI (its REST interface, ``/api/v1/...``) as JSON: told apart by what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from storm_lab.workloads.importers.documents import Part
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.scalars import a_text


@dataclass(slots=True)
class UiPages:
    """The pages of one topology: its own, those of its components, its graph, and the cluster's."""

    topology: Part | None = None
    components: dict[str, Part] = field(default_factory=dict)
    metrics: Part | None = None
    graph: Part | None = None
    cluster: Part | None = None
    supervisors: Part | None = None


def looks_like_page(part: Part) -> bool:
    """Whether a document is one of the pages that are read here."""
    return _kind(part) != ""


def sort_pages(parts: Iterable[Part], notes: Notes) -> UiPages:
    """Put pages where they belong; of two of a kind the first counts."""
    pages = UiPages()
    for part in parts:
        kind = _kind(part)
        if kind == "component":
            name = a_text(part.get("id")) or ""
            if pages.components.setdefault(name, part) is not part:
                notes.cannot_use(part.place, f"a second page of {name}", "the first one counts")
        elif kind == "":
            notes.cannot_use(part.place, "this page", "it is none of a topology, component or cluster")
        elif kind == "other":
            notes.cannot_use(part.place, "this page", "it says nothing of the topology that is needed")
        elif getattr(pages, kind) is not None:
            notes.cannot_use(part.place, f"a second {kind} page", "the first one counts")
        else:
            setattr(pages, kind, part)
    return pages


def _kind(part: Part) -> str:
    if not isinstance(part.value, Mapping):
        return ""
    keys = set(part.value)
    if "componentType" in keys or {"spoutSummary", "boltStats"} & keys:
        return "component"
    if "topologyStats" in keys:
        return "topology"
    if {"spouts", "bolts"} & keys and _has(part, "spoutId", "boltId"):
        return "topology"
    if {"spouts", "bolts"} & keys and _has(part, "complete_ms_avg", "executed_ms_avg"):
        return "metrics"
    if any(item.get(":type") is not None for _, item in part.items()):
        return "graph"
    if isinstance(getattr(part.get("supervisors"), "value", None), list):
        return "supervisors"
    if "stormVersion" in keys and "slotsTotal" in keys:
        return "cluster"
    if {"topologies", "hostPortList", "nimbuses", "visualizationTable"} & keys:
        return "other"
    return ""


def _has(part: Part, *names: str) -> bool:
    return any(
        item.get(name) is not None
        for section in ("spouts", "bolts")
        for item in part.under(section)
        for name in names
    )
