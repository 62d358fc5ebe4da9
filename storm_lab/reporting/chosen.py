"""Numbers that were chosen with a result in view: fitted constants, and inputs that no paper prints.

A reader can see at once how much freedom there was, and on which claims it was spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from storm_lab.emulator.constant import constants_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.experiments.claim import number, with_unit
from storm_lab.experiments.ledger import load_claims
from storm_lab.papers.registry import experiments


@dataclass(frozen=True, slots=True)
class ConstantRecord:
    """A constant of the cost model, as its owner hands it over."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    source: str
    fitted: bool

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
        ChosenNumber(
            constant.name,
            "cost model",
            constant.value_text,
            constant.range_text,
            constant.source,
            ("recordings of R-Storm's runs",),
        )
        for constant in constants
        if constant.fitted
    ]
    found += _zookeepers()
    owners: dict[tuple[object, ...], list[str]] = {}
    inputs = {}
    for experiment in experiments():
        for parameter in experiment.parameters:
            if parameter.chosen_on:
                key = (parameter.name, parameter.default, parameter.chosen_on)
                owners.setdefault(key, []).append(experiment.slug)
                inputs[key] = parameter
    for key, parameter in inputs.items():
        found.append(
            ChosenNumber(
                parameter.name,
                ", ".join(owners[key]),
                with_unit(_text(parameter.default), parameter.unit),
                parameter.range_text,
                parameter.doc,
                parameter.chosen_on,
            )
        )
    return tuple(found)


def _zookeepers() -> list[ChosenNumber]:
    """What ZooKeeper's disks take: set to what the printed numbers of workers and offsets write."""
    plans = {
        "twitter-zk-limit-dedicated": ZooKeeperPlan.dedicated(),
        "twitter-zk-limit-db-hw": ZooKeeperPlan(),
    }
    return [
        ChosenNumber(
            "writes_per_s",
            load_claims().claim(claim).experiment,
            with_unit(number(plan.writes_per_s), entry.unit),
            f"{number(entry.low)} to {with_unit(number(entry.high), entry.unit)}",
            f"heartbeats of the printed {load_claims().claim(claim).expected_text}, one in 3 s each, beside "
            "333 offsets a second",
            (claim,),
        )
        for claim, plan in plans.items()
        for entry in constants_of(plan)
        if entry.name == "writes_per_s"
    ]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
