"""Figures of our own YAML files, which keep to a schema, into drafts: topologies and overlays share them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storm_lab.errors import unknown_name
from storm_lab.model.machines import MACHINE_TYPES
from storm_lab.model.version import StormVersion
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.draft import DraftComponent
from storm_lab.workloads.importers.figures import Keys, KeyShape, Spread
from storm_lab.workloads.importers.given import Row, read_rows


def clock_of(given: Mapping[str, Any] | None, where: str) -> float | None:
    """The clock that ``measured_on`` states, in MHz of the cost model's cores; None where it is not there.

    Raises:
        UserError: there is no machine type of that name.
    """
    if given is None:
        return None
    if "type" in given:
        if given["type"] not in MACHINE_TYPES:
            field = f"{where} measured_on.type"
            raise unknown_name("machine type", given["type"], MACHINE_TYPES, "storm_lab", field=field)
        return MACHINE_TYPES[given["type"]].core_mhz
    return float(given["speed"]) * REFERENCE_MHZ if "speed" in given else float(given["mhz"])


def spread_of(given: Any, factor: float) -> Spread:
    """A cost: a number or a mapping with its mean; ``factor`` brings it to the reference clock."""
    if isinstance(given, int | float):
        return Spread(float(given)).scaled(factor)
    mean = float(given["mean"])
    return Spread(
        mean,
        float(given.get("stddev", 0.0)),
        float(given.get("min", 0.0)),
        float(given.get("max", math.inf)),
    ).scaled(factor)


def keys_of(given: Mapping[str, Any]) -> Keys:
    """How a field's values are spread."""
    return Keys(
        int(given["distinct"]),
        KeyShape(given.get("shape", KeyShape.UNIFORM)),
        float(given.get("exponent", 1.0)),
    )


def version_of(text: str) -> StormVersion:
    """A version that the schema has let pass."""
    return StormVersion.parse(text)


def put_figures(
    component: DraftComponent, given: Mapping[str, Any], factor: float, folder: Path, *, inside: bool
) -> list[Row]:
    """Write what a component's entry says over what the draft has; returns the rows of its ``records``.

    ``inside``: files may lie in ``folder`` and below it only.

    Raises:
        UserError: the file of records cannot be read.
    """
    for name in ("executors", "tasks"):
        if name in given:
            setattr(component, name, int(given[name]))
    if "rate_per_s" in given:
        rate = given["rate_per_s"]
        component.rate_per_s = rate if isinstance(rate, str) else float(rate)
    component.anchored = given.get("anchored", component.anchored)
    component.replays = given.get("replays", component.replays)
    if "cost_us" in given:
        component.cost_us = spread_of(given["cost_us"], factor)
    if "server" in given:
        component.server = given["server"]["name"]
        component.server_us = float(given["server"]["us"])
    for name in ("cpu_points", "memory_mb", "offheap_mb"):
        if name in given.get("resources", {}):
            setattr(component, name, float(given["resources"][name]))
    if "tick" in given:
        component.tick_s = float(given["tick"]["every_s"])
        if "cost_us" in given["tick"]:
            component.tick_cost_us = float(given["tick"]["cost_us"]) * factor
    for stream, emits in given.get("emits", {}).items():
        _put_emits(component, stream, emits)
    if "records" not in given:
        return []
    return read_rows(given["records"], folder, f"records of {component.id}", inside=inside)


def _put_emits(component: DraftComponent, name: str, given: Any) -> None:
    stream = component.stream(name)
    if isinstance(given, int | float):
        stream.per_call = float(given)
        return
    if "fields" in given:
        stream.fields = tuple(given["fields"])
    if "per_call" in given:
        stream.per_call = float(given["per_call"])
    if "bytes" in given:
        stream.bytes = int(given["bytes"])
    if "per_tick" in given:
        stream.per_tick = float(given["per_tick"])
    for field, keys in given.get("keys", {}).items():
        stream.keys[field] = keys_of(keys)
