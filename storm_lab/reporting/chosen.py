"""Numbers that were chosen with a result in view: fitted constants, and inputs that no paper prints.

A reader can see at once how much freedom there was, and on which claims it was spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.experiments.claim import number, with_unit
from storm_lab.experiments.parameter import Parameter
from storm_lab.papers.registry import experiments


@dataclass(frozen=True, slots=True)
class ConstantRecord:
    """A constant, as its owner hands it over; ``chosen_on``: the claims that a fitted one was chosen on."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    fitted: bool
    chosen_on: tuple[str, ...] = ("recordings of R-Storm's runs",)

    @property
    def value_text(self) -> str:
        """Value with unit."""
        return with_unit(number(self.value), self.unit)

    @property
    def range_text(self) -> str:
        """Allowed range with unit."""
        return f"{number(self.low)} to {with_unit(number(self.high), self.unit)}"


@dataclass(frozen=True, slots=True)
class ChosenNumber:
    """One number that was chosen on results.

    Attributes:
        name: of the constant, or of the parameter.
        owner: "cost model", or the experiments that have the parameter.
        value: with its unit.
        allowed: the range, with its unit.
        source: why this value.
        claims: ids of the claims that it was chosen on, or what else served.
    """

    name: str
    owner: str
    value: str
    allowed: str
    source: str
    claims: tuple[str, ...]


def chosen_numbers(constants: Sequence[ConstantRecord]) -> tuple[ChosenNumber, ...]:
    """Fitted constants, then inputs in the order of the experiments; one that several share stands once."""
    found = [
        ChosenNumber(each.name, "cost model", each.value_text, each.range_text, each.source, each.chosen_on)
        for each in constants
        if each.fitted
    ]
    shared: dict[tuple[object, ...], tuple[Parameter, list[str]]] = {}
    for experiment in experiments():
        for parameter in experiment.parameters:
            if parameter.chosen_on:
                key = (parameter.name, parameter.default, parameter.chosen_on)
                shared.setdefault(key, (parameter, []))[1].append(experiment.slug)
    for parameter, owners in shared.values():
        found.append(
            ChosenNumber(
                parameter.name,
                ", ".join(owners),
                with_unit(_text(parameter.default), parameter.unit),
                parameter.range_text,
                parameter.doc,
                parameter.chosen_on,
            )
        )
    return tuple(found)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
