"""Runs with the constants of a measured machine in the place of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, RunSpec
from storm_lab.league.settled import SettledRun
from storm_lab.runs.live_constants import MachineConstants


@dataclass(frozen=True)
class OnMachine:
    """Describes a run as another description does, but for the machine's constants; travels to processes."""

    other: Describe
    machine: MachineConstants

    def describe(self, spec: RunSpec) -> EmulationSpec | SettledRun:
        """Describe one run."""
        found: EmulationSpec | SettledRun = self.other(spec)
        if isinstance(found, SettledRun):
            return replace(found, spec=self._on(found.spec))
        return self._on(found)

    def _on(self, spec: EmulationSpec) -> EmulationSpec:
        return replace(spec, cost=self.machine.cost(spec.version, spec.cost))


def on_machine(specs: Iterable[RunSpec], machine: MachineConstants | None) -> tuple[RunSpec, ...]:
    """The runs on that machine; as they are without one. What they are called tells them apart."""
    if machine is None:
        return tuple(specs)
    return tuple(
        replace(
            spec,
            describe=cast(Describe, OnMachine(spec.describe, machine).describe),
            inputs={**spec.inputs, "machine": machine.digest},
        )
        for spec in specs
    )
