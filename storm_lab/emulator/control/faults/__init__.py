"""Faults, one kind a file; found by name. A plan of them is data and is checked before the run."""

from storm_lab.emulator.control.faults.fault import FAULTS, Fault, PlannedWorld, fault_kind
from storm_lab.emulator.control.faults.plan import FaultPlan

__all__ = ["FAULTS", "Fault", "FaultPlan", "PlannedWorld", "fault_kind"]
