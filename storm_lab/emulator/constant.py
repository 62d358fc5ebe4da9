"""Constants with their papers: every physical or fitted number stands once, with unit, range and source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from storm_lab.model.checks import check_number


@dataclass(frozen=True, slots=True)
class Constant:
    """What is known of one constant: its unit, allowed range, and where the value comes from."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    fitted: bool


_UNITS = {"mb": "MB", "mhz": "MHz"} | {unit: unit for unit in ("us", "ms", "s", "cores", "bytes", "calls")}
"""Unit by the ending of a constant's name."""


def constant(
    value: float, allowed: tuple[float, float], source: str, *, unit: str = "", fitted: bool = False
) -> Any:
    """A dataclass field that carries a constant's unit, the range that is ``allowed``, and source.

    Without a ``unit`` it is the one that the field's name ends with; a name that ends with none is of a pure
    number.
    """
    low, high = allowed
    facts = {"unit": unit, "low": low, "high": high, "source": source, "fitted": fitted}
    return field(default=value, metadata=facts)


def constants_of(model: Any) -> Iterator[Constant]:
    """The constants of a cost model instance, in order of declaration."""
    for item in fields(model):
        if "unit" in item.metadata:
            unit = item.metadata["unit"] or _UNITS.get(item.name.rpartition("_")[2], "1")
            known = {**item.metadata, "unit": unit}
            yield Constant(name=item.name, value=getattr(model, item.name), **known)


def check_constants(model: Any) -> None:
    """Refuse a constant outside its physical range: `UserError` names it, its value and the range."""
    for entry in constants_of(model):
        check_number(
            "a physical constant", entry.name, entry.value, low=entry.low, high=entry.high, unit=entry.unit
        )
