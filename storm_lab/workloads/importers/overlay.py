"""An overlay file: what a topology's own files do not state, or what overrides them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storm_lab.errors import check_known
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.documents import ABSENT, Notes, Part, read_bounded, yaml_part
from storm_lab.workloads.importers.draft import Draft, Row
from storm_lab.workloads.importers.figures import Defaults
from storm_lab.workloads.importers.plain import (
    check_entry,
    clock_of,
    keys_of,
    put_figures,
    put_topology,
    read_rows,
)
from storm_lab.workloads.importers.schema import OVERLAY, checked, converted


@dataclass(frozen=True, slots=True)
class Overlay:
    """The content of an overlay file. ``part`` knows the lines; ``folder`` holds its files of records.

    ``cost_mhz`` is the clock at which its costs were measured, and those that an importer measures or finds
    in statistics; None: not stated.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    part: Part = ABSENT
    folder: Path = Path()

    @property
    def cost_mhz(self) -> float | None:
        """The clock that ``measured_on`` states."""
        return clock_of(self.given.get("measured_on"), "overlay")

    @property
    def properties(self) -> dict[str, str]:
        """Values for ``${...}``."""
        given = self.given.get("properties", {}).items()
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given}

    @property
    def defaults(self) -> Defaults:
        """What to assume where nothing is stated."""
        given = self.given.get("defaults", {})
        kinds = dict.fromkeys(("cost_us", "per_call", "rate_per_s"), float)
        return Defaults(**converted(given, bytes=int, keys=keys_of, **kinds))

    def rows(self, component: str) -> list[Row] | None:
        """Return the records that it gives to a spout, if any; `UserError` if the file cannot be read."""
        name = self.given.get("components", {}).get(component, {}).get("records")
        return None if name is None else read_rows(name, self.folder, f"records of {component}", inside=False)

    def lay_over(self, draft: Draft) -> None:
        """Override the draft; `UserError` for an unknown component or a file that cannot be read."""
        put_topology(draft, self.given.get("topology", {}))
        factor = (self.cost_mhz or REFERENCE_MHZ) / REFERENCE_MHZ
        for name, entry in self.given.get("components", {}).items():
            where = str(self.part.at(("components", name)).place)
            check_known("component", name, draft.components, "the topology", field=where)
            component = draft.components[name]
            check_entry(self.part, name, entry, bolt="" if component.is_spout else "is a bolt")
            if "emits" in entry and name in draft.calls.components:
                place = self.part.at(("components", name, "emits")).place
                why = "its own code was run: what that emits is played"
                draft.notes.cannot_use(place, f"emits of {name}", why)
            tick_s = component.tick_s
            put_figures(component, entry, factor, self.folder, inside=False)
            if draft.measured_here and name in draft.calls.ticks:
                # It was run with this period, of which only the ticks that emit may have been kept.
                component.tick_s = tick_s
            if "cost_us" in entry:
                # This cost holds for every call, so it replaces what an importer found for single inputs.
                for item in component.inputs:
                    item.cost_us = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to read: values for variables, the overlay, whether Python may be run, and for how long."""

    properties: Mapping[str, str]
    environment: Mapping[str, str] | None
    overlay: Overlay
    run_python: bool
    python_seconds: float


def load_overlay(path: Path) -> Overlay:
    """Read an overlay file; `UserError` if it cannot be read or violates its schema."""
    part = yaml_part(read_bounded(path, field="overlay"), path.name, Notes())
    return Overlay(checked(part, OVERLAY), part, path.parent)
