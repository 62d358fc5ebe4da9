"""Recordings of real Storm runs, played again: what throughput does the emulator predict from a placement?

Every recorded run is played with its own placement. Two settings were not run on real machines: the even
scheduler's hosts with one worker process each (*merged*), and its runs if a further process cost nothing but
its threads (*no-penalty*). No claim of the paper is answered; it shows how far the emulator can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import pandas as pd

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.trial import TRIALS, Trial, played, variant_of
from storm_lab.model import Assignment, InvalidAssignmentError, check_assignment, executors_of
from storm_lab.papers.rstorm.emulab_runs import topology_plan
from storm_lab.papers.rstorm.recording import (
    PACKAGED,
    RecordedRun,
    RecordedTopology,
    Recordings,
    load_recordings,
    merged_by_host,
)
from storm_lab.papers.rstorm.testbed import CHARACTER, CLOCK, VERSION, emulab_costs, recorded_hosts
from storm_lab.papers.rstorm.usercode import CHARACTER_US, Effort, lines_of
from storm_lab.schedulers.storm.default import DefaultScheduler

SLUG = "rstorm-recordings"
MERGED = "merged"
NO_PENALTY = "no-penalty"
_EVEN = "even"
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "recordings",
        PACKAGED,
        "topologies, placements and recorded rates: the package's own, or a JSON file in the same form or in "
        "the long form with samples",
        choices=(PACKAGED,),
        is_file=True,
    ),
    seed_parameter(
        "one emulation of every recorded run per seed; hypothetical runs and deviations with the first seed"
    ),
    Parameter("duration_s", 110.0, "virtual length of a run", within=(60, 900, "s")),
    Parameter(
        "from_s",
        80.0,
        "time from which rates are averaged; the recorded ones are from 300 s on",
        within=(20, 800, "s"),
    ),
    CLOCK,
    CHARACTER,
    Parameter(
        "what_if", True, "also play hypothetical runs: merged workers, and further processes at no cost"
    ),
    TRIALS,
)

TRIED: tuple[Trial, ...] = (
    Trial("slow", "hosts of 1250 MHz", {"clock_mhz": 1250.0}),
    Trial("fast", "hosts of 2000 MHz", {"clock_mhz": 2000.0}),
    Trial("walk", "0.7 us a character", {"character_us": 0.7}),
    Trial("heavy", "2 us a character", {"character_us": 2.0}),
)
"""Clock and cost of a character come from other sources, because the recordings determine neither."""


@cache
def plan(
    recorded: RecordedTopology, lengths: tuple[int, ...], character_us: float = CHARACTER_US
) -> TopologyPlan:
    """Topology, trace and sources: spouts are never empty, and nothing is acked."""
    return topology_plan(
        recorded.topology, recorded.definitions, lines_of(lengths), effort=Effort(character_us)
    )


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every recorded run, and the two settings that were not recorded; `UserError`: unreadable recordings."""
    recordings = load_recordings(parameters.text("recordings"))
    shared = parameters.only(("duration_s", "from_s", "clock_mhz", "character_us"))
    recorded = {run.variant for run in recordings.runs}
    inputs, files = {"recordings": recordings.digest}, {"recordings": parameters.text("recordings")}
    # Nothing is acked. Counters yield the throughput, so a few logged executions are enough.
    make = partial(
        RunSpec, SLUG, describe=describe, storm_version=VERSION, inputs=inputs, files=files, sample_every=5000
    )
    return tuple(
        make(variant=variant_of(variant, trial), seed=seed, parameters=values)
        for trial, values, seeds in played(parameters, shared, TRIED)
        for variant in _variants(recordings, trial, what_if=parameters.flag("what_if"))
        for seed in (seeds if variant in recorded else seeds[:1])
    )


def _variants(recordings: Recordings, trial: Trial | None, *, what_if: bool) -> list[str]:
    """The recorded and hypothetical runs to play; for a trial, only the runs that it affects."""
    variants: list[str] = []
    for run in recordings.runs:
        recorded = recordings.topology(run.topology)
        compared = set(recorded.runs) > {_EVEN}
        if trial is not None:
            walks = any(definition.does == "shorten" for definition in recorded.definitions.values())
            if compared and recorded.is_loaded and ("character_us" not in trial.changes or walks):
                variants.append(run.variant)
            continue
        variants.append(run.variant)
        if what_if and run.scheduler == _EVEN and compared:
            variants += [f"{run.variant}-{MERGED}", f"{run.variant}-{NO_PENALTY}"]
    return variants


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    recordings = load_recordings(spec.files["recordings"])
    run, cost = _recorded_run(spec.variant, recordings.runs), emulab_costs()
    if spec.variant == f"{run.variant}-{NO_PENALTY}":
        cost = replace(cost, process_penalty=0.0, memory_slowdown=0.0)
    recorded = recordings.topology(run.topology)
    planned = plan(recorded, recordings.line_lengths, spec.parameters.number("character_us"))
    cluster = recorded_hosts(spec.parameters.number("clock_mhz"))
    return replace(
        spec.described(cluster, (planned,), DefaultScheduler()),
        placement=checked_placement(run, recorded),
        cost=cost,
        warm_up_s=spec.parameters.number("from_s"),
    )


def checked_placement(run: RecordedRun, recorded: RecordedTopology) -> Assignment:
    """Return a run's placement; `UserError` names topology and run if it is not complete and on the hosts."""
    try:
        check_assignment(run.placement, recorded_hosts(), executors_of(recorded.topology, VERSION))
    except InvalidAssignmentError as error:
        field = f"{run.topology}.runs.{run.scheduler}.placement"
        remedy = "place every executor exactly once, on one of the hosts"
        raise UserError(str(error), field=field, remedy=remedy) from error
    return run.placement


def _recorded_run(variant: str, recorded: tuple[RecordedRun, ...]) -> RecordedRun:
    """The recorded run that a variant plays, with its workers merged if the variant's name says so."""
    by_name = {run.variant: run for run in recorded}
    # A scheduler of a reader's file may have the name of a trial.
    if variant in by_name:
        return by_name[variant]
    tags = (MERGED, NO_PENALTY, *(trial.name for trial in TRIED))
    (tag,) = (each for each in tags if variant.removesuffix(f"-{each}") in by_name)
    run = by_name[variant.removesuffix(f"-{tag}")]
    return merged_by_host(run) if tag == MERGED else run


def rates(tables: Tables, from_s: float) -> pd.DataFrame:
    """Tuples executed and emitted per 10 s by variant, seed and component: means from ``from_s`` on."""
    rows = tables.component_throughput_10s
    rows = rows[rows["t_s"] >= from_s]
    keys = ["variant", "seed", "component"]
    summed = rows.groupby(keys)[["executed", "emitted", "width_s"]].sum()
    return summed[["executed", "emitted"]].mul(10.0 / summed["width_s"], axis=0).reset_index()


def sink_rates(found: pd.DataFrame, recordings: Recordings, topology: str, variant: str) -> pd.Series:
    """Tuples that all sinks of a topology execute per 10 s, by seed."""
    sinks = recordings.topology(topology).sinks
    rows = found[(found["variant"] == variant) & found["component"].isin(sinks)]
    return rows.groupby("seed")["executed"].sum()


def _errors(rows: Sequence[tuple[object, ...]], *keys: str) -> pd.DataFrame:
    """A table with the columns ``keys``, recorded, predicted and error_%, of rows without the error."""
    table = pd.DataFrame(rows, columns=[*keys, "recorded", "predicted"])
    return table.assign(**{"error_%": 100.0 * (table["predicted"] / table["recorded"] - 1.0)})


def sinks_by_seed(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """One row per recorded run and seed.

    Columns: topology, scheduler, variant (both, for display), seed, recorded and predicted sink throughput,
    error in percent.
    """
    rows = [
        (run.topology, run.scheduler, f"{run.topology}, {run.scheduler}", seed, run.sink, rate)
        for run in recordings.runs
        if run.sink is not None
        for seed, rate in sink_rates(found, recordings, run.topology, run.variant).items()
    ]
    return _errors(rows, "topology", "scheduler", "variant", "seed")


def seed_spread(by_seed: pd.DataFrame) -> pd.DataFrame:
    """By run: the largest deviation of a seed's prediction from the mean over the seeds, in percent of it."""
    run = [by_seed["topology"], by_seed["scheduler"]]
    mean = by_seed["predicted"].groupby(run, sort=False).transform("mean")
    far = (by_seed["predicted"] / mean - 1.0).abs() * 100.0
    return far.groupby(run, sort=False).max().reset_index(name="farthest_%")


def sink_errors(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """One row per recorded run: tuples that its sinks execute per 10 s; prediction error in percent."""
    rows = []
    for run in recordings.runs:
        if run.sink is not None:
            rate = sink_rates(found, recordings, run.topology, run.variant).mean()
            rows.append((run.topology, run.scheduler, run.sink, rate))
    return _errors(rows, "topology", "scheduler")


def component_errors(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """One row per component of a recorded run: recorded and predicted emits per 10 s; error in percent."""
    rows = []
    for run in recordings.runs:
        own = found[found["variant"] == run.variant].groupby("component")["emitted"].mean()
        for component, recorded in run.emitted.items():
            rows.append((run.topology, run.scheduler, component, recorded, own[component]))
    return _errors(rows, "topology", "scheduler", "component")


def ratio_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """Ratio of R-Storm's sink throughput to the even scheduler's, if both exist; error in percent."""
    rows = []
    for topology, group in errors.groupby("topology", sort=False):
        by = group.set_index("scheduler")[["recorded", "predicted"]]
        if {"even", "rstorm"} <= set(by.index):
            rows.append((topology, *(by.loc["rstorm"] / by.loc["even"])))
    return _errors(rows, "topology")


def what_if(found: pd.DataFrame, recordings: Recordings) -> pd.DataFrame:
    """Predicted sink rates of the even scheduler's runs, and multiples of them in other settings.

    Columns: topology; even, in tuples per 10 s; and the multiples merged, no-penalty and rstorm, as means
    over the seeds with which both runs were played.
    """
    known = set(found["variant"])
    rows = []
    for topology, recorded in recordings.topologies.items():
        if "even" not in recorded.runs or f"{topology}-even-merged" not in known:
            continue
        even = sink_rates(found, recordings, topology, f"{topology}-even")
        others = [f"{topology}-even-merged", f"{topology}-even-no-penalty", f"{topology}-rstorm"]
        multiples = [
            float((sink_rates(found, recordings, topology, other) / even).mean()) if other in known else None
            for other in others
        ]
        rows.append((topology, float(even.mean()), *multiples))
    return pd.DataFrame(rows, columns=["topology", "even", "merged", "no-penalty", "rstorm"])


def trial_errors(found: pd.DataFrame, recordings: Recordings, trials: Sequence[Trial]) -> pd.DataFrame:
    """Errors of the prediction by deviation: columns label, series (topology), ratio_% and sinks_%.

    The ratio is R-Storm's sink throughput divided by the even scheduler's; ``sinks_%`` is the mean absolute
    error of the two. Rows cover the setting itself and every trial that was played, for topologies with both
    runs. Only the first seed counts, because trials have no other.
    """
    found = found[found["seed"] == found["seed"].min()]
    loaded = [name for name, recorded in recordings.topologies.items() if recorded.is_loaded]
    rows = []
    for trial in (None, *trials):
        tag = variant_of("", trial)
        own = found[found["variant"].str.endswith(tag)]
        errors = sink_errors(own.assign(variant=own["variant"].str.removesuffix(tag)), recordings).dropna()
        compared = errors[errors["topology"].isin(loaded) & errors["scheduler"].isin(("even", "rstorm"))]
        sinks = compared["error_%"].abs().groupby(compared["topology"]).mean()
        ratios = ratio_errors(compared)
        label = "as set above" if trial is None else trial.label
        for topology, error in zip(ratios["topology"], ratios["error_%"], strict=True):
            rows.append((label, topology, error, sinks[topology]))
    return pd.DataFrame(rows, columns=["label", "series", "ratio_%", "sinks_%"])


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="Recorded runs of R-Storm's author, predicted from their placements",
    figure="recordings behind figures 8 and 12",
    parameters=PARAMETERS,
    notebook="rstorm/recordings.ipynb",
    metrics=("component_throughput_10s",),
    runs=runs,
)
