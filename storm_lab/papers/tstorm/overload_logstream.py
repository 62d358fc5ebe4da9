"""T-Storm relieves an overloaded Log Stream Processing (section V, figure 10)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement
from storm_lab.experiments.trial import Trial, tried, with_trials
from storm_lab.papers.tstorm import overload_relief as relief
from storm_lab.papers.tstorm.log_stream import WORKLOAD, run
from storm_lab.papers.tstorm.testbed import COMMON

SLUG = "tstorm-overload-logstream"
TRIED_S = 300.0
"""Virtual length of the runs that only show when the overload is noticed."""

PARAMETERS: tuple[Parameter, ...] = (
    *relief.GAMMAS,
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
    relief.STREAMS,
    *COMMON,
    *WORKLOAD,
)
"""Each stream has figure 8's rate; two of them are more than one node can process."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first with others and with trials; `UserError`: unreadable log."""
    excluded = ("log", "windows_tried", "rates_tried", "gammas_unacked")
    short = [
        replace(trial, changes={**trial.changes, "duration_s": TRIED_S}) for trial in _trials(parameters)
    ]
    make = partial(run, log=parameters.text("log"))
    return relief.relief_runs(SLUG, relief.describe_log_stream, make, parameters, short, excluded)


def _trials(parameters: Parameters) -> tuple[Trial, ...]:
    """Trials with another rule, without ackers or with another rate: when is the overload noticed?"""
    rule, listed = "an overload of {} windows in a row", "windows_tried"
    detect, nodes = ("tstorm-fig10-detect",), ("tstorm-fig10-nodes",)
    rules = tried(parameters, "overload_windows", "w{}", rule, listed=listed, claims=detect)
    label, listed, unacked = "no ackers, gamma {}", "gammas_unacked", {"ackers": 0}
    gammas = tried(parameters, "gamma", "a0-g{}", label, listed=listed, claims=nodes, also=unacked)
    return (*rules, *gammas, *relief.rate_trials(parameters, "{} lines"))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 10."""
    seeds = parameters.seeds
    nodes = relief.first_schedule_nodes(tables, relief.RELIEVED, seeds)
    first = "nodes of the first schedule that the generator makes"
    detected_s = relief.detected_s(tables, relief.RELIEVED, seeds)
    return (
        measurement("tstorm-fig10-detect", detected_s, how=relief.NOTICED),
        measurement("tstorm-fig10-nodes", nodes, how=first),
        measurement("tstorm-fig10-recover", relief.drop(tables, relief.RELIEVED, seeds), how=relief.DROP),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Log Stream Processing in one worker: T-Storm notices the overload and spreads it",
    figure="Figure 10",
    parameters=PARAMETERS,
    notebook="tstorm/overload_logstream.ipynb",
    metrics=("latency_10s", "failures_10s", "occupancy", "events", "control"),
    runs=runs,
    measure=with_trials(measure, _trials),
)
