"""What JupyterLab shows of topologies, clusters, scheduling results, sites, leagues, runs and verdicts.

The classes themselves know nothing of it. `show_richly` tells IPython by name how to show them, as HTML and
as a line of text, so that nothing is imported before the first of them is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from storm_lab.experiments.claim import number
from storm_lab.model import Assignment, Cluster, Topology
from storm_lab.pipeline.metric_tables import TABLE_NAMES
from storm_lab.reporting.verdict import Verdict, measured_text
from storm_lab.schedulers.contract import Decision, SchedulingResult

Text: TypeAlias = Callable[[Any], str]
"""From an object of the project to what is shown of it. `Any`: some are of rooms above this one."""

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
    head = ("component", "kind", "executors", "tasks", "subscribes to")
    return topology_svg(topology) + table(head, rows, topology_line(topology))


def topology_line(topology: Topology) -> str:
    """Its name, and what it asks for."""
    ackers = "the version's own number of" if topology.ackers is None else str(topology.ackers)
    return f"{topology.name or topology.id}: {topology.workers} workers, {ackers} ackers"


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
    return table(head, rows, cluster_line(cluster))


def cluster_line(cluster: Cluster) -> str:
    """How large it is."""
    return f"{len(cluster.nodes)} nodes in {len(cluster.racks)} racks"


def assignment_html(assignment: Assignment) -> str:
    """A row for each worker, with its executors."""
    rows = [
        (slot.node, slot.port, len(executors), ", ".join(str(executor) for executor in executors))
        for slot, executors in sorted(assignment.workers().items())
    ]
    return table(("node", "port", "executors", "which"), rows, assignment_line(assignment))


def assignment_line(assignment: Assignment) -> str:
    """How far it spreads."""
    workers, nodes = len(assignment.workers()), len(assignment.nodes_used())
    return f"{len(assignment.slots)} executors in {workers} workers on {nodes} nodes"


def result_html(result: SchedulingResult) -> str:
    """Status of each topology, the assignment, and the reasons where they were asked for."""
    status = [
        (topology, "placed" if each.scheduled else "not placed", each.message)
        for topology, each in result.status.items()
    ]
    shown = table(("topology", "status", "says"), status) + assignment_html(result.assignment)
    return shown + (_decisions_html(result.decisions) if result.decisions else "")


def result_line(result: SchedulingResult) -> str:
    """What became of each topology, and how far the assignment spreads."""
    status = [f"{topology}: {each.message}" for topology, each in result.status.items()]
    return "; ".join([*status, assignment_line(result.assignment)])


def decision_html(decision: Decision) -> str:
    """The slot that was chosen, and every candidate with its score."""
    rows = [
        (each.slot, "" if each.score is None else number(each.score), each.ruled_out_by or "")
        for each in decision.candidates
    ]
    head = ("candidate", decision.score_name or "score", "ruled out by")
    return _decisions_html([decision]) + (table(head, rows) if rows else "")


def decision_line(decision: Decision) -> str:
    """Who went where, and why."""
    note = f": {decision.note}" if decision.note else ""
    return f"{decision.executor} -> {decision.choice or 'none'}{note}"


def _decisions_html(decisions: Sequence[Decision]) -> str:
    rows = [
        (str(each.executor), each.choice or "none", len(each.candidates), each.note) for each in decisions
    ]
    return table(("executor", "slot", "candidates", "note"), rows, "in order of decision")


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


def verdict_line(verdict: Verdict) -> str:
    """What came out, beside what is printed."""
    measured = measured_text(verdict) or "nothing"
    return f"{verdict.claim.id}: {verdict.outcome.value}, {measured} for {verdict.claim.expected_text}"


def site_html(site: Any) -> str:
    """Topology and machines."""
    return topology_html(site.plan.topology) + cluster_html(site.cluster)


def site_line(site: Any) -> str:
    """Topology and machines, briefly."""
    topology = site.plan.topology
    return f"{topology.name or topology.id} on {cluster_line(site.cluster)}, Storm {site.version}"


def league_html(league: Any) -> str:
    """Who plays, and the parameters."""
    rows = [
        (each.name, each.scheduler.name, "on measured load" if each.online else "as Nimbus's own")
        for each in league.entrants
    ]
    return table(("entrant", "scheduler", "plays"), rows, league_line(league)) + _parameters_html(
        league.parameters
    )


def league_line(league: Any) -> str:
    """Who plays."""
    return f"League of {', '.join(entrant.name for entrant in league.entrants)}"


def study_html(study: Any) -> str:
    """Which experiment, and its parameters."""
    return f"<p>{escape(study_line(study))}</p>" + _parameters_html(study.parameters)


def study_line(study: Any) -> str:
    """Which experiment."""
    return f"{study.experiment.slug}: {study.experiment.title} ({study.experiment.paper})"


def _parameters_html(parameters: Mapping[str, object]) -> str:
    return table(("parameter", "value"), parameters.items())


def run_html(run: Any) -> str:
    """What was played, how it went, and how long its tables are."""
    rows = [(name, facts.rows) for name, facts in run.manifest.tables.items()]
    return table(("table", "rows"), rows, run_line(run))


def run_line(run: Any) -> str:
    """What was played, and how it went."""
    manifest, of = run.manifest, run.manifest.identity
    length = f"{manifest.duration_ns / 1e9:g} s"
    return f"run {manifest.run}: {of.experiment}, {of.variant}, seed {of.seed}, {length}, {manifest.status}"


def tables_html(tables: Any) -> str:
    """The runs, and what else can be asked for."""
    shown = ("experiment", "variant", "seed", "duration_s", "status")
    rows = tables.runs[list(shown)].itertuples(index=False)
    return table(shown, rows, tables_line(tables)) + f"<p>tables: runs, {', '.join(TABLE_NAMES)}</p>"


def tables_line(tables: Any) -> str:
    """Of how many runs."""
    refused = f", {len(tables.refused)} refused" if tables.refused else ""
    return f"metric tables of {len(tables.runs)} runs{refused}"


def advice_html(advice: Any) -> str:
    """The answer as the command line prints it."""
    return f"<pre>{escape(advice.text())}</pre>"


def advice_line(advice: Any) -> str:
    """The answer as the command line prints it."""
    return str(advice.text())


_SHOWN: tuple[tuple[str, str, Text, Text], ...] = (
    ("storm_lab.model.topology", "Topology", topology_html, topology_line),
    ("storm_lab.model.cluster", "Cluster", cluster_html, cluster_line),
    ("storm_lab.model.assignment", "Assignment", assignment_html, assignment_line),
    ("storm_lab.schedulers.contract", "SchedulingResult", result_html, result_line),
    ("storm_lab.schedulers.contract", "Decision", decision_html, decision_line),
    ("storm_lab.reporting.verdict", "Verdict", verdict_html, verdict_line),
    ("storm_lab.league.reader_site", "Site", site_html, site_line),
    ("storm_lab.tournament.league", "League", league_html, league_line),
    ("storm_lab.runs.study", "Study", study_html, study_line),
    ("storm_lab.tuplelog.reader", "Run", run_html, run_line),
    ("storm_lab.pipeline.metric_tables", "MetricTables", tables_html, tables_line),
    ("storm_lab.advice.advice", "Advice", advice_html, advice_line),
)
"""Module, class, and how it is shown as HTML and as a line."""


def show_richly(formatter: Any) -> None:
    """Tell IPython's HTML formatter how to show the project's objects, and the text formatter beside it.

    Text is what a list of them shows, for example; a dataclass of a hundred executors is no readable line.
    """
    plain = formatter.parent.formatters["text/plain"]
    # Nothing else shows a figure until a notebook says %matplotlib inline, which takes this one's place.
    formatter.parent.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _picture)
    for module, name, html, line in _SHOWN:
        formatter.for_type_by_name(module, name, html)
        plain.for_type_by_name(module, name, _printer(name, line))


def _picture(figure: Any) -> Any:
    # Here, for matplotlib takes long to import.
    from storm_lab.reporting.figures.saved import picture_of

    return picture_of(figure)


def _printer(name: str, line: Text) -> Callable[[Any, Any, bool], None]:
    return lambda shown, printer, cycle: printer.text(f"<{name} {line(shown)}>")
