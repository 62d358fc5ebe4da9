"""Delayed kill: the old thread lives two seconds longer, N-Storm+ against N-Storm (figures 11 and 12)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Samples, Tables, changes, measurement, reductions
from storm_lab.experiments.trial import with_trials
from storm_lab.papers.nstorm import durations
from storm_lab.papers.nstorm.multi_migration import moving
from storm_lab.papers.nstorm.runs import (
    BRIEF,
    KEPT,
    POLL_S,
    READINGS_OF_PLUS,
    SYNC_S,
    THREADS,
    UNHURRIED,
    Setting,
    other_readings,
    run_specs,
    settling,
    with_other_readings,
)
from storm_lab.papers.nstorm.testbed import COMMON

SLUG = "nstorm-delayed-kill"
MOVED = Parameter("moved", 16, "executors that move at each re-assignment (section V-D)", within=(1, 36))
DELAY = Parameter(
    "kill_delay_s",
    2.0,
    "time that a moved executor continues to run in its old worker",
    within=(0.1, 30, "s"),
)
PARAMETERS: tuple[Parameter, ...] = (
    MOVED,
    DELAY,
    Parameter(
        "delays_tried_s",
        (1.0, 4.0, 13.0),
        "other delays, played with the first seeds only; 13 s is the sum of T_s and T_w",
        within=(0.1, 30, "s"),
    ),
    Parameter("trial_seeds", 3, "number of seeds with which the other delays are played", within=(1, 100)),
    *COMMON,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm and N-Storm+ for every seed, and other delays for the first seeds."""
    first = parameters.changed(seeds=parameters.seeds[: parameters.integer("trial_seeds")])
    usual = plus(parameters)
    tried = [replace(usual, kill_delay_s=delay_s) for delay_s in parameters.numbers("delays_tried_s")]
    settings = (moving(parameters.integer("moved")), usual)
    return (
        *with_other_readings(parameters, settings, READINGS_OF_PLUS),
        *run_specs(first, [each for each in tried if each != usual]),
    )


def plus(parameters: Parameters, sync_s: float = SYNC_S, poll_s: float = POLL_S) -> Setting:
    """N-Storm+ with these cycles."""
    return Setting(
        THREADS, parameters.integer("moved"), sync_s, poll_s, kill_delay_s=parameters.number("kill_delay_s")
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims if the runs are those of the paper: sixteen executors, two seconds."""
    if parameters.integer("moved") != 16 or parameters.number("kill_delay_s") != 2.0:
        return ()
    seeds = parameters.seeds
    before, after = moving(16).variant, plus(parameters).variant
    old, new = (
        {level: durations.degraded_s(tables, variant, seeds, level) for level in durations.LEVELS}
        for variant in (before, after)
    )
    reduced = {f"at-{level}": reductions(new[level], old[level]) for level in (60, 100)}
    levels: dict[str, Samples] = {}
    for level in durations.LEVELS:
        levels |= {f"n-storm-plus/{level}": new[level], f"n-storm/{level}": old[level]}
    more = changes(durations.total(tables, after, seeds), durations.total(tables, before, seeds))
    lost = {
        "lost": durations.lost_with_threads(tables, after, seeds),
        "replayed": durations.replays(tables, after, seeds),
    }
    how_reduced = f"100 * (1 - N-Storm+ / N-Storm), {durations.DEGRADED.format('60 or 100')}"
    how_more = f"{durations.ANSWERED}: 100 * (N-Storm+ / N-Storm - 1)"
    died = "tuples that died with stopped executors, as the control log counts them"
    how_lost = f"{died}, and calls that timed out, in a run"
    return (
        measurement("nstorm-fig11-60", new[60], how=durations.DEGRADED.format(60)),
        measurement("nstorm-fig11-100", new[100], how=durations.DEGRADED.format(100)),
        measurement("nstorm-fig11-reductions", reduced, how=how_reduced),
        measurement("nstorm-fig11-all-levels", levels, how=durations.DEGRADED.format("20 to 100")),
        measurement("nstorm-fig12-throughput", more, how=how_more),
        measurement("nstorm-no-loss", lost, how=how_lost),
    )


_VARIANTS = ("nstorm-10-3-m16", "nstorm-plus2-10-3-m16")
_LEVELS = "nstorm-fig11-all-levels"

EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="Delayed kill: N-Storm against N-Storm+",
    figure="Figures 11 and 12",
    parameters=PARAMETERS,
    notebook="nstorm/delayed_kill.ipynb",
    metrics=("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control"),
    runs=runs,
    measure=with_trials(measure, partial(other_readings, known=READINGS_OF_PLUS)),
    chosen=READINGS_OF_PLUS,
    settling=(
        settling(("nstorm-fig12-throughput", _LEVELS), _VARIANTS, metrics=("throughput_1s", "degradation")),
        settling((_LEVELS, "nstorm-fig11-reductions"), _VARIANTS, reading=KEPT),
        settling((_LEVELS, "nstorm-fig11-100", "nstorm-fig11-reductions"), _VARIANTS, reading=UNHURRIED),
        settling((_LEVELS, "nstorm-fig11-60", "nstorm-fig11-100"), _VARIANTS, reading=BRIEF),
    ),
)
