"""Recordings of real Storm runs, played again: what throughput does the emulator predict from a placement?

Every recorded run is played with its own placement. Two questions that nobody put to the real machines are
asked of the emulator alone: the even scheduler's hosts with one worker process on each (*merged*), and the
even scheduler's runs if a further process cost nothing but its threads (*no-penalty*).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.papers.rstorm.recording import (
    PACKAGED,
    RecordedRun,
    RecordedTopology,
    Recordings,
    load_recordings,
    merged_by_host,
)
from storm_lab.papers.rstorm.recordings_claims import METRICS, measure
from storm_lab.papers.rstorm.streaming import topology_plan
from storm_lab.papers.rstorm.testbed import CHARACTER, CLOCK, VERSION, recorded_hosts
from storm_lab.papers.rstorm.trial import TRIALS, Trial, played, variant_of
from storm_lab.papers.rstorm.usercode import CHARACTER_US, Effort, lines_of
from storm_lab.schedulers.storm.default import DefaultScheduler

SLUG = "rstorm-recordings"
MERGED = "merged"
NO_PENALTY = "no-penalty"
_SEVERAL_WORKERS = "even"
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "recordings",
        PACKAGED,
        "topologies, placements and recorded rates: the package's own, or a JSON file in its form or in the "
        "long form with samples",
        choices=(PACKAGED,),
        is_file=True,
    ),
    Parameter(
        "seeds",
        (1, 2, 3, 4, 5),
        "one emulation of every recorded run per seed; what nobody recorded and deviations with the first",
        low=0,
        high=2**31 - 1,
    ),
    Parameter("duration_s", 110.0, "virtual length of a run", unit="s", low=60, high=900),
    Parameter("from_s", 80.0, "rates are means from here on", unit="s", low=20, high=800),
    CLOCK,
    CHARACTER,
    Parameter("what_if", True, "also play what nobody recorded: merged workers, and no cost of a process"),
    TRIALS,
)

TRIED: tuple[Trial, ...] = (
    Trial("slow", "hosts of 1250 MHz", {"clock_mhz": 1250.0}),
    Trial("fast", "hosts of 2000 MHz", {"clock_mhz": 2000.0}),
    Trial("light", "0.1 us a character", {"character_us": 0.1}),
    Trial("heavy", "2 us a character", {"character_us": 2.0}),
)
"""Clock and cost of a character are chosen by hand: nothing recorded settles either."""


@cache
def plan(
    recorded: RecordedTopology, lengths: tuple[int, ...], character_us: float = CHARACTER_US
) -> TopologyPlan:
    """Topology, trace and sources: spouts that are never empty, and nothing acked."""
    return topology_plan(
        recorded.topology, recorded.definitions, lines_of(lengths), effort=Effort(character_us)
    )


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every recorded run, and where there were several workers on a host, what if not.

    Raises:
        UserError: the recordings cannot be read.
    """
    recordings = load_recordings(parameters.text("recordings"))
    shared = parameters.only(("duration_s", "from_s", "clock_mhz", "character_us"))
    recorded = {run.variant for run in recordings.runs}
    settings = [
        (variant_of(variant, trial), values, seed)
        for trial, values, seeds in played(parameters, shared, TRIED)
        for variant in _variants(recordings, trial, what_if=parameters.flag("what_if"))
        for seed in (seeds if variant in recorded else seeds[:1])
    ]
    return tuple(
        RunSpec(
            experiment=SLUG,
            variant=variant,
            seed=seed,
            parameters=values,
            describe=describe,
            storm_version=VERSION,
            inputs={"recordings": recordings.digest},
            files={"recordings": parameters.text("recordings")},
            # Nothing is acked, and the counters tell the throughput: a few executions are enough.
            sample_every=5000,
        )
        for variant, values, seed in settings
    )


def _variants(recordings: Recordings, trial: Trial | None, *, what_if: bool) -> list[str]:
    """The runs to play as they were recorded and as nobody recorded them; of a trial, those it concerns."""
    variants: list[str] = []
    for run in recordings.runs:
        recorded = recordings.topology(run.topology)
        compared = set(recorded.runs) > {_SEVERAL_WORKERS}
        if trial is not None:
            walks = any(definition.does == "shorten" for definition in recorded.definitions.values())
            if compared and recorded.is_loaded and ("character_us" not in trial.changes or walks):
                variants.append(run.variant)
            continue
        variants.append(run.variant)
        if what_if and run.scheduler == _SEVERAL_WORKERS and compared:
            variants += [f"{run.variant}-{MERGED}", f"{run.variant}-{NO_PENALTY}"]
    return variants


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    recordings = load_recordings(spec.files["recordings"])
    variant = spec.variant
    for trial in TRIED:
        variant = variant.removesuffix(f"-{trial.name}")
    run, cost = _played(variant, recordings.runs), CostModel()
    if variant.endswith(NO_PENALTY):
        cost = replace(cost, process_penalty=0.0, memory_slowdown=0.0)
    recorded = recordings.topology(run.topology)
    return EmulationSpec(
        cluster=recorded_hosts(spec.parameters.number("clock_mhz")),
        version=spec.storm_version,
        topologies=(plan(recorded, recordings.line_lengths, spec.parameters.number("character_us")),),
        scheduler=DefaultScheduler(),
        placement=run.placement,
        duration_s=spec.parameters.number("duration_s"),
        seed=spec.seed,
        cost=cost,
        sample_every=spec.sample_every,
        warm_up_s=spec.parameters.number("from_s"),
    )


def _played(variant: str, recorded: tuple[RecordedRun, ...]) -> RecordedRun:
    """The recorded run that a variant plays, with its workers merged where the name says so."""
    for run in recorded:
        if variant in (run.variant, f"{run.variant}-{NO_PENALTY}"):
            return run
        if variant == f"{run.variant}-{MERGED}":
            return merged_by_host(run)
    raise KeyError(variant)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="Recorded runs of R-Storm's author, predicted from their placements",
    figure="recordings behind figures 8 and 12",
    parameters=PARAMETERS,
    claims=(),
    notebook="rstorm/recordings.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=measure,
)
