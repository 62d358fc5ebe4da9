"""Entrants of a league: the user's own scheduler, or any that is installed.

An entrant is used as Nimbus's own scheduler. One that needs measured load takes T-Storm's place instead:
Storm's default scheduler and the initial consolidation start the topology; then the schedule generator runs
the entrant every 300 s, with the smooth hand-over.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.experiments.online_scheduling import generator
from storm_lab.experiments.parameter import Parameters
from storm_lab.identity.value import value_digest
from storm_lab.league.fresh_code import fresh_copy
from storm_lab.monitoring.online_scheduling import InitialConsolidation
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.read_only import with_read_only_views
from storm_lab.schedulers.storm.default import DefaultScheduler


@dataclass(frozen=True)
class Entrant:
    """A scheduler with its name in the table. An ``online`` one runs on measured load, in T-Storm's place."""

    name: str
    scheduler: Scheduler[Any]
    online: bool = False
    _code: str = field(init=False, repr=False, compare=False, default="")
    """Digest of code that only a notebook has, with its class attributes and global variables."""

    def __post_init__(self) -> None:
        if self.in_notebook:
            object.__setattr__(self, "_code", value_digest(self.scheduler))

    def applied(self, run: EmulationSpec, parameters: Parameters) -> EmulationSpec:
        """Return the run under it, with the settings of `storm_lab.experiments.online_scheduling`.

        Each run gets a `fresh_copy`, so that what a scheduler leaves behind does not affect the next run.
        Raises `UserError` as `fresh_copy`, or if a run has changed what the scheduler uses of a notebook.
        """
        if self._code and value_digest(self.scheduler) != self._code:
            message = "its class, or a global variable that it uses, has changed since the entrant was made"
            remedy = "keep state in self, set in __init__, and make the entrant again"
            raise UserError(message, field="scheduler", value=self.scheduler.name, remedy=remedy)
        scheduler = with_read_only_views(fresh_copy(self.scheduler))
        if not self.online:
            return replace(run, scheduler=scheduler)
        services = (*run.services, InitialConsolidation(), generator(scheduler, parameters))
        return replace(run, scheduler=DefaultScheduler(), services=services, migration=Smooth())

    @property
    def in_notebook(self) -> bool:
        """Whether the class is defined in a notebook or script, where other processes cannot find it."""
        return type(self.scheduler).__module__ == "__main__"
