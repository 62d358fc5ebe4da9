"""An overlay file: what a topology's own files do not say, or say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from storm_lab.errors import UserError, unknown_name
from storm_lab.workloads.build import REFERENCE_MHZ
from storm_lab.workloads.importers.defaults import Defaults
from storm_lab.workloads.importers.documents import Part, read_bounded, yaml_part
from storm_lab.workloads.importers.draft import Draft
from storm_lab.workloads.importers.given import Row, read_rows
from storm_lab.workloads.importers.place import Notes
from storm_lab.workloads.importers.schema import OVERLAY, checked
from storm_lab.workloads.importers.written import clock_of, keys_of, put_figures, version_of


@dataclass(frozen=True, slots=True)
class Overlay:
    """What an overlay file says. ``part`` knows the lines, ``folder`` is where its files of records lie.

    ``cost_mhz`` is the clock at which its costs were measured, and those that an importer measures or finds
    in statistics; None: nobody said.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    part: Part | None = None
    folder: Path = Path()

    @property
    def cost_mhz(self) -> float | None:
        """The clock that ``measured_on`` states."""
        return clock_of(self.given.get("measured_on"), "overlay")

    @property
    def properties(self) -> dict[str, str]:
        """Values for ``${...}``."""
        return {key: _as_text(value) for key, value in self.given.get("properties", {}).items()}

    @property
    def defaults(self) -> Defaults:
        """What to assume where nobody says anything."""
        given = dict(self.given.get("defaults", {}))
        base = Defaults()
        return Defaults(
            cost_us=float(given.get("cost_us", base.cost_us)),
            per_call=float(given.get("per_call", base.per_call)),
            bytes=int(given.get("bytes", base.bytes)),
            rate_per_s=float(given.get("rate_per_s", base.rate_per_s)),
            keys=keys_of(given["keys"]) if "keys" in given else base.keys,
        )

    def rate(self, component: str) -> float | None:
        """The rate of a spout, where it is a number."""
        rate = self.given.get("components", {}).get(component, {}).get("rate_per_s")
        return float(rate) if isinstance(rate, int | float) else None

    def rows(self, component: str) -> list[Row] | None:
        """The records that it gives to a spout, if it does.

        Raises:
            UserError: the file cannot be read.
        """
        name = self.given.get("components", {}).get(component, {}).get("records")
        return None if name is None else read_rows(name, self.folder, f"records of {component}", inside=False)

    def lay_over(self, draft: Draft) -> dict[str, list[Row]]:
        """Write over the draft; returns the records that it gives to spouts.

        Raises:
            UserError: it names a component that the topology does not have, or a file that cannot be read.
        """
        if not self.given:
            return {}
        self._settings(draft)
        factor = (self.cost_mhz or REFERENCE_MHZ) / REFERENCE_MHZ
        rows: dict[str, list[Row]] = {}
        for name, entry in self.given.get("components", {}).items():
            component = draft.components.get(name)
            if component is None:
                raise self._unknown(name, draft)
            if not component.is_spout:
                self._check_bolt(name, entry)
            found = put_figures(component, entry, factor, self.folder, inside=False)
            if "cost_us" in entry:
                # The cost of every call, whatever an importer found for single inputs.
                for item in component.inputs:
                    item.cost_us = None
            if found:
                rows[name] = found
        return rows

    def _settings(self, draft: Draft) -> None:
        given = self.given.get("topology", {})
        draft.name = given.get("name", draft.name)
        for name in ("workers", "ackers", "max_spout_pending"):
            if name in given:
                setattr(draft, name, int(given[name]))
        if "message_timeout_s" in given:
            draft.message_timeout_s = float(given["message_timeout_s"])
        if "storm_version" in given:
            draft.say_version(version_of(given["storm_version"]))

    def _place(self, *path: str) -> str:
        return "overlay" if self.part is None else str(self.part.at(path).place)

    def _unknown(self, name: str, draft: Draft) -> UserError:
        where = self._place("components", name)
        return unknown_name("component", name, draft.components, "the topology", field=where)

    def _check_bolt(self, name: str, entry: Mapping[str, Any]) -> None:
        for key in ("rate_per_s", "anchored", "replays", "records"):
            if key in entry:
                raise UserError(
                    f"{name} is a bolt, and {key} is for spouts",
                    field=self._place("components", name, key),
                    remedy="leave it out",
                )


def load_overlay(path: Path) -> Overlay:
    """Read an overlay file.

    Raises:
        UserError: it cannot be read or does not keep to its schema.
    """
    part = yaml_part(read_bounded(path, field="overlay"), path.name, Notes())
    return Overlay(checked(part, OVERLAY), part, path.parent)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
