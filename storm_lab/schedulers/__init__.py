"""Scheduling policies. All take a read-only view and return assignment, status and reasons."""

from storm_lab.schedulers.contract import (
    Candidate,
    Decision,
    Journal,
    NoParameters,
    Scheduler,
    SchedulingResult,
    SchedulingView,
    TopologyStatus,
)
from storm_lab.schedulers.registry import make_scheduler, scheduler_class, scheduler_names
from storm_lab.schedulers.view_checks import check_result, check_view

__all__ = [
    "Candidate",
    "Decision",
    "Journal",
    "NoParameters",
    "Scheduler",
    "SchedulingResult",
    "SchedulingView",
    "TopologyStatus",
    "check_result",
    "check_view",
    "make_scheduler",
    "scheduler_class",
    "scheduler_names",
]
