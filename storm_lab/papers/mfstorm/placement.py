"""The four schedulers that MF-Storm's experiments compare, and their results in each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from storm_lab.model import MeasuredLoad
from storm_lab.papers.mfstorm.starter import starter
from storm_lab.papers.mfstorm.testbed import DESKTOPS, SCENARIOS, VERSION, Scenario, desktops
from storm_lab.schedulers import make_scheduler
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.isolation import IsolationParameters, IsolationScheduler

DEFAULT = "default"
ISOLATION = "isolation"
RAS = "resource-aware"
MF_STORM = "mf-storm"
SCHEDULERS = (DEFAULT, ISOLATION, RAS, MF_STORM)

_NAMES = {RAS: "ras", MF_STORM: "mfstorm"}
"""Names of the registry that differ from those in variants."""


def policy(scheduler: str, kind: str, required: int) -> Scheduler[Any]:
    """A scheduler of the comparison, for a topology that asks for ``required`` slots.

    Isolation may take one machine per requested slot, up to all. The paper does not print
    ``isolation.scheduler.machines``; this value yields its node counts.
    """
    if scheduler == ISOLATION:
        return IsolationScheduler(IsolationParameters(machines=f"{kind}:{min(required, len(DESKTOPS))}"))
    return make_scheduler(_NAMES.get(scheduler, scheduler))


def scheduling_result(
    scheduler: str, kind: str, scenario: Scenario, *, load: MeasuredLoad | None = None, seed: int = 0
) -> SchedulingResult:
    """The scheduler's result for a newly submitted topology; without ``load``, a cold start."""
    topology, cluster = starter(kind, scenario.required), desktops(scenario.slots)
    view = SchedulingView((topology,), cluster, VERSION, load=load, seed=seed)
    return policy(scheduler, kind, scenario.required).schedule(view)


def representative_scenario(scenario: str, scheduler: str) -> str:
    """The scenario whose run is used for this cell.

    The default and isolation schedulers start a worker on every node before they start a second one anywhere,
    and no scenario asks for more workers than there are nodes. So additional slots stay empty, and only the
    scenario with one slot per node is played of those that ask for the same number.
    """
    same_request = {"S4": "S2", "S5": "S3", "S6": "S3"}
    return same_request.get(scenario, scenario) if scheduler in (DEFAULT, ISOLATION) else scenario


@cache
def _cold_start(scheduler: str, kind: str, scenario: str) -> SchedulingResult:
    """The result without load. Cached, because a search that ends in a refusal takes long."""
    return scheduling_result(scheduler, kind, SCENARIOS[scenario])


def refusal(scheduler: str, kind: str, scenario: str) -> str:
    """Why the scheduler never places the topology, so that the cell has no run; empty if it does."""
    status = _cold_start(scheduler, kind, scenario).status[kind]
    return "" if status.scheduled else status.message


def playable_cells(
    kind: str, scenarios: Sequence[str] = tuple(SCENARIOS), schedulers: Sequence[str] = SCHEDULERS
) -> tuple[tuple[str, str], ...]:
    """The cells (scenario, scheduler) of a topology's grid in which the scheduler places it."""
    return tuple(
        (scenario, scheduler)
        for scenario in scenarios
        for scheduler in schedulers
        if not refusal(scheduler, kind, scenario)
    )


def slots_taken(scheduler: str, kind: str, scenario: str) -> int:
    """Number of slots that the scheduler uses, whatever was asked for; 0 if it refuses."""
    return len(set(_cold_start(scheduler, kind, scenario).assignment.slots.values()))


def comparable(scheduler: str, kind: str, scenario: str) -> bool:
    """Whether the scheduler runs the topology in exactly the number of slots that was asked for.

    The resource-aware scheduler chooses its own number. The paper omits its word counts for that reason (five
    slots instead of three), so only cells in which both numbers agree are compared.
    """
    return slots_taken(scheduler, kind, scenario) == SCENARIOS[scenario].required
