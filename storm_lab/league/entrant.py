"""Entrants of a league: the reader's own scheduler, or any that is installed.

An entrant is Nimbus's own scheduler. One that needs measured load takes T-Storm's place instead: Storm's
default scheduler and the initial consolidation start it, then the schedule generator runs it every 300 s,
with the smooth hand-over.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.service import Service
from storm_lab.experiments.online_scheduling import generator
from storm_lab.experiments.parameter import Parameters
from storm_lab.monitoring.consolidation import InitialConsolidation
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.storm.default import DefaultScheduler


@dataclass(frozen=True, slots=True)
class Control:
    """Who schedules: Nimbus's scheduler, what is added to Storm, and how executors move."""

    scheduler: Scheduler[Any]
    services: tuple[Service, ...]
    migration: MigrationMethod


@dataclass(frozen=True)
class Entrant:
    """A scheduler with its name in the table; an ``online`` one runs on measured load, in T-Storm's place."""

    name: str
    scheduler: Scheduler[Any]
    online: bool = False

    def control(self, parameters: Parameters) -> Control:
        """How it plays, with the settings of `storm_lab.experiments.online_scheduling`."""
        if self.online:
            services = (InitialConsolidation(), generator(self.scheduler, parameters))
            return Control(DefaultScheduler(), services, Smooth())
        return Control(self.scheduler, (), Restart())

    @property
    def source_digest(self) -> str:
        """Digest of the scheduler's class and parameters, so that a changed scheduler is played anew."""
        kind = type(self.scheduler)
        parts = [kind.__qualname__]
        for name, value in sorted(vars(kind).items()):
            if inspect.isfunction(value):
                parts.append(inspect.getsource(value))
            elif isinstance(value, bool | int | float | str | tuple) and not name.startswith("__"):
                parts.append(f"{name} = {value!r}")
        given = self.scheduler.parameters
        settings = asdict(given) if is_dataclass(given) and not isinstance(given, type) else {}
        parts.append(json.dumps(settings, sort_keys=True, default=str))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def in_notebook(self) -> bool:
        """Whether the class stands in a notebook or script, where other processes cannot find it."""
        return type(self.scheduler).__module__ == "__main__"
