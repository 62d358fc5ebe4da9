"""Stages of a league: what the entrants schedule, and how a run of one of them is described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol, cast

from storm_lab.experiments.experiment import Describe, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, check_parameters
from storm_lab.league.entrant import Entrant
from storm_lab.league.settled import SettledRun
from storm_lab.model import StormVersion

EXPERIMENT = "scheduler-league"
"""Folder of these runs; no paper's experiment, so no claims."""

SAMPLE_EVERY = 20


class Stage(Protocol):
    """A topology with its input on machines, under any scheduler."""

    @property
    def declared(self) -> tuple[Parameter, ...]:
        """Its parameters, the seeds among them."""

    @property
    def version(self) -> StormVersion:
        """The Storm version that is played."""

    @property
    def sample_every(self) -> int:
        """The executions of one root tuple in so many are logged."""

    def inputs(self, parameters: Parameters) -> Mapping[str, str]:
        """Digests of what is read, by name."""

    def files(self, parameters: Parameters) -> Mapping[str, str]:
        """Where that lies, by the parameter that says so."""

    def describe(self, entrant: Entrant, spec: RunSpec) -> SettledRun:
        """Describe the run of an entrant."""


def stage_parameters(stage: Stage, given: Mapping[str, object]) -> Parameters:
    """Parameters of a league on a stage; `UserError`: unknown name, wrong type or out of range."""
    return check_parameters(stage.declared, given, EXPERIMENT)


def stage_runs(
    stage: Stage, entrants: Sequence[Entrant], parameters: Parameters, setting: str = ""
) -> tuple[RunSpec, ...]:
    """One run for every entrant and seed; ``setting`` stands before the entrants' names, where there is one.

    Raises:
        UserError: the input cannot be read.
    """
    inputs, files = stage.inputs(parameters), stage.files(parameters)
    values = parameters.only(name for name in parameters if name != "seeds" and name not in files)
    return tuple(
        RunSpec(
            experiment=EXPERIMENT,
            variant=f"{setting}-{entrant.name}" if setting else entrant.name,
            seed=seed,
            parameters=values.changed(online=entrant.online),
            # An experiment's runs are played as they are described; these are measured in another window.
            describe=cast(Describe, partial(stage.describe, entrant)),
            storm_version=stage.version,
            inputs={**inputs, "scheduler": entrant.source_digest},
            files=files,
            sample_every=stage.sample_every,
        )
        for entrant in entrants
        for seed in dict.fromkeys(parameters.integers("seeds"))
    )
