"""Converts recordings from their long form, with samples, hosts and provenance, to the package's short form.

A topology of the long form has an entry ``topology`` with ``components`` (id, kind, executors, tasks,
cpu_points_per_executor, behaviour) and ``streams`` (from, to, grouping), and ``runs`` with ``placement``
under ``placement_columns`` and means under ``steady_state``. What a component does is its ``does``, or as the
package defines it, or else looked for in the prose of its behaviour. ``extra_runs`` belong to topologies that
are described in prose only; each has ``runs``, or one ``run``, and is read if the package knows its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from storm_lab.errors import UserError

_COLUMNS = ("component", "first_task", "last_task", "host_index", "port_index")
_SPOUT_PHRASES = (("word", "word"), ("line", "line"))
_BOLT_PHRASES = (
    ("keeps", "shorten"),
    ("append", "lengthen"),
    ("probability", "filter"),
    ("re-emits", "pass"),
)
"""Phrases of a behaviour and their meaning; the first one found counts."""

Known = Mapping[str, Sequence[Mapping[str, Any]]]
"""Components in the short form, by topology."""


def short_name(name: str) -> str:
    """The package's name for a topology: ``PageLoad`` becomes ``page-load``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def is_detailed(document: Mapping[str, Any]) -> bool:
    """Whether the topologies of a document are in the long form."""
    return any("topology" in entry for entry in document["topologies"].values())


def to_short_form(document: Mapping[str, Any], known: Known, lengths: Sequence[int]) -> dict[str, Any]:
    """Convert the document to the short form.

    ``known`` and ``lengths`` supply what only the package contains. In the result, ``left_out`` names the
    extra runs whose topology is unknown.

    Raises:
        UserError: a grouping is not shuffle, or it is unknown what a component does.
        KeyError, TypeError: something is missing or has the wrong type.
    """
    topologies, lengths_found = {}, list(lengths)
    for name, entry in document["topologies"].items():
        own = short_name(name)
        topologies[own] = _topology(own, entry, known.get(own, ()))
        lengths_found = entry["topology"].get("tuple", {}).get("spout_text_lengths_chars", lengths_found)
    extra = document.get("extra_runs", {})
    read = {short_name(name): entry for name, entry in extra.items() if short_name(name) in known}
    for own, entry in read.items():
        # For a run without a name, only the prose says whose placement it has.
        runs = entry.get("runs") or {"even" if "even scheduler" in entry["what"] else "extra": entry["run"]}
        topologies[own] = {"components": known[own], "runs": {s: _run(run) for s, run in runs.items()}}
    return {
        "left_out": [name for name in extra if short_name(name) not in read],
        "schema": document["schema"],
        "line_lengths": document.get("line_lengths", lengths_found),
        "topologies": topologies,
    }


def _topology(name: str, entry: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    inputs: dict[str, list[str]] = {component["id"]: [] for component in entry["topology"]["components"]}
    for stream in entry["topology"]["streams"]:
        if stream.get("grouping", "shuffle") != "shuffle":
            raise UserError(
                "only shuffle grouping is supported",
                field=f"{name}: {stream['from']} to {stream['to']}",
                value=stream["grouping"],
            )
        inputs[stream["to"]].append(stream["from"])
    components, does = [], {row["id"]: row["does"] for row in known}
    for component in entry["topology"]["components"]:
        own = component["id"]
        row = {
            "id": own,
            "executors": component["executors"],
            "does": component.get("does") or does.get(own) or _behaviour_from_prose(name, component),
            "inputs": inputs[own],
            "cpu_points": component.get("cpu_points_per_executor"),
        }
        if component.get("tasks", row["executors"]) != row["executors"]:
            row["tasks"] = component["tasks"]
        if not inputs[own]:
            row["sleep_ms"] = entry["topology"].get("spout_sleep_ms", 0)
        components.append(row)
    return {"components": components, "runs": {s: _run(run) for s, run in entry["runs"].items()}}


def _behaviour_from_prose(topology: str, component: Mapping[str, Any]) -> str:
    prose = str(component.get("behaviour", ""))
    choices = _SPOUT_PHRASES if component.get("kind") == "spout" else _BOLT_PHRASES
    for phrase, behaviour in choices:
        if phrase in prose:
            return behaviour
    message = "the recording does not say what the component does"
    remedy = f"add does: one of {', '.join(behaviour for _, behaviour in choices)}"
    raise UserError(message, field=f"{topology}.{component['id']}", value=prose, remedy=remedy)


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    columns = list(run.get("placement_columns", _COLUMNS))
    # An executor with one task may name it only once.
    places = [columns.index(column if column in columns else "task") for column in _COLUMNS]
    short: dict[str, Any] = {"placement": [[row[place] for place in places] for row in run["placement"]]}
    steady = run.get("steady_state")
    if steady:
        short["sink"] = steady["sink_total_per_10s"]["mean"]
        components = steady.get("components", {})
        short["emitted"] = _means(components, ("emitted_per_10s", "mean"))
        short["executed"] = _means(components, ("executed_per_10s_mean_derived",))
    elif "sink_total_per_10s" in run:
        short["sink"], short["emitted"] = run["sink_total_per_10s"], run["component_emitted_per_10s"]
    return short


def _means(components: Mapping[str, Any], path: Iterable[str]) -> dict[str, float]:
    found = {}
    for name, value in components.items():
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[name] = float(value)
    return found
