"""The four schedulers that MF-Storm is compared with and among, and what they answer in a scenario."""

from __future__ import annotations

from functools import cache
from typing import Any

from storm_lab.model import MeasuredLoad
from storm_lab.papers.mfstorm.starter import starter
from storm_lab.papers.mfstorm.testbed import DESKTOPS, SCENARIOS, VERSION, desktops
from storm_lab.schedulers import make_scheduler
from storm_lab.schedulers.contract import Scheduler, SchedulingResult, SchedulingView
from storm_lab.schedulers.storm.isolation import IsolationParameters, IsolationScheduler

DEFAULT = "default"
ISOLATION = "isolation"
RAS = "resource-aware"
MF_STORM = "mf-storm"
SCHEDULERS = (DEFAULT, ISOLATION, RAS, MF_STORM)

_NAMES = {DEFAULT: "default", RAS: "ras", MF_STORM: "mfstorm"}


def policy(scheduler: str, kind: str, required: int) -> Scheduler[Any]:
    """A scheduler of the comparison, for a topology that asks for so many slots.

    The isolation scheduler may take as many machines as slots are asked for, while there are machines; the
    paper does not print ``isolation.scheduler.machines``, and this one yields its node counts.
    """
    if scheduler == ISOLATION:
        return IsolationScheduler(IsolationParameters(machines=f"{kind}:{min(required, len(DESKTOPS))}"))
    return make_scheduler(_NAMES[scheduler])


def answer(
    scheduler: str, kind: str, scenario: str, *, load: MeasuredLoad | None = None, seed: int = 0
) -> SchedulingResult:
    """What the scheduler makes of a freshly submitted topology; without load, a cold start."""
    slots, required = SCENARIOS[scenario].slots, SCENARIOS[scenario].required
    view = SchedulingView((starter(kind, required),), desktops(slots), VERSION, load=load, seed=seed)
    return policy(scheduler, kind, required).schedule(view)


def played_in(scenario: str, scheduler: str) -> str:
    """The scenario whose run stands for this cell.

    Default and isolation start a worker on every node before they start a second one anywhere, and no
    scenario asks for more workers than there are nodes. So further slots stay empty and change nothing: of
    scenarios that ask for as many slots the one with the fewest a node is played, for all of them.
    """
    if scheduler not in (DEFAULT, ISOLATION) or SCENARIOS[scenario].required > len(DESKTOPS):
        return scenario
    same = [name for name, cell in SCENARIOS.items() if cell.required == SCENARIOS[scenario].required]
    return min(same, key=lambda name: SCENARIOS[name].slots)


@cache
def _cold_start(scheduler: str, kind: str, scenario: str) -> SchedulingResult:
    """The answer without load. A search that ends in a refusal takes long, and several ask."""
    return answer(scheduler, kind, scenario)


def refusal(scheduler: str, kind: str, scenario: str) -> str:
    """Why the scheduler does not place the topology; empty where it does.

    Nimbus asks again every ten seconds, but about the same cluster, so the topology never runs. Such a cell
    has no run, for a run without a tuple is none.
    """
    status = _cold_start(scheduler, kind, scenario).status[kind]
    return "" if status.scheduled else status.message


def slots_taken(scheduler: str, kind: str, scenario: str) -> int:
    """Slots that the scheduler uses, whatever was asked for; 0 where it refuses."""
    return len(set(_cold_start(scheduler, kind, scenario).assignment.slots.values()))


def comparable(scheduler: str, kind: str, scenario: str) -> bool:
    """Whether the scheduler runs the topology in the slots that were asked for.

    The resource-aware scheduler takes its own number. The paper leaves out its word counts for that reason
    (five slots instead of three), so a result counts here where both numbers agree.
    """
    return slots_taken(scheduler, kind, scenario) == SCENARIOS[scenario].required
