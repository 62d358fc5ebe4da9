"""The report of an import, as text and as JSON: what was read, what was assumed, what could not be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from storm_lab.model.topology import Component, Grouping
from storm_lab.workloads.importers.figures import Figures
from storm_lab.workloads.importers.imported import Imported, Playable
from storm_lab.workloads.importers.place import Assumed

_MOST_NAMED = 6


def report_text(imported: Imported) -> str:
    """Return the report for people."""
    return "\n".join(_lines(imported)) + "\n"


def report_json(imported: Imported) -> dict[str, Any]:
    """Return the report for programs."""
    playable = imported.playable
    return {
        "format": imported.format,
        "name": imported.name,
        "files": list(imported.files),
        "playable": playable is not None,
        "storm_version": None if playable is None else str(playable.version),
        "components": []
        if playable is None
        else [_component(playable, c.id) for c in playable.topology.components],
        "workers": None if playable is None else playable.topology.workers,
        "read": list(imported.read),
        "assumed": [asdict(item) for item in imported.assumed],
        "unusable": [
            {**asdict(item.place), "what": item.what, "reason": item.reason, "missing": item.missing}
            for item in imported.unusable
        ],
        "machines": None
        if imported.machines is None
        else [node.id for node in imported.machines.cluster.nodes],
    }


def _component(playable: Playable, name: str) -> dict[str, Any]:
    component = playable.topology.component(name)
    figures = playable.figures[name]
    source = playable.sources.get(name)
    return {
        "id": name,
        "kind": "spout" if component.is_spout else "bolt",
        "executors": component.executors,
        "tasks": component.task_count,
        "cost_us": figures.cost_us.mean,
        "from": _origin(playable, name),
        "rate_per_s": None if source is None else source.rate_per_s,
        "inputs": [
            {"from": i.source, "stream": i.stream, "grouping": i.grouping.value, "fields": list(i.fields)}
            for i in component.inputs
        ],
        "outputs": {stream: list(fields) for stream, fields in component.outputs.items()},
    }


def _origin(playable: Playable, name: str) -> str:
    if playable.calls is not None and name in playable.calls.components:
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
            yield f"  {_described(playable, component.id)}"
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


def _described(playable: Playable, name: str) -> str:
    component = playable.topology.component(name)
    figures = playable.figures[name]
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
