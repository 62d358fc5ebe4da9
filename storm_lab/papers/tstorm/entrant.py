"""Other schedulers on T-Storm's Word Count: the reader's own, or any that is installed.

An entrant is Nimbus's own scheduler. One that needs measured load takes T-Storm's place instead: Storm's
default scheduler and the initial consolidation start it, then the schedule generator runs it every 300 s,
with the smooth hand-over.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameters, check_parameters
from storm_lab.monitoring.consolidation import InitialConsolidation
from storm_lab.papers.tstorm.blade_runs import generator, on_blades
from storm_lab.papers.tstorm.testbed import VERSION
from storm_lab.papers.tstorm.word_count import PARAMETERS, plan
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.text import load_text

EXPERIMENT = "scheduler-league"
"""Folder of these runs; no paper's experiment, so no claims."""


@dataclass(frozen=True)
class Entrant:
    """A scheduler with its name in the table; an ``online`` one runs on measured load, in T-Storm's place."""

    name: str
    scheduler: Scheduler[Any]
    online: bool = False

    def describe(self, spec: RunSpec) -> EmulationSpec:
        """Describe one run."""
        plans = (plan(spec),)
        if self.online:
            services = (InitialConsolidation(), generator(self.scheduler, spec.parameters))
            return on_blades(spec, plans, DefaultScheduler(), services, Smooth())
        return on_blades(spec, plans, self.scheduler, (), Restart())

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


def league_parameters(given: Mapping[str, object]) -> Parameters:
    """Parameters of Word Count for a league; the gammas do not matter.

    Raises:
        UserError: unknown name, wrong type or out of range.
    """
    declared = tuple(parameter for parameter in PARAMETERS if parameter.name != "gammas")
    return check_parameters(declared, given, EXPERIMENT)


def league_runs(entrants: Sequence[Entrant], parameters: Parameters) -> tuple[RunSpec, ...]:
    """One run for every entrant and seed.

    Raises:
        UserError: the text cannot be read.
    """
    text = load_text(parameters.text("text"))
    values = parameters.only(name for name in parameters if name not in ("seeds", "text"))
    return tuple(
        RunSpec(
            experiment=EXPERIMENT,
            variant=entrant.name,
            seed=seed,
            parameters=values.changed(online=entrant.online),
            describe=entrant.describe,
            storm_version=VERSION,
            inputs={"text": text.digest, "scheduler": entrant.source_digest},
            files={"text": parameters.text("text")},
            sample_every=20,
        )
        for entrant in entrants
        for seed in dict.fromkeys(parameters.integers("seeds"))
    )
