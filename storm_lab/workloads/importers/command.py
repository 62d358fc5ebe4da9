"""The command ``storm-lab import``, and its report of what was read, assumed and not used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from storm_lab.machine.options import (
    FILE,
    FiniteRange,
    examples,
    file_option,
    json_option,
    overlay_option,
    print_json,
)
from storm_lab.model.topology import Component, Grouping
from storm_lab.workloads.importers.documents import Assumed
from storm_lab.workloads.importers.export import check_export, export_loadgen, export_topology
from storm_lab.workloads.importers.figures import Figures
from storm_lab.workloads.importers.imported import Imported, Playable
from storm_lab.workloads.importers.importing import PYTHON_S, import_topology

_MOST_NAMED = 6


@click.command(
    "import",
    epilog=examples(
        "storm-lab import topology.yaml --overlay costs.yaml",
        "storm-lab import my-project/topologies/wordcount.py --run-python --out wordcount.yaml",
        "storm-lab import http://ui.example:8080/api/v1/topology/wc-1-1700000000",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@overlay_option
@file_option("--machines", "YAML of machines, or the name of a paper's cluster.")
@click.option(
    "--run-python", is_flag=True, help="Run Python components over their input: their code, with your rights."
)
@click.option(
    "--python-seconds",
    default=PYTHON_S,
    show_default=True,
    type=FiniteRange(1, 3600),
    help="How long Python may run.",
)
@click.option("--env", "environment", is_flag=True, help="Take ${ENV-NAME} of Flux from the environment.")
@file_option("--out", "Write the topology as storm-lab YAML.")
@file_option("--out-loadgen", "Write it for storm-loadgen, to play it on real Storm.")
@json_option
def import_command(
    files: tuple[str, ...], out: str | None, out_loadgen: str | None, as_json: bool, **reading: Any
) -> None:
    """Read a topology written for Storm: Flux, storm-loadgen, streamparse, Storm's UI, or storm-lab YAML.

    Prints what was read, what was assumed and what could not be used. Exit status 0: the topology can be
    played; 1: something is missing; 2: the files have none of these formats. Without --run-python no code of
    the files is run.
    """
    for option, name in (("--out", out), ("--out-loadgen", out_loadgen)):
        if name is not None:
            check_export(Path(name), option)
    imported = import_topology(*files, **reading)
    written: tuple[Path, ...] = ()
    if out is not None and imported.playable is not None:
        written = export_topology(imported.playable, Path(out))
    lost: list[str] = []
    if out_loadgen is not None and imported.playable is not None:
        lost = export_loadgen(imported.playable, Path(out_loadgen))
        written = (*written, Path(out_loadgen))
    if as_json:
        print_json(report_json(imported) | {"written": [str(path) for path in written], "lost": lost})
    else:
        click.echo(report_text(imported), nl=False)
        for path in written:
            click.echo(f"written: {path}")
        if lost:
            click.echo(f"lost in {out_loadgen}: {'; '.join(lost)}")
    if imported.playable is None:
        sys.exit(1)


def report_text(imported: Imported) -> str:
    """Return the report for people."""
    return "\n".join(_lines(imported)) + "\n"


def report_json(imported: Imported) -> dict[str, Any]:
    """Return the report for programs."""
    playable, machines = imported.playable, imported.machines
    return {
        "format": imported.format,
        "name": imported.name,
        "files": list(imported.files),
        "playable": playable is not None,
        "storm_version": str(playable.version) if playable else None,
        "components": [_component(playable, c) for c in playable.topology.components] if playable else [],
        "workers": playable.topology.workers if playable else None,
        "read": list(imported.read),
        "assumed": [asdict(item) for item in imported.assumed],
        "unusable": [
            {**asdict(item.place), "what": item.what, "reason": item.reason, "missing": item.missing}
            for item in imported.unusable
        ],
        "machines": [node.id for node in machines.cluster.nodes] if machines else None,
    }


def _component(playable: Playable, component: Component) -> dict[str, Any]:
    name = component.id
    source = playable.sources.get(name)
    return {
        "id": name,
        "kind": "spout" if component.is_spout else "bolt",
        "executors": component.executors,
        "tasks": component.task_count,
        "cost_us": playable.figures[name].cost_us.mean,
        "from": _origin(playable, name),
        "rate_per_s": None if source is None else source.rate_per_s,
        "inputs": [
            {"from": i.source, "stream": i.stream, "grouping": i.grouping.value, "fields": list(i.fields)}
            for i in component.inputs
        ],
        "outputs": {stream: list(fields) for stream, fields in component.outputs.items()},
    }


def _origin(playable: Playable, name: str) -> str:
    if name in playable.calls.components:
        return "its own code"
    return "given records" if name in playable.given else "figures"


def _lines(imported: Imported) -> Iterator[str]:
    playable = imported.playable
    yield f"{imported.name} ({imported.format}), from {', '.join(imported.files)}"
    if playable is not None:
        topology = playable.topology
        count = sum(component.executors for component in topology.components)
        yield (
            f"  {_count(len(topology.components), 'component')}, {_count(count, 'executor')}, "
            f"{_count(topology.workers, 'worker')}, Storm {playable.version}"
        )
        for component in topology.components:
            yield f"  {_described(playable, component)}"
    for line in imported.read:
        yield f"  {line}"
    if imported.machines is not None:
        cluster = imported.machines.cluster
        slots = sum(len(node.ports) for node in cluster.nodes)
        nodes, racks = _count(len(cluster.nodes), "node"), _count(len(cluster.racks), "rack")
        yield f"  on {nodes} with {_count(slots, 'slot')} in {racks}"
    yield from _section("Assumed", list(_grouped(imported.assumed)))
    yield from _section("Could not be used", [str(item) for item in imported.unusable if not item.missing])
    yield from _section("Missing, so that it cannot be played", [str(item) for item in imported.missing])
    if playable is not None:
        yield "Playable."


def _described(playable: Playable, component: Component) -> str:
    name, figures = component.id, playable.figures[component.id]
    words = [f"{'spout' if component.is_spout else 'bolt'} {name}: {_count(component.executors, 'executor')}"]
    if component.task_count != component.executors:
        words.append(_count(component.task_count, "task"))
    source = playable.sources.get(name)
    if source is not None:
        words.append("never empty" if source.rate_per_s is None else f"{source.rate_per_s:.6g} records/s")
    words += _costs(component, figures)
    if _origin(playable, name) != "figures":
        words.append(_origin(playable, name))
    else:
        words += [f"{emits.per_call:.4g} on {stream}" for stream, emits in figures.emits.items()]
    for item in component.inputs:
        by = f" {', '.join(item.fields)}" if item.grouping is Grouping.FIELDS else ""
        stream = "" if item.stream == "default" else f".{item.stream}"
        words.append(f"from {item.source}{stream} by {item.grouping.value}{by}")
    return "; ".join(words)


def _costs(component: Component, figures: Figures) -> list[str]:
    """Return the cost of a call, by input if each input has its own cost."""
    by_input = figures.input_cost_us
    if not component.inputs or len(by_input) < len(component.inputs):
        return [f"{figures.cost_us} us a call"]
    return [f"{cost} us a call from {source}" for (source, _), cost in by_input.items()]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"{title} ({len(lines)}):"
        yield from (f"  {line}" for line in lines)


def _grouped(assumed: tuple[Assumed, ...]) -> Iterator[str]:
    """Yield one line for all assumptions that are alike."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for item in assumed:
        groups.setdefault((item.what, item.value, item.reason), []).append(item.component)
    for (what, value, reason), names in groups.items():
        shown = ", ".join(names[:_MOST_NAMED])
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"{what} {value}, of {shown}{more} ({reason})"
