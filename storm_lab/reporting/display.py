"""How JupyterLab shows topologies, clusters, scheduling results, sites, leagues, runs and verdicts.

The classes themselves do not know about it. `show_richly` tells IPython by name how to show them, as HTML and
as a line of text, so that nothing is imported before the first of them is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from functools import partial
from html import escape
from typing import Any, NamedTuple

from storm_lab.experiments.claim import number, with_unit
from storm_lab.model import Assignment, Cluster, Topology
from storm_lab.model.grouped import grouped
from storm_lab.pipeline.metric_tables import TABLE_NAMES
from storm_lab.reporting.verdict import Verdict, measured_text
from storm_lab.schedulers.contract import Decision, SchedulingResult


class Shown(NamedTuple):
    """How an object is shown: a line of text, and HTML."""

    line: str
    html: str


MOST_ROWS = 200
"""Most rows of a table that are shown; the number of others follows below it."""

_BOX_W, _BOX_H, _GAP_X, _GAP_Y = 150, 44, 70, 18


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
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


def _topology(topology: Topology) -> Shown:
    ackers = "the version's own number of" if topology.ackers is None else str(topology.ackers)
    line = f"{topology.name or topology.id}: {topology.workers} workers, {ackers} ackers"
    rows = []
    for component in topology.components:
        inputs = ", ".join(
            f"{each.source}/{each.stream} {each.grouping.value}"
            + (f"({', '.join(each.fields)})" if each.fields else "")
            for each in component.inputs
        )
        kind = "spout" if component.is_spout else "bolt"
        rows.append((component.id, kind, component.executors, component.task_count, inputs))
    head = ("component", "kind", "executors", "tasks", "subscribes to")
    return Shown(line, topology_svg(topology) + _table(head, rows, line))


def topology_svg(topology: Topology) -> str:
    """Draw the components as SVG, from left to right, each to the right of its sources."""
    depth = _depths(topology)
    columns = grouped((component.id for component in topology.components), depth.__getitem__)
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
    """Longest path from the spouts to each component, in hops; a cycle is cut where it closes."""
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


def _cluster(cluster: Cluster) -> Shown:
    line = f"{len(cluster.nodes)} nodes in {len(cluster.racks)} racks"
    rows = []
    for node in cluster.nodes:
        sizes = map(number, (node.core_mhz, node.memory_mb, node.nic_mbps))
        rows.append((node.id, node.rack, node.cores, *sizes, len(node.ports)))
    head = ("node", "rack", "cores", "MHz", "memory, MB", "network, Mbit/s", "slots")
    return Shown(line, _table(head, rows, line))


def _assignment(assignment: Assignment) -> Shown:
    """The extent of an assignment, and a row for each worker."""
    workers = assignment.workers()
    counts: dict[str, Sized] = {
        "executors": assignment.slots,
        "workers": workers,
        "nodes": assignment.nodes_used(),
    }
    executors, used, nodes = (with_unit(str(len(each)), what) for what, each in counts.items())
    line = f"{executors} in {used} on {nodes}"
    rows = [
        (slot.node, slot.port, len(executors), ", ".join(map(str, executors)))
        for slot, executors in sorted(workers.items())
    ]
    return Shown(line, _table(("node", "port", "executors", "which"), rows, line))


def _result(result: SchedulingResult) -> Shown:
    assignment = _assignment(result.assignment)
    messages = [f"{topology}: {each.message}" for topology, each in result.status.items()]
    status = [
        (topology, "placed" if each.scheduled else "not placed", each.message)
        for topology, each in result.status.items()
    ]
    html = _table(("topology", "status", "says"), status) + assignment.html
    html += _decisions_html(result.decisions) if result.decisions else ""
    return Shown("; ".join([*messages, assignment.line]), html)


def _decision(decision: Decision) -> Shown:
    note = f": {decision.note}" if decision.note else ""
    rows = [
        (each.slot, "" if each.score is None else number(each.score), each.ruled_out_by or "")
        for each in decision.candidates
    ]
    html = _decisions_html([decision])
    if rows:
        html += _table(("candidate", decision.score_name or "score", "ruled out by"), rows)
    return Shown(f"{decision.executor} -> {decision.choice or 'none'}{note}", html)


def _decisions_html(decisions: Sequence[Decision]) -> str:
    rows = [
        (str(each.executor), each.choice or "none", len(each.candidates), each.note) for each in decisions
    ]
    return _table(("executor", "slot", "candidates", "note"), rows, "in order of decision")


def _verdict(verdict: Verdict) -> Shown:
    claim, outcome = verdict.claim, verdict.outcome.value
    measured = measured_text(verdict) or "nothing"
    row = (claim.id, claim.expected_text, claim.band_text, measured, outcome, verdict.basis.value)
    head = ("claim", "printed", "band", "measured", "verdict", "basis")
    line = f"{claim.id}: {outcome}, {measured} for {claim.expected_text}"
    return Shown(line, _table(head, [row], claim.statement))


# Objects of packages above this one have no type here.


def _site(site: Any) -> Shown:
    topology, cluster = site.plan.topology, _cluster(site.cluster)
    line = f"{topology.name or topology.id} on {cluster.line}, Storm {site.version}"
    return Shown(line, _topology(topology).html + cluster.html)


def _league(league: Any) -> Shown:
    line = f"League of {', '.join(entrant.name for entrant in league.entrants)}"
    rows = [
        (each.name, each.scheduler.name, "on measured load" if each.online else "as Nimbus's own")
        for each in league.entrants
    ]
    entrants = _table(("entrant", "scheduler", "plays"), rows, line)
    return Shown(line, entrants + _table(("parameter", "value"), league.parameters.items()))


def _study(study: Any) -> Shown:
    line = f"{study.experiment.slug}: {study.experiment.title} ({study.experiment.paper})"
    return Shown(line, f"<p>{escape(line)}</p>" + _table(("parameter", "value"), study.parameters.items()))


def _run(run: Any) -> Shown:
    manifest, of = run.manifest, run.manifest.identity
    length = f"{manifest.duration_ns / 1e9:g} s"
    line = f"run {manifest.run}: {of.experiment}, {of.variant}, seed {of.seed}, {length}, {manifest.status}"
    rows = [(name, facts.rows) for name, facts in manifest.tables.items()]
    return Shown(line, _table(("table", "rows"), rows, line))


def _metric_tables(tables: Any) -> Shown:
    line = f"metric tables of {len(tables.runs)} runs"
    head = ("experiment", "variant", "seed", "duration_s", "status")
    rows = tables.runs[list(head)].itertuples(index=False)
    return Shown(line, _table(head, rows, line) + f"<p>tables: runs, {', '.join(TABLE_NAMES)}</p>")


def _advice(advice: Any) -> Shown:
    text = str(advice.text())
    return Shown(text, f"<pre>{escape(text)}</pre>")


_SHOWN: tuple[tuple[str, str, Callable[[Any], Shown]], ...] = (
    ("storm_lab.model.topology", "Topology", _topology),
    ("storm_lab.model.cluster", "Cluster", _cluster),
    ("storm_lab.model.assignment", "Assignment", _assignment),
    ("storm_lab.schedulers.contract", "SchedulingResult", _result),
    ("storm_lab.schedulers.contract", "Decision", _decision),
    ("storm_lab.reporting.verdict", "Verdict", _verdict),
    ("storm_lab.league.reader_site", "Site", _site),
    ("storm_lab.tournament.league", "League", _league),
    ("storm_lab.runs.study", "Study", _study),
    ("storm_lab.tuplelog.reader", "Run", _run),
    ("storm_lab.pipeline.metric_tables", "MetricTables", _metric_tables),
    ("storm_lab.advice.advice", "Advice", _advice),
)
"""Module, class, and the function that shows it."""


def show_richly(formatter: Any) -> None:
    """Tell IPython's HTML formatter, and its text formatter, how to show the project's objects.

    The text is used for a list of objects, for example; the repr of a dataclass with a hundred executors is
    not readable.
    """
    plain = formatter.parent.formatters["text/plain"]
    # No other formatter shows figures until a notebook says %matplotlib inline, which replaces this one.
    formatter.parent.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _picture)
    for module, name, show in _SHOWN:
        formatter.for_type_by_name(module, name, partial(_html, show))
        plain.for_type_by_name(module, name, partial(_print, name, show))


def _picture(figure: Any) -> Any:
    # Imported here, because matplotlib is slow to import.
    from storm_lab.reporting.figures.saved import picture_of

    return picture_of(figure)


def _html(show: Callable[[Any], Shown], thing: object) -> str:
    return show(thing).html


def _print(name: str, show: Callable[[Any], Shown], thing: object, printer: Any, cycle: bool) -> None:
    printer.text(f"<{name} {show(thing).line}>")
