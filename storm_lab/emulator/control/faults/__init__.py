"""Faults, found by name. A fault plan is plain data and is checked before the run."""

from storm_lab.emulator.control.faults.fault import Fault, FaultPlan, PlannedWorld, fault_kind

__all__ = ["Fault", "FaultPlan", "PlannedWorld", "fault_kind"]
