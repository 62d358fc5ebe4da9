"""Constants of the emulator and timers of Storm that a reader sets by name, for all runs at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from storm_lab.emulator.control.times import ControlTimes, Timers, timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.parameter import Parameter, ParameterValue, read_values
from storm_lab.model.constant import constants_of
from storm_lab.model.settings import TIMERS


@dataclass(frozen=True, slots=True)
class OwnConstants:
    """Values by name: costs, durations of the control plane, ZooKeeper's speed, and Storm's timers."""

    values: Mapping[str, ParameterValue]

    @classmethod
    def parsed(cls, text: str) -> OwnConstants:
        """Parse a text such as ``memory_slowdown=5,timers_drift=false``.

        Raises:
            UserError: an unknown name, or a value that is out of range or of another type.
        """
        found = cls(read_values(settable_parameters(), text.split(","), "the emulator"))
        # `Timers` checks its own lower bounds.
        found.set_in(Timers())
        return found

    @property
    def text(self) -> str:
        """The text that `parsed` reads, ordered by name."""
        return ",".join(f"{name}={value!r}".lower() for name, value in sorted(self.values.items()))

    def as_notebook_value(self, folder: Path) -> str:
        """Text from which a notebook reads them; no file is written."""
        return self.text

    @property
    def digest(self) -> str:
        """Digest of the values."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def applied(self, spec: EmulationSpec) -> EmulationSpec:
        """The same run with these values in place of its own."""
        models = ("cost", "times", "zookeeper")
        found = replace(spec, **{name: self.set_in(getattr(spec, name)) for name in models})
        before = spec.timers or timers_of(spec.version, spec.settings)
        timers = self.set_in(before)
        if timers == before:
            return found
        rest = {key: value for key, value in spec.settings.items() if key not in TIMERS}
        return replace(found, timers=timers, settings=rest)

    def set_in(self, model: Any) -> Any:
        """Return a model with those of the values that it has a field for."""
        names = {item.name for item in fields(model)}
        return replace(model, **{name: value for name, value in self.values.items() if name in names})


@cache
def settable_parameters() -> tuple[Parameter, ...]:
    """All values that may be set, with unit, range and source."""
    found = []
    for model in (CostModel(), ControlTimes(), ZooKeeperPlan()):
        for each in constants_of(model):
            unit = "" if each.unit == "1" else each.unit
            found.append(Parameter(each.name, each.value, each.source, within=(each.low, each.high, unit)))
    for name, default in asdict(Timers()).items():
        unit = "" if isinstance(default, bool) else "s"
        what = "period, time-out or switch of Storm's daemons"
        found.append(Parameter(name, 0.0 if default is None else default, what, within=(None, None, unit)))
    return tuple(found)
