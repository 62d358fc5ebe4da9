"""What JupyterLab shows of topologies, clusters, assignments, scheduling results and verdicts.

The classes themselves know nothing of HTML. `show_richly` tells IPython by name how to show them, so that
nothing is imported before the first of them is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, TypeAlias

from storm_lab.experiments.claim import number
from storm_lab.model import Assignment, Cluster, Topology
from storm_lab.reporting.verdict import Verdict, measured_text
from storm_lab.schedulers.contract import SchedulingResult

Html: TypeAlias = Callable[[Any], str]

MOST_ROWS = 200
"""Rows of a table that are shown; what is left out is counted below it."""

_BOX_W, _BOX_H, _GAP_X, _GAP_Y = 150, 44, 70, 18


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """An HTML table with everything in it escaped."""
    lines = list(rows)
    shown = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in lines[:MOST_ROWS]
    )
    heads = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    title = f"<caption style='text-align:left'>{escape(caption)}</caption>" if caption else ""
    more = f"<p>and {len(lines) - MOST_ROWS} more</p>" if len(lines) > MOST_ROWS else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{shown}</tbody></table>{more}"


def topology_html(topology: Topology) -> str:
    """The graph of components, and a table of what each subscribes to."""
    rows = [
        (
            component.id,
            "spout" if component.is_spout else "bolt",
            component.executors,
            component.task_count,
            ", ".join(
                f"{each.source}/{each.stream} {each.grouping.value}"
                + (f"({', '.join(each.fields)})" if each.fields else "")
                for each in component.inputs
            ),
        )
        for component in topology.components
    ]
    ackers = "the version's own number of" if topology.ackers is None else str(topology.ackers)
    caption = f"{topology.name or topology.id}: {topology.workers} workers, {ackers} ackers"
    head = ("component", "kind", "executors", "tasks", "subscribes to")
    return topology_svg(topology) + table(head, rows, caption)


def topology_svg(topology: Topology) -> str:
    """The components from left to right, each behind all that it subscribes to, as SVG."""
    depth = _depths(topology)
    columns: dict[int, list[str]] = {}
    for component in topology.components:
        columns.setdefault(depth[component.id], []).append(component.id)
    place = {
        name: (10 + column * (_BOX_W + _GAP_X), 10 + row * (_BOX_H + _GAP_Y))
        for column, names in columns.items()
        for row, name in enumerate(names)
    }
    width = 20 + (max(columns, default=0) + 1) * (_BOX_W + _GAP_X)
    height = 20 + max((len(names) for names in columns.values()), default=0) * (_BOX_H + _GAP_Y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
        f"<title>{escape(topology.name or topology.id)}</title>"
    ]
    for component in topology.components:
        to_x, to_y = place[component.id]
        for each in component.inputs:
            if each.source in place:
                from_x, from_y = place[each.source]
                parts.append(
                    f'<line x1="{from_x + _BOX_W}" y1="{from_y + _BOX_H // 2}" x2="{to_x}" '
                    f'y2="{to_y + _BOX_H // 2}" stroke="currentColor" opacity="0.6">'
                    f"<title>{escape(each.grouping.value)}</title></line>"
                )
    for component in topology.components:
        (x, y), round_by = place[component.id], 22 if component.is_spout else 4
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_BOX_W}" height="{_BOX_H}" rx="{round_by}" '
            f'fill="none" stroke="currentColor"/><text x="{x + _BOX_W // 2}" y="{y + 19}" '
            f'text-anchor="middle" fill="currentColor">{escape(component.id[:20])}</text>'
            f'<text x="{x + _BOX_W // 2}" y="{y + 35}" text-anchor="middle" fill="currentColor" '
            f'opacity="0.7">× {component.executors}</text>'
        )
    return "".join(parts) + "</svg>"


def _depths(topology: Topology) -> dict[str, int]:
    """How many hops a component is from the spouts at most; a cycle is cut where it closes."""
    sources = {component.id: [each.source for each in component.inputs] for component in topology.components}
    depth: dict[str, int] = {}

    def of(name: str, above: frozenset[str]) -> int:
        if name not in depth:
            known = [each for each in sources.get(name, ()) if each in sources and each not in above]
            depth[name] = 1 + max((of(each, above | {name}) for each in known), default=-1)
        return depth[name]

    for component in topology.components:
        of(component.id, frozenset((component.id,)))
    return depth


def cluster_html(cluster: Cluster) -> str:
    """A row for each node."""
    rows = [
        (
            node.id,
            node.rack,
            node.cores,
            number(node.core_mhz),
            number(node.memory_mb),
            number(node.nic_mbps),
            len(node.ports),
        )
        for node in cluster.nodes
    ]
    head = ("node", "rack", "cores", "MHz", "memory, MB", "network, Mbit/s", "slots")
    return table(head, rows, f"{len(cluster.nodes)} nodes in {len(cluster.racks)} racks")


def assignment_html(assignment: Assignment) -> str:
    """A row for each worker, with its executors."""
    rows = [
        (slot.node, slot.port, len(executors), ", ".join(str(executor) for executor in executors))
        for slot, executors in sorted(assignment.workers().items())
    ]
    nodes = len(assignment.nodes_used())
    caption = f"{len(assignment.slots)} executors in {len(rows)} workers on {nodes} nodes"
    return table(("node", "port", "executors", "which"), rows, caption)


def result_html(result: SchedulingResult) -> str:
    """Status of each topology, the assignment, and the reasons where they were asked for."""
    status = [
        (topology, "placed" if each.scheduled else "not placed", each.message)
        for topology, each in result.status.items()
    ]
    shown = table(("topology", "status", "says"), status) + assignment_html(result.assignment)
    if not result.decisions:
        return shown
    reasons = [
        (str(each.executor), each.choice or "none", len(each.candidates), each.note)
        for each in result.decisions
    ]
    return shown + table(("executor", "slot", "candidates", "note"), reasons, "in order of decision")


def verdict_html(verdict: Verdict) -> str:
    """What is printed, what was measured, and what follows."""
    row = (
        verdict.claim.id,
        verdict.claim.expected_text,
        verdict.claim.band_text,
        measured_text(verdict) or "nothing",
        verdict.outcome.value,
        verdict.basis.value,
    )
    head = ("claim", "printed", "band", "measured", "verdict", "basis")
    return table(head, [row], verdict.claim.statement)


_SHOWN: tuple[tuple[str, str, Html], ...] = (
    ("storm_lab.model.topology", "Topology", topology_html),
    ("storm_lab.model.cluster", "Cluster", cluster_html),
    ("storm_lab.model.assignment", "Assignment", assignment_html),
    ("storm_lab.schedulers.contract", "SchedulingResult", result_html),
    ("storm_lab.reporting.verdict", "Verdict", verdict_html),
)


def show_richly(formatter: Any) -> None:
    """Tell IPython's HTML formatter how to show the project's objects."""
    for module, name, html in _SHOWN:
        formatter.for_type_by_name(module, name, html)
