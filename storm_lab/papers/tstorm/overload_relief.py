"""Figures 9 and 10 of T-Storm: everything runs in one worker at twice the input, and T-Storm must react.

The first assignment is fixed by hand: all executors in one slot. The rest is as in all of section V. The
readings say when the overload is noticed, and what its relief brings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import (
    Samples,
    Tables,
    by_seed,
    details,
    measurement,
    of_run,
    per_seed,
    quotients,
)
from storm_lab.experiments.trial import Trial, runs_of, tried, with_trials
from storm_lab.model.assignment import Assignment
from storm_lab.model.executor import executors_of
from storm_lab.papers.tstorm import log_stream, word_count
from storm_lab.papers.tstorm.blade_runs import on_blades
from storm_lab.papers.tstorm.gamma_runs import at_time, processing_ms
from storm_lab.papers.tstorm.testbed import COMMON

WORD_COUNT_SLUG = "tstorm-overload-wordcount"
LOG_STREAM_SLUG = "tstorm-overload-logstream"
RELIEVED = "tstorm"
"""Variant of the runs by which the claims are judged."""
NOTICED = "time at which the generator says that the cluster is overloaded"

BEFORE_S = 60.0
"""Length of the window before the re-assignment that gives the level under overload."""
SETTLED_S = 500.0
"""Start of the window that gives the level afterwards, as in the other figures of section V."""
_BEFORE = f"mean processing time in the {BEFORE_S:g} s before the re-assignment"
DROP = f"{_BEFORE} over that from {SETTLED_S:g} s on"
MAX_FAILED_SHARE = 0.01
"""Share of the tuples that may fail if a topology is to count as recovered."""

STREAMS = Parameter(
    "streams", 2, "concurrent input streams (section V), each with lines_per_s", within=(1, 4)
)
_GAMMA = Parameter("gamma", 1.7, "consolidation factor; not printed", within=(1.0, 1.7))
_OTHERS = "other consolidation factors, played with the first seed only"
GAMMAS = (_GAMMA, replace(_GAMMA, name="gammas_tried", default=(1.2,), doc=_OTHERS))

WORD_COUNT_PARAMETERS: tuple[Parameter, ...] = (
    *GAMMAS,
    STREAMS,
    *COMMON,
    *word_count.WORKLOAD,
    Parameter(
        "rates_tried",
        (60.0,),
        "other lines per second, reader and stream, played with the first seed only: few enough for the "
        "five database bolts to keep up",
        within=(20, 500, "1/s"),
    ),
)
"""Two streams at figure 6's rate are more than the five database bolts can store on any number of nodes."""

TRIED_S = 300.0
"""Virtual length of the runs that only show when the overload is noticed."""

LOG_STREAM_PARAMETERS: tuple[Parameter, ...] = (
    *GAMMAS,
    Parameter(
        "windows_tried",
        (2, 4, 5, 6),
        f"other values of overload_windows, played for {TRIED_S:g} s, first seed only",
        within=(2, 15),
    ),
    Parameter(
        "gammas_unacked",
        (1.5,),
        "consolidation factors to play without ackers, so with 24 instead of 25 executors, for "
        f"{TRIED_S:g} s with the first seed only",
        within=(1.0, 1.7),
    ),
    Parameter(
        "rates_tried",
        (300.0, 500.0),
        f"other lines per second and stream, played for {TRIED_S:g} s with the first seed only",
        within=(20, 500, "1/s"),
    ),
    STREAMS,
    *COMMON,
    *log_stream.WORKLOAD,
)
"""Each stream has figure 8's rate; two of them are more than one node can process."""


def _relief_runs(
    slug: str,
    describe: Describe,
    run: Callable[[str, int, Parameters], RunSpec],
    parameters: Parameters,
    trials: Sequence[Trial],
    excluded: Sequence[str],
) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma; other gammas and trials with the first seed.

    ``run`` and ``excluded`` are as in `gamma_runs`.
    """

    def make(variant: str, seed: int, parameters: Parameters) -> RunSpec:
        return replace(run(variant, seed, parameters), experiment=slug, describe=describe)

    shared = parameters.without("seeds", "gammas_tried", STREAMS.name, *excluded)
    shared = shared.changed(lines_per_s=total_lines_per_s(parameters))
    gammas = tried(parameters, "gamma", "g{}", "gamma {}", listed="gammas_tried")
    return runs_of(make, {RELIEVED: {}}, parameters, shared, (*gammas, *trials))


def total_lines_per_s(parameters: Parameters) -> float:
    """Lines per second of all input streams together."""
    return parameters.number("lines_per_s") * parameters.integer(STREAMS.name)


def rate_trials(parameters: Parameters, label: str, claims: tuple[str, ...] = ()) -> tuple[Trial, ...]:
    """Trials with other lines per second and stream; ``label`` contains ``{}`` for the value."""
    return tuple(
        replace(trial, changes={"lines_per_s": total_lines_per_s(parameters.changed(**trial.changes))})
        for trial in tried(parameters, "lines_per_s", "r{}", label, listed="rates_tried", claims=claims)
    )


def word_count_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first with other gammas and rates; `UserError`: unreadable text."""
    make, excluded = partial(word_count.run, text=parameters.text("text")), ("text", "rates_tried")
    trials = _word_count_trials(parameters)
    return _relief_runs(WORD_COUNT_SLUG, describe_word_count, make, parameters, trials, excluded)


def _word_count_trials(parameters: Parameters) -> tuple[Trial, ...]:
    return rate_trials(parameters, "{} lines a second, reader and stream", ("tstorm-fig9-recover",))


def log_stream_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first with others and with trials; `UserError`: unreadable log."""
    short = [
        replace(trial, changes={**trial.changes, "duration_s": TRIED_S})
        for trial in _log_stream_trials(parameters)
    ]
    make = partial(log_stream.run, log=parameters.text("log"))
    excluded = ("log", "windows_tried", "rates_tried", "gammas_unacked")
    return _relief_runs(LOG_STREAM_SLUG, describe_log_stream, make, parameters, short, excluded)


def _log_stream_trials(parameters: Parameters) -> tuple[Trial, ...]:
    """Trials with another rule, without ackers or with another rate: when is the overload noticed?"""
    rule, listed = "an overload of {} windows in a row", "windows_tried"
    detect, nodes = ("tstorm-fig10-detect",), ("tstorm-fig10-nodes",)
    rules = tried(parameters, "overload_windows", "w{}", rule, listed=listed, claims=detect)
    label, listed, unacked = "no ackers, gamma {}", "gammas_unacked", {"ackers": 0}
    gammas = tried(parameters, "gamma", "a0-g{}", label, listed=listed, claims=nodes, also=unacked)
    return (*rules, *gammas, *rate_trials(parameters, "{} lines"))


def describe_word_count(spec: RunSpec) -> EmulationSpec:
    """Describe one run of Word Count."""
    return _describe(spec, word_count.plan(spec))


def describe_log_stream(spec: RunSpec) -> EmulationSpec:
    """Describe one run of Log Stream Processing."""
    return _describe(spec, log_stream.plan(spec))


def _describe(spec: RunSpec, plan: TopologyPlan) -> EmulationSpec:
    described = on_blades(spec, plan, steady_from=0.5)
    slot = described.cluster.nodes[0].slots[0]
    executors = executors_of(plan.topology, spec.storm_version)
    return replace(described, placement=Assignment.of((executor, slot) for executor in executors))


def detected_s(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Time at which the generator first reports an overload of the cluster."""
    events = tables.control
    return by_seed(events[events["action"] == "detect-overload"], variant, seeds, _first_s)


def reassigned_s(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Time at which Nimbus first writes an assignment that moves executors."""
    events = tables.events
    return by_seed(events[events["kind"] == "re-assignment"], variant, seeds, _first_s)


def before_ms(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Mean processing time in the minute before the first re-assignment."""
    return per_seed(
        lambda seed, at: processing_ms(tables, variant, (seed,), at - BEFORE_S, at)[0],
        seeds,
        reassigned_s(tables, variant, seeds),
    )


def after_ms(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Mean processing time of the tuples that complete from `SETTLED_S` on.

    None if more than `MAX_FAILED_SHARE` of all tuples fail from then on: the others represent nothing.
    """
    return per_seed(
        lambda level, share: level if share <= MAX_FAILED_SHARE else None,
        processing_ms(tables, variant, seeds, SETTLED_S),
        failed_share(tables, variant, seeds),
    )


def drop(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """The level under overload divided by the level afterwards."""
    return quotients(before_ms(tables, variant, seeds), after_ms(tables, variant, seeds))


def failed_share(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Share of failed tuples among those that end from `SETTLED_S` on; None if none ends."""
    found: Samples = []
    for seed in seeds:
        latency, failures = (of_run(t, variant, seed) for t in (tables.latency_10s, tables.failures_10s))
        done = int(latency.loc[latency["t_s"] >= SETTLED_S, "tuples"].sum())
        failed = int(failures.loc[failures["t_s"] >= SETTLED_S, "failed"].sum())
        found.append(failed / (done + failed) if done + failed else None)
    return found


def nodes_at(tables: Tables, variant: str, seeds: Sequence[int], times_s: Samples) -> Samples:
    """Number of nodes with an executor at each seed's time."""
    return per_seed(
        lambda seed, at: at_time(tables.occupancy, "nodes", variant, (seed,), at)[0], seeds, times_s
    )


def first_schedule_nodes(tables: Tables, variant: str, seeds: Sequence[int]) -> Samples:
    """Number of nodes in the first schedule that the generator makes."""
    events = tables.control
    made = events[events["action"] == "generate-schedule"].sort_values("time_s")
    return by_seed(made, variant, seeds, lambda rows: float(details(rows)[0]["nodes"]))


def _first_s(events: pd.DataFrame) -> float:
    return float(events["time_s"].min())


def _measure_word_count(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 9."""
    seeds = parameters.seeds
    noticed = detected_s(tables, RELIEVED, seeds)
    recovered = {
        "drop": drop(tables, RELIEVED, seeds),
        "level-after": after_ms(tables, RELIEVED, seeds),
        "nodes-before": nodes_at(tables, RELIEVED, seeds, noticed),
        "nodes-after": first_schedule_nodes(tables, RELIEVED, seeds),
    }
    how = (
        f"{DROP}, where at most {MAX_FAILED_SHARE:.0%} of the tuples fail; nodes when the "
        "overload is noticed and in the first schedule made"
    )
    return (
        measurement("tstorm-fig9-detect", noticed, how=NOTICED),
        measurement("tstorm-fig9-recover", recovered, how=how),
    )


def _measure_log_stream(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 10."""
    seeds = parameters.seeds
    nodes = first_schedule_nodes(tables, RELIEVED, seeds)
    first = "nodes of the first schedule that the generator makes"
    noticed = detected_s(tables, RELIEVED, seeds)
    return (
        measurement("tstorm-fig10-detect", noticed, how=NOTICED),
        measurement("tstorm-fig10-nodes", nodes, how=first),
        measurement("tstorm-fig10-recover", drop(tables, RELIEVED, seeds), how=DROP),
    )


_METRICS = ("latency_10s", "failures_10s", "occupancy", "events", "control")

WORD_COUNT = Experiment(
    slug=WORD_COUNT_SLUG,
    paper="T-Storm",
    title="Word Count in one worker: T-Storm notices the overload and spreads it",
    figure="Figure 9",
    parameters=WORD_COUNT_PARAMETERS,
    notebook="tstorm/overload_wordcount.ipynb",
    metrics=_METRICS,
    runs=word_count_runs,
    measure=with_trials(_measure_word_count, _word_count_trials),
)
LOG_STREAM = Experiment(
    slug=LOG_STREAM_SLUG,
    paper="T-Storm",
    title="Log Stream Processing in one worker: T-Storm notices the overload and spreads it",
    figure="Figure 10",
    parameters=LOG_STREAM_PARAMETERS,
    notebook="tstorm/overload_logstream.ipynb",
    metrics=_METRICS,
    runs=log_stream_runs,
    measure=with_trials(_measure_log_stream, _log_stream_trials),
)
