"""The stages on which readers can play their own schedulers, by experiment and setting.

Most are a run of an experiment under Storm's default scheduler, played with an entrant's instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError, unknown_name
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.online_scheduling import PARAMETERS
from storm_lab.experiments.parameter import (
    Parameter,
    Parameters,
    ParameterValue,
    check_parameters,
    with_defaults,
)
from storm_lab.league.entrant import Entrant
from storm_lab.league.stage import SETTLE_S, Stage
from storm_lab.model import StormVersion
from storm_lab.papers.mfstorm.beyond import KINDS as BEYOND
from storm_lab.papers.mfstorm.grid import cells
from storm_lab.papers.mfstorm.grid_experiments import GRIDS
from storm_lab.papers.mfstorm.placement import DEFAULT
from storm_lab.papers.registry import experiment
from storm_lab.papers.tstorm import word_count_stage

_SCENARIOS = ("S1", "S2", "S3")
"""Scenarios of MF-Storm played with the default scheduler; the others only add slots that stay empty."""

_KINDS = {slug: kind for kind, (slug, _) in GRIDS.items()}
"""MF-Storm's experiments and the topologies of their grids."""

_RUNS: Mapping[str, Mapping[str, str]] = {
    "tstorm-throughput-test": {"": "storm-default"},
    "tstorm-log-stream": {"": "storm-default"},
    "rstorm-network-bound": {name: f"{name}-default" for name in ("linear", "diamond", "star")},
    "rstorm-cpu-bound": {name: f"{name}-default-w12" for name in ("linear", "diamond", "star")},
    "rstorm-yahoo": {name: f"{name}-default" for name in ("page-load", "processing")},
    "rstorm-multi-topology": {"": "default"},
    **{slug: {name: f"{name}-default" for name in _SCENARIOS} for slug in _KINDS},
    "mfstorm-beyond": {f"{kind}-{name}": f"{kind}-{name}-default" for kind in BEYOND for name in _SCENARIOS},
    "nstorm-single-migration": {"": "storm-star-m1"},
    "nstorm-multi-migration": {"": "nstorm-10-3-m*"},
    "nstorm-delayed-kill": {"": "nstorm-plus*"},
    "nstorm-sync-cycles": {name: f"nstorm-plus*-{name}-m*" for name in ("10-3", "3-1", "1-0.3", "0.3-0.1")},
    "twitter-machine-removal": {"": "storm"},
    "twitter-zookeeper-load": {name: f"{name}-*" for name in ("dedicated", "database", "elsewhere")},
    "twitter-max-spout-pending": {"": "tuner-from-*"},
    "twitter-overheads": {name: f"{name}-*m" for name in ("storm-no-acks", "storm-acks", "original")},
    "twitter-semantics": {"": "log"},
    "twitter-scaling": {name: f"{name}-*" for name in ("window", "removal")},
}
"""Experiment -> setting -> variant of the run under the default scheduler, which entrants replace.

A variant may contain ``*`` for parts that depend on parameters; the first match is taken.
"""

_DEFAULTS: Mapping[str, Mapping[str, ParameterValue]] = {
    "mfstorm-beyond": {"duration_s": 150.0},
    "nstorm-multi-migration": {"moved": (4,)},
    # More workers than the hardware sustains under the default scheduler.
    "twitter-zookeeper-load": {"dedicated_workers": (340,), "database_workers": (1250,)},
    "twitter-overheads": {"machines_on": (3,), "machines_original": (10,)},
    # Windows with smaller bundles are too short to compare schedulers.
    "twitter-scaling": {"bundles": (300,), "timeouts_s": (120.0,)},
}
"""Experiment -> defaults that differ in its stages. A stage takes the first of several values."""

_WITHOUT_STAGES: Mapping[str, tuple[str, str]] = {
    "algorithms": ("it schedules small examples and has no runs", "storm-lab schedule or explain"),
    "tstorm-obs1-traffic": ("it places a chain by hand", "tstorm-throughput-test"),
    "tstorm-obs2-overload": ("it places a chain by hand", "tstorm-throughput-test"),
    "tstorm-overload-wordcount": ("it shows how T-Storm relieves an overload", "tstorm-word-count"),
    "tstorm-overload-logstream": ("it shows how T-Storm relieves an overload", "tstorm-log-stream"),
    "tstorm-gamma-sweep": (
        "it varies T-Storm's gamma on the topologies of other experiments",
        "tstorm-throughput-test, tstorm-word-count or tstorm-log-stream",
    ),
    "tstorm-reassign-smoothing": ("it varies how T-Storm hands over executors", "tstorm-word-count"),
    "rstorm-recordings": (
        "its placements are the recorded ones",
        "rstorm-network-bound, rstorm-cpu-bound or rstorm-yahoo",
    ),
    "rstorm-network-hierarchy": ("it places two executors by hand, at each distance", "rstorm-network-bound"),
    "mfstorm-summary": ("it averages over the grids of other experiments", " or ".join(_KINDS)),
    "nstorm-worst-case": (
        "it calculates absences from the supervisors' cycles and has no runs",
        "nstorm-single-migration",
    ),
    "live-trust": ("it compares the emulator with recorded runs of real Storm", "storm-lab league"),
}
"""Experiments in which schedulers decide nothing -> the reason, and what to use instead."""

_CUSTOM_STAGES: Mapping[str, Stage] = {"tstorm-word-count": word_count_stage.STAGE}
"""Experiments with a stage of their own."""

PAPERS = (
    "tstorm-throughput-test",
    "tstorm-word-count",
    "tstorm-log-stream",
    "rstorm-network-bound/linear",
    "rstorm-network-bound/diamond",
    "rstorm-network-bound/star",
    "rstorm-cpu-bound/linear",
    "rstorm-cpu-bound/diamond",
    "rstorm-cpu-bound/star",
    "rstorm-yahoo/page-load",
    "rstorm-yahoo/processing",
    "rstorm-multi-topology",
    "mfstorm-wordcount/S1",
    "mfstorm-exclamation/S1",
    "mfstorm-tweet-wordcount/S1",
    "mfstorm-tweet-exclamation/S1",
    "nstorm-single-migration",
    "twitter-semantics",
    "twitter-scaling/removal",
)
"""Every topology of the papers on its machines, once: experiment, and setting if there are several."""


@dataclass(frozen=True)
class ExperimentStage:
    """One run of an experiment with an exchangeable scheduler; everything else is as its parameters say.

    ``own`` are the experiment's parameters, and ``runs`` makes its runs. The first is used whose variant
    matches ``variant``, such as ``removal-*``. ``without_disturbances`` leaves out the experiment's faults
    and its own scheduled moves, so that schedulers can be compared in a steady state.
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
        settle_s = None if base.faults.faults or base.services else SETTLE_S
        described = replace(base, placement=None, sample_every=spec.sample_every, settle_s=settle_s)
        return entrant.applied(described, spec.parameters)

    def run(self, values: Mapping[str, object]) -> RunSpec:
        """Return the experiment's own run with these values, Storm's scheduler and the first seed.

        Values of others, such as entrants, are ignored. `UserError` if the own ones leave the run out.
        """
        given = {item.name: values[item.name] for item in self.own if item.name in values}
        first = check_parameters(self.own, given, self.experiment).with_first_seed()
        if "trials" in first:
            first = first.changed(trials=False)
        for run in self.runs(first):
            if fnmatchcase(run.variant, self.variant):
                return run
        message = "does not exist with these parameters"
        remedy = "remove the parameters that select among its runs"
        raise UserError(message, field=f"run of {self.experiment}", value=self.variant, remedy=remedy)


def stage_slugs() -> tuple[str, ...]:
    """The experiments that offer stages."""
    return (*_CUSTOM_STAGES, *_RUNS)


def stages(slug: str) -> Mapping[str, Stage]:
    """Return an experiment's stages by setting; `UserError` if it is unknown or takes no schedulers."""
    if slug in _WITHOUT_STAGES:
        why, instead = _WITHOUT_STAGES[slug]
        remedy = f"use {instead}"
        raise UserError(f"takes no schedulers, because {why}", field="experiment", value=slug, remedy=remedy)
    if slug in _CUSTOM_STAGES:
        return {"": _CUSTOM_STAGES[slug]}
    own = experiment(slug)
    runs = own.runs
    if slug in _KINDS:
        # The complete grid would also ask the slower schedulers whether they refuse.
        runs = partial(cells, slug, _KINDS[slug], scenarios=_SCENARIOS, schedulers=(DEFAULT,))
    parameters = with_defaults(own.parameters, **_DEFAULTS.get(slug, {}))
    return {
        setting: ExperimentStage(slug, parameters, runs, variant) for setting, variant in _RUNS[slug].items()
    }


def paper_stage(name: str) -> Stage:
    """Return a stage of `PAPERS` without its experiment's faults and moves; `UserError` if there is none."""
    slug, _, setting = name.partition("/")
    found = stages(slug) if slug in stage_slugs() else {}
    if setting not in found:
        raise unknown_name("stage", name, PAPERS, "the papers' suite")
    stage = found[setting]
    return replace(stage, without_disturbances=True) if isinstance(stage, ExperimentStage) else stage
