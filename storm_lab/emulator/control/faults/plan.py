"""Fault plans: which faults strike when, as data, checked as a whole before a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from storm_lab.emulator.control.clock import Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults.fault import FAULTS, Fault, PlannedWorld, check_time
from storm_lab.errors import UserError


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults in any order of time; those of one instant strike in the plan's order."""

    faults: tuple[Fault, ...] = ()

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, Any]]) -> FaultPlan:
        """Read a plan from plain data: each row names its kind under ``fault``, the rest are its fields.

        Raises:
            UserError: a row without a kind, an unknown kind, an unknown or missing field.
        """
        faults: list[Fault] = []
        for index, row in enumerate(rows):
            entry = f"faults[{index}]"
            fields = dict(row)
            kind = fields.pop("fault", None)
            if not isinstance(kind, str):
                raise UserError(
                    "the entry does not say what happens",
                    field=f"{entry}.fault",
                    value=kind,
                    remedy=f"choose one of {', '.join(FAULTS.names())}",
                )
            faults.append(FAULTS.build(kind, fields, field=entry))
        return cls(tuple(faults))

    def check(self, world: PlannedWorld) -> None:
        """Walk through the plan in order of time and refuse the first entry that cannot be.

        Raises:
            UserError: names the entry by its place in the plan.
        """
        for index, fault in enumerate(self.faults):
            check_time(fault, world, f"faults[{index}]")
        for index, fault in sorted(enumerate(self.faults), key=lambda item: item[1].at_s):
            fault.check(world, f"faults[{index}]")

    def start(self, control: ControlPlane) -> None:
        """Put the faults on the clock."""
        for index, fault in enumerate(self.faults):
            control.clock.at(ns(fault.at_s), Rank.FAULT, f"fault:{index:06}", partial(fault.strike, control))
