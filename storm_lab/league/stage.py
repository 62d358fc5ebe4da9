"""Stages of a league: what the entrants schedule, and the description of a run on a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, check_parameters
from storm_lab.identity.value import value_digest
from storm_lab.league.entrant import Entrant
from storm_lab.model import StormVersion

EXPERIMENT = "scheduler-league"
"""Folder of these runs. It is not a paper's experiment, so there are no claims."""

SAMPLE_EVERY = 20

SETTLE_S = 100.0
"""Time after a re-assignment that is left out when schedulers are compared.

The hand-over takes half of it. The initial extra cost of new worker processes decays with their calls
(`CostModel.warm_up_calls`).
"""

MIN_WINDOW_S = 60.0
"""Shortest steady state by which schedulers are compared."""


class Stage(Protocol):
    """A topology with its input on machines, under any scheduler."""

    @property
    def declared(self) -> tuple[Parameter, ...]:
        """The parameters of the stage, including the seeds."""

    @property
    def version(self) -> StormVersion:
        """The Storm version to play."""

    @property
    def sample_every(self) -> int:
        """The executions of one root tuple in this number are logged."""

    def inputs(self, parameters: Parameters) -> Mapping[str, str]:
        """Return the digests of the inputs, by name."""

    def files(self, parameters: Parameters) -> Mapping[str, str]:
        """Return the input files, by the parameter that names them."""

    def describe(self, entrant: Entrant, spec: RunSpec) -> EmulationSpec:
        """Describe the run of an entrant."""


def stage_parameters(stage: Stage, given: Mapping[str, object]) -> Parameters:
    """Return the parameters of a league on a stage; `UserError` for an unknown name or a refused value."""
    return check_parameters(stage.declared, given, EXPERIMENT)


def stage_runs(
    stage: Stage, entrants: Sequence[Entrant], given: Mapping[str, object], setting: str = ""
) -> tuple[RunSpec, ...]:
    """Return one run per entrant and seed; ``setting``, if not empty, is put before the entrants' names.

    Raises `UserError` if the input cannot be read, or as `stage_parameters`.
    """
    parameters = stage_parameters(stage, given)
    inputs, files = stage.inputs(parameters), stage.files(parameters)
    values = parameters.only(name for name in parameters if name != "seeds" and name not in files)
    return tuple(
        RunSpec(
            experiment=EXPERIMENT,
            variant=f"{setting}-{entrant.name}" if setting else entrant.name,
            seed=seed,
            parameters=values.changed(online=entrant.online),
            describe=partial(stage.describe, entrant),
            storm_version=stage.version,
            # The digest of its code and state, so that a changed scheduler is played again.
            inputs={**inputs, "scheduler": value_digest(entrant.scheduler)},
            files=files,
            sample_every=stage.sample_every,
        )
        for entrant in entrants
        for seed in parameters.seeds
    )
