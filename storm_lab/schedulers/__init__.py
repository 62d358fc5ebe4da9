"""Scheduling policies. All take a read-only view and return assignment, status and reasons."""

from storm_lab.schedulers.ask import check_result, check_view
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
