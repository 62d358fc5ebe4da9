"""Constants for all runs at once, instead of their own: those of a machine, or a reader's, set by name.

``storm-lab calibrate --live`` writes those of a machine to a file, by generation of Storm.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from storm_lab.emulator.control.times import ControlTimes, ExecutorsBegin, Timers, timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError, check_known
from storm_lab.experiments.experiment import Describe, RunSpec
from storm_lab.experiments.parameter import Parameter, ParameterValue, read_values
from storm_lab.live.suite.scene import C1_ONLY
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.model import StormVersion
from storm_lab.model.constant import constants_of
from storm_lab.model.settings import TIMERS

SCHEMA = "machine/1"
FILE_NAME = "constants.json"

_GENERATION = re.compile(rf"[0-9]{{1,4}}(\.[0-9]{{1,4}})+({re.escape(C1_ONLY)})?")


@dataclass(frozen=True, slots=True)
class MachineConstants:
    """Constants by generation of Storm (``0.9``, ``2.8``), the scenes they were fitted on, and the machine.

    A generation whose name ends with `C1_ONLY` is for code compiled by the JVM's first compiler alone.
    """

    constants: Mapping[str, Mapping[str, float]]
    scenes: Mapping[str, tuple[str, ...]]
    machine: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Digest of the constants."""
        return hashlib.sha256(json.dumps(self.constants, sort_keys=True).encode()).hexdigest()

    def cost(self, version: StormVersion, before: CostModel | None = None) -> CostModel:
        """Cost model with the constants of the version's generation, or of the nearest one.

        All other constants are those of ``before``, or the defaults.
        """
        generation = ".".join(map(str, version.parts[:2]))
        if generation not in self.constants:
            known = [name for name in self.constants if not name.endswith(C1_ONLY)] or list(self.constants)
            generation = min(known, key=partial(_distance, version))
        return replace(before or CostModel(), **self.constants[generation])

    def applied(self, spec: EmulationSpec) -> EmulationSpec:
        """The same run with these costs."""
        return replace(spec, cost=self.cost(spec.version, spec.cost))

    def as_notebook_value(self, folder: Path) -> str:
        """Write them into a folder and return the path, from which `given_constants` reads them."""
        path = folder / FILE_NAME
        self.write(path)
        return str(path)

    def write(self, path: Path) -> None:
        """Write the file; it is replaced as a whole."""
        document = {
            "schema": SCHEMA,
            "machine": dict(self.machine),
            "generations": {
                name: {"constants": dict(values), "scenes": list(self.scenes.get(name, ()))}
                for name, values in self.constants.items()
            },
        }
        write_atomic(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _distance(version: StormVersion, generation: str) -> tuple[int, int, str]:
    """Distance in major versions, within one in minor versions; the first name decides between equal ones."""
    numbers = map(int, generation.removesuffix(C1_ONLY).split("."))
    major, minor, *_ = (abs(one - other) for one, other in zip(numbers, version.parts, strict=False))
    return major, 0 if major else minor, generation


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
        return ",".join(f"{name}={value}".lower() for name, value in sorted(self.values.items()))

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
        what = "period, time-out or switch of Storm's daemons"
        if isinstance(default, ExecutorsBegin):
            found.append(Parameter(name, str(default), what, choices=tuple(map(str, ExecutorsBegin))))
            continue
        unit = "" if isinstance(default, bool) else "s"
        found.append(Parameter(name, 0.0 if default is None else default, what, within=(None, None, unit)))
    return tuple(found)


Constants = MachineConstants | OwnConstants
"""Constants that may replace those of a run."""


def given_constants(text: str | None) -> Constants | None:
    """Read a machine's file, or ``name=value,...``; None for None. Raises `UserError` as their readers do."""
    if text is None:
        return None
    by_name = "=" in text and not Path(text).is_file()
    return OwnConstants.parsed(text) if by_name else read_constants(Path(text))


def read_document(path: Path, schema: str, remedy: str) -> dict[str, Any]:
    """Read a JSON file with constants; `UserError` if it cannot be read or has another schema."""
    refusal = partial(UserError, field="constants", value=str(path), remedy=remedy)
    try:
        # A device, such as /dev/zero, has no end.
        if path.exists() and not path.is_file():
            raise refusal("is not a regular file")
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise refusal(f"the constants cannot be read: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise refusal(f"not a file of such constants: its schema must be {schema!r}")
    return document


def read_constants(path: Path) -> MachineConstants:
    """Read a file of constants; `UserError` if it is of another kind, or a value is not allowed."""
    remedy = "write one with storm-lab calibrate --live"
    document = read_document(path, SCHEMA, remedy)
    generations = document.get("generations")
    if not isinstance(generations, dict) or not generations:
        raise UserError("the file has no generations", field="generations", value=str(path), remedy=remedy)
    machine = document.get("machine", {})
    if not isinstance(machine, dict):
        raise UserError("must be a JSON object", field="machine", value=machine, remedy=remedy)
    values = {name: _values(name, each) for name, each in generations.items()}
    scenes = {name: _scenes(name, each.get("scenes", [])) for name, each in generations.items()}
    for own in values.values():
        replace(CostModel(), **own)  # the cost model checks the ranges
    return MachineConstants(values, scenes, machine)


def _values(generation: str, part: object) -> dict[str, float]:
    known = {constant.name for constant in constants_of(CostModel())}
    given = part.get("constants") if isinstance(part, dict) else None
    if not isinstance(given, dict) or _GENERATION.fullmatch(generation) is None:
        remedy = 'write for example "2.8": {"constants": {"wake_us": 50}}'
        message = "not a generation with constants"
        raise UserError(message, field="generations", value=generation, remedy=remedy)
    return {name: _number(generation, name, value, known) for name, value in given.items()}


def _number(generation: str, name: str, value: object, known: set[str]) -> float:
    check_known("constant", name, known, "the cost model", field=f"generations.{generation}")
    field, remedy = f"generations.{generation}.{name}", "write a number such as 50"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError("must be a number", field=field, value=value, remedy=remedy)
    try:
        return float(value)
    except OverflowError as error:
        raise UserError("is too large", field=field, value=value, remedy=remedy) from error


def _scenes(generation: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        field, remedy = f"generations.{generation}.scenes", "leave it out, or list the names of scenes"
        raise UserError("must be a list of texts", field=field, value=given, remedy=remedy)
    return tuple(given)


def read_costs(home: Path, given: Path | None = None) -> dict[str, CostModel]:
    """Return cost models by generation, from ``given`` or the file beside recorded runs, if there is one."""
    path = given or home / FILE_NAME
    if given is None and not path.is_file():
        return {}
    found = read_constants(path)
    return {name: replace(CostModel(), **values) for name, values in found.constants.items()}


def on_machine(specs: Iterable[RunSpec], machine: Constants | None) -> tuple[RunSpec, ...]:
    """Return the runs with these constants, which change the runs' names; unchanged for None."""
    if machine is None:
        return tuple(specs)
    return tuple(
        replace(
            spec,
            describe=partial(_described, spec.describe, machine),
            inputs={**spec.inputs, "machine": machine.digest},
        )
        for spec in specs
    )


def _described(describe: Describe, machine: Constants, spec: RunSpec) -> EmulationSpec:
    return machine.applied(describe(spec))
