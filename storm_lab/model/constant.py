"""Documented constants: every physical or fitted number is defined once, with unit, range and source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from storm_lab.model.checks import check_number


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant with its unit, its allowed range, and the source of its value.

    ``chosen_on`` names the claims that a fitted one was chosen on; none for recordings of R-Storm's runs.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    fitted: bool
    chosen_on: tuple[str, ...] = ()


_UNITS = {"mb": "MB", "mhz": "MHz"} | {unit: unit for unit in ("us", "ms", "s", "cores", "bytes", "calls")}
"""Unit by the last part of a constant's name."""


def constant(
    value: float, allowed: tuple[float, float], source: str, *, unit: str = "", fitted: bool = False
) -> Any:
    """Define a dataclass field with a constant's ``allowed`` range, source and unit.

    By default the unit follows from the last part of the field's name, or the constant is a pure number.
    """
    low, high = allowed
    facts = {"unit": unit, "low": low, "high": high, "source": source, "fitted": fitted}
    return field(default=value, metadata=facts)


def constants_of(model: Any) -> Iterator[Constant]:
    """Iterate over the constants of a cost model instance, in order of declaration."""
    for item in fields(model):
        if "unit" in item.metadata:
            unit = item.metadata["unit"] or _UNITS.get(item.name.rpartition("_")[2], "1")
            known = {**item.metadata, "unit": unit}
            yield Constant(name=item.name, value=getattr(model, item.name), **known)


def check_constants(model: Any) -> None:
    """Refuse a constant outside its physical range; the `UserError` names it, its value and the range."""
    for one in constants_of(model):
        check_number("a physical constant", one.name, one.value, low=one.low, high=one.high, unit=one.unit)
