"""Stages built from experiments: a run under Storm's default scheduler, played with an entrant's instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.online_scheduling import PARAMETERS
from storm_lab.experiments.parameter import Parameter, Parameters, check_parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import SETTLE_S
from storm_lab.model import StormVersion


@dataclass(frozen=True)
class ExperimentStage:
    """One run of an experiment with an exchangeable scheduler; everything else is as its parameters say.

    Attributes:
        experiment: slug.
        own: the experiment's parameters.
        runs: makes the experiment's runs, among them the one that is used.
        variant: its variant, or a pattern such as ``removal-*``; the first run that matches is used.
        without_disturbances: leave out the experiment's faults and its own scheduled moves, so that
            schedulers can be compared in a steady state.
    """

    experiment: str
    own: tuple[Parameter, ...]
    runs: Callable[[Parameters], tuple[RunSpec, ...]]
    variant: str
    without_disturbances: bool = False

    @cached_property
    def declared(self) -> tuple[Parameter, ...]:
        """The experiment's parameters without its trials, then those of monitors and schedule generator."""
        own = tuple(item for item in self.own if item.name != "trials" and "_tried" not in item.name)
        names = {item.name for item in self.own}
        return own + tuple(item for item in PARAMETERS if item.name not in names | {"duration_s"})

    @cached_property
    def version(self) -> StormVersion:
        """The Storm version of the run."""
        return self.run({}).storm_version

    @property
    def sample_every(self) -> int:
        """One root tuple in this many is logged with its executions, as in the experiment's run."""
        return self.run({}).sample_every

    def inputs(self, parameters: Parameters) -> Mapping[str, str]:
        """Digests of the inputs that the run reads."""
        return self.run(parameters).inputs

    def files(self, parameters: Parameters) -> Mapping[str, str]:
        """Paths of these inputs."""
        return self.run(parameters).files

    def describe(self, entrant: Entrant, spec: RunSpec) -> EmulationSpec:
        """Describe the run with the entrant's scheduler and the services that it needs to use load."""
        run = self.run({**spec.parameters, **spec.files, "seeds": (spec.seed,)})
        base = run.describe(run)
        if self.without_disturbances:
            base = replace(base, faults=FaultPlan(), services=())
        steady = not base.faults.faults and not base.services
        settle_s = SETTLE_S if steady else None
        described = replace(base, placement=None, sample_every=spec.sample_every, settle_s=settle_s)
        return entrant.applied(described, spec.parameters)

    def run(self, values: Mapping[str, object]) -> RunSpec:
        """Return the experiment's own run with these values, Storm's scheduler and the first seed.

        Values that the experiment does not declare, such as those of entrants, are ignored.

        Raises:
            UserError: these values leave the run out.
        """
        names = {item.name for item in self.own}
        given = {name: value for name, value in values.items() if name in names}
        first = check_parameters(self.own, given, self.experiment).with_first_seed()
        if "trials" in first:
            first = first.changed(trials=False)
        for run in self.runs(first):
            if fnmatchcase(run.variant, self.variant):
                return run
        message = "does not exist with these parameters"
        remedy = "remove the parameters that select among its runs"
        raise UserError(message, field=f"run of {self.experiment}", value=self.variant, remedy=remedy)
