"""Numbers that were chosen with a result in view: fitted constants, and inputs that no paper prints.

The list shows how much freedom there was and on which claims it was used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from storm_lab.experiments.claim import number, with_unit
from storm_lab.experiments.parameter import Parameter
from storm_lab.model.constant import Constant
from storm_lab.model.grouped import grouped
from storm_lab.papers.registry import experiments


@dataclass(frozen=True, slots=True)
class ChosenNumber:
    """A constant or a parameter that was chosen on results; texts with units.

    ``owner`` is "cost model", or the experiments that have the parameter. ``source`` says why it has this
    value, ``claims`` on which claims or other data it was chosen.
    """

    name: str
    owner: str
    value: str
    allowed: str
    source: str
    claims: tuple[str, ...]


def value_text(constant: Constant) -> str:
    """Value of a constant with its unit."""
    return with_unit(number(constant.value), constant.unit)


def range_text(constant: Constant) -> str:
    """Allowed range of a constant with its unit."""
    return f"{number(constant.low)} to {with_unit(number(constant.high), constant.unit)}"


def chosen_numbers(constants: Sequence[Constant]) -> tuple[ChosenNumber, ...]:
    """Fitted constants, then inputs in the order of the experiments; those only in a reading come last.

    A number shared by several experiments or readings appears once, with all claims that it was chosen on.
    Values that are only tried with one seed are left out (`storm_lab.reporting.tally.tried_once`).
    """
    fitted = [
        ChosenNumber(
            each.name,
            "cost model",
            value_text(each),
            range_text(each),
            each.source,
            each.chosen_on or ("recordings of R-Storm's runs",),
        )
        for each in constants
        if each.fitted
    ]
    uses = [
        _Use(parameter, experiment.slug, parameter.chosen_on)
        for experiment in experiments()
        for parameter in experiment.parameters
        if parameter.chosen_on
    ]
    for experiment in experiments():
        known = {parameter.name: parameter for parameter in experiment.parameters}
        for trial in experiment.chosen:
            for name, value in trial.changes.items():
                # A text names one of two ways to read a paper; only numbers can be fitted.
                free = not isinstance(value, str) and name not in trial.indifferent
                if trial.reading and trial.chosen_on and free:
                    changed = replace(known[name], default=value)
                    uses.append(_Use(changed, experiment.slug, trial.chosen_on, f"reading: {trial.label}. "))
    inputs = grouped(uses, lambda use: (use.parameter.name, use.parameter.default))
    return (*fitted, *map(_input, inputs.values()))


class _Use(NamedTuple):
    """One use of an input that was chosen on claims: in an experiment, or only in one of its readings."""

    parameter: Parameter
    experiment: str
    claims: Sequence[str]
    reading: str = ""


def _input(uses: Sequence[_Use]) -> ChosenNumber:
    parameter = uses[0].parameter
    return ChosenNumber(
        parameter.name,
        ", ".join(dict.fromkeys(use.experiment for use in uses)),
        with_unit(_text(parameter.default), parameter.unit),
        parameter.range_text,
        "".join(dict.fromkeys(use.reading for use in uses)) + parameter.doc,
        tuple(dict.fromkeys(claim for use in uses for claim in use.claims)),
    )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
