"""Constants of one machine, by generation of Storm, and runs with them in the place of their own.

``storm-lab calibrate --live`` writes the file that they stand in. A reader's own constants
(`storm_lab.runs.own_constants`) may be given instead of a machine's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from storm_lab.emulator.constant import constants_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError, check_known
from storm_lab.experiments.experiment import Describe, RunSpec
from storm_lab.league.settled import SettledRun
from storm_lab.live.suite.scene import C1_ONLY
from storm_lab.machine.whole_file import write_whole
from storm_lab.model import StormVersion
from storm_lab.runs.own_constants import OwnConstants

SCHEMA = "machine/1"
FILE_NAME = "constants.json"


@dataclass(frozen=True, slots=True)
class MachineConstants:
    """Constants by generation of Storm (``0.9``, ``2.8``), what they were fitted on, and on what machine.

    A generation whose name ends with `C1_ONLY` is its code as the first compiler alone leaves it.
    """

    constants: Mapping[str, Mapping[str, float]]
    scenes: Mapping[str, tuple[str, ...]]
    machine: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Digest of the constants."""
        return hashlib.sha256(json.dumps(self.constants, sort_keys=True).encode()).hexdigest()

    def cost(self, version: StormVersion, before: CostModel | None = None) -> CostModel:
        """A cost model with the constants of the version's generation, else of the nearest one.

        The other constants are those of ``before``, or the defaults.
        """
        generation = ".".join(map(str, version.parts[:2]))
        if generation not in self.constants:
            major = version.parts[0]
            known = [name for name in self.constants if not name.endswith(C1_ONLY)] or list(self.constants)
            generation = min(known, key=lambda name: (abs(int(name.split(".")[0]) - major), name))
        return replace(before or CostModel(), **self.constants[generation])

    def applied(self, spec: EmulationSpec) -> EmulationSpec:
        """The same run at these costs."""
        return replace(spec, cost=self.cost(spec.version, spec.cost))

    def kept(self, folder: Path) -> str:
        """What `given_constants` reads them from: a file that is written into the folder."""
        path = folder / FILE_NAME
        self.write(path)
        return str(path)

    def write(self, path: Path) -> None:
        """Write the file; it is replaced whole."""
        document = {
            "schema": SCHEMA,
            "machine": dict(self.machine),
            "generations": {
                name: {"constants": dict(values), "scenes": list(self.scenes.get(name, ()))}
                for name, values in self.constants.items()
            },
        }
        write_whole(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


Constants = MachineConstants | OwnConstants
"""What may stand in the place of a run's own constants."""


def given_constants(text: str | None) -> Constants | None:
    """Those of a file of a machine, or of ``name=value,...``; None for None; `UserError` as both."""
    if text is None:
        return None
    by_name = "=" in text and not Path(text).is_file()
    return OwnConstants.parsed(text) if by_name else read_constants(Path(text))


def read_constants(path: Path) -> MachineConstants:
    """Read a file of constants; `UserError`: another kind of file, or what the cost model does not allow."""
    remedy = "write one with storm-lab calibrate --live"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"the constants cannot be read: {error}"
        raise UserError(message, field="constants", value=str(path), remedy=remedy) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        message = f"these are no constants of a machine: the schema must be {SCHEMA!r}"
        raise UserError(message, field="constants", value=str(path), remedy=remedy)
    generations = document.get("generations")
    if not isinstance(generations, dict) or not generations:
        raise UserError("there are none in it", field="generations", value=str(path), remedy=remedy)
    values = {name: _values(name, each) for name, each in generations.items()}
    scenes = {name: tuple(map(str, each.get("scenes", ()))) for name, each in generations.items()}
    found = MachineConstants(values, scenes, dict(document.get("machine", {})))
    for name in values:
        # Ranges are the cost model's own.
        replace(CostModel(), **found.constants[name])
    return found


def _values(generation: str, part: object) -> dict[str, float]:
    known = {constant.name for constant in constants_of(CostModel())}
    given = part.get("constants") if isinstance(part, dict) else None
    if not isinstance(given, dict) or not generation.removesuffix(C1_ONLY).replace(".", "").isdigit():
        raise UserError("is no generation with constants", field="generations", value=generation)
    for name, value in given.items():
        check_known("constant", name, known, "the cost model", field=f"generations.{generation}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError("must be a number", field=f"generations.{generation}.{name}", value=value)
    return {name: float(value) for name, value in given.items()}


def read_costs(home: Path, given: Path | None = None) -> dict[str, CostModel]:
    """Cost models by generation: of a given file, else beside recorded runs; `UserError` if unusable."""
    path = given or home / FILE_NAME
    if given is None and not path.is_file():
        return {}
    found = read_constants(path)
    return {name: replace(CostModel(), **values) for name, values in found.constants.items()}


def on_machine(specs: Iterable[RunSpec], machine: Constants | None) -> tuple[RunSpec, ...]:
    """The runs with these constants; as they are without. What they are called tells them apart."""
    if machine is None:
        return tuple(specs)
    return tuple(
        replace(
            spec,
            describe=cast(Describe, partial(_described, spec.describe, machine)),
            inputs={**spec.inputs, "machine": machine.digest},
        )
        for spec in specs
    )


def _described(describe: Describe, machine: Constants, spec: RunSpec) -> EmulationSpec | SettledRun:
    """As ``describe`` has it, but for these constants."""
    found: EmulationSpec | SettledRun = describe(spec)
    if isinstance(found, SettledRun):
        return replace(found, spec=machine.applied(found.spec))
    return machine.applied(found)
