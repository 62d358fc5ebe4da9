"""One executor moves every minute: Storm's rebalance, Storm* and N-Storm (N-Storm, figures 6 to 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import (
    Samples,
    Tables,
    changes,
    measured,
    measurement,
    per_seed,
    quotients,
    reductions,
)
from storm_lab.experiments.trial import Trial, tried, under_trials, variant_of, with_trials
from storm_lab.papers.nstorm import durations
from storm_lab.papers.nstorm.runs import (
    KEPT,
    NSTORM,
    READINGS,
    REBALANCE,
    STAR,
    UNHURRIED,
    Setting,
    other_readings,
    run_specs,
    settling,
    trial_tag,
    with_other_readings,
)
from storm_lab.papers.nstorm.testbed import CALLS, COMMON, FIRST_S, PATIENCE, PERIOD_S

SLUG = "nstorm-single-migration"

PRINTED = Setting(REBALANCE, wait_s=30.0)
"""Storm with the wait that the paper prints."""

PARAMETERS: tuple[Parameter, ...] = (
    *COMMON,
    Parameter(
        "rebalance_wait_s",
        17.0,
        "wait of the rebalance command; fitted to the 279 s of figure 7 with 16 callers that pause, because "
        "the restart comes on top of the printed wait of 30 s; the printed wait is also played",
        within=(0, 60, "s"),
        chosen_on=("nstorm-fig7-storm-60",),
    ),
    Parameter(
        "waits_tried_s",
        (0.0, 7.0, 21.0),
        "other waits than the fitted and the printed one, played with the first seed only",
        within=(0, 60, "s"),
    ),
    CALLS.tried(
        (1, 2, 8),
        "other numbers of concurrent calls, played with every patience of the callers, first seeds only",
    ),
    PATIENCE.tried(
        (5.0,),
        "other patience of the callers, played with these numbers of calls: the time until a call whose "
        "tuples were lost in a move is repeated",
    ),
    Parameter(
        "trial_seeds", 2, "number of seeds with which other numbers of calls are played", within=(1, 100)
    ),
    Parameter(
        "trial_duration_s",
        FIRST_S + 3 * PERIOD_S,
        "virtual length of these runs: three complete re-assignments",
        within=(120, 7200, "s"),
    ),
    Parameter(
        "warm_up_factors_tried",
        (1.0, 2.0),
        "other costs of cold code relative to compiled code, played with the first seed only",
        within=(1, 10),
    ),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The settings, the printed wait and every reading for every seed, and trials for the first seeds."""
    methods = (fitted(parameters), STAR, NSTORM)
    settings = tuple(dict.fromkeys((*methods, PRINTED)))
    waits = [Setting(REBALANCE, wait_s=wait_s) for wait_s in parameters.numbers("waits_tried_s")]
    specs = [
        *with_other_readings(parameters, settings),
        *run_specs(parameters.with_first_seed(), [each for each in waits if each not in settings]),
    ]
    shorter = min(parameters.number("duration_s"), parameters.number("trial_duration_s"))
    few = parameters.changed(seeds=trial_seeds(parameters), duration_s=shorter)
    for calls, patience_s, tag in callers_tried(parameters):
        played = run_specs(few.changed(calls=calls, patience_s=patience_s), (STAR, NSTORM))
        specs += [replace(spec, variant=spec.variant + tag) for spec in played]
    label = "cold code {} times as dear"
    cold = tried(parameters, "warm_up_factor", "warm{}", label, listed="warm_up_factors_tried")
    return (*specs, *under_trials(lambda values: run_specs(values, methods), parameters, cold))


def callers_tried(parameters: Parameters) -> tuple[tuple[int, float, str], ...]:
    """Numbers of calls and patience of the callers to try: calls, seconds, suffix of the variants."""
    usual_s = parameters.number("patience_s")
    tags = {usual_s: ""}
    for patience_s in parameters.numbers("patience_s_tried"):
        tags.setdefault(patience_s, trial_tag("patience_s", patience_s))
    return tuple(
        (calls, patience_s, trial_tag("calls", calls) + tag)
        for calls in dict.fromkeys(parameters.integers("calls_tried"))
        for patience_s, tag in tags.items()
        if (calls, patience_s) != (parameters.integer("calls"), usual_s)
    )


def trial_seeds(parameters: Parameters) -> tuple[int, ...]:
    """The seeds with which other numbers of calls are played."""
    return parameters.seeds[: parameters.integer("trial_seeds")]


def fitted(parameters: Parameters) -> Setting:
    """Storm with the wait that is fitted to the total degradation of figure 7."""
    return Setting(REBALANCE, wait_s=parameters.number("rebalance_wait_s"))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figures 6 to 8."""
    seeds = parameters.seeds
    storm, star, ours = methods = [setting.variant for setting in (fitted(parameters), STAR, NSTORM)]
    low, stop = ({m: durations.degraded_s(tables, m, seeds, level) for m in methods} for level in (60, 100))
    each = {name: durations.mean_per_move_s(tables, name, seeds, 60) for name in methods}
    stopped = durations.mean_per_move_s(tables, storm, seeds, 100)
    shortest = durations.min_per_move_s(tables, PRINTED.variant, seeds, 100)
    quarter = per_seed(lambda low_s: low_s / parameters.number("duration_s"), low[star])
    reduced = {
        "against-storm": reductions(low[ours], low[storm]),
        "against-storm-star": reductions(low[ours], low[star]),
    }
    order = {
        f"{label}/{percent}": values[name]
        for percent, values in ((60, low), (100, stop))
        for label, name in (("n-storm", ours), ("storm-star", star), ("storm", storm))
    }
    done = {name: durations.total(tables, name, seeds) for name in methods}
    moved = "seconds at least {} % below the smooth mean, per re-assignment that the end does not cut off"
    quiet = [durations.quiet_per_s(tables, name, seeds) for name in methods]
    how_equal = "100 * (1 - slowest / fastest method), answers in the last 20 s before every re-assignment"
    how_shortest = "whole seconds without an answer, shortest re-assignment of a run with the printed wait"
    at_60_of_run = f"{durations.DEGRADED.format(60)}, over the length of the run"
    answers = f"{durations.ANSWERED}: 100 * (new / old - 1)"
    at_60, at_100, moved_60 = durations.DEGRADED.format(60), durations.DEGRADED.format(100), moved.format(60)
    return (
        measurement("nstorm-fig6-steady-equal", _spread(quiet), how=how_equal),
        measurement("nstorm-fig6-storm-stop", stopped, how=moved.format(100)),
        measurement("nstorm-rebalance-min", shortest, how=how_shortest),
        measurement("nstorm-fig6-stormstar", each[star], how=moved_60),
        measurement("nstorm-stormstar-half", quotients(each[star], each[storm]), how=moved_60),
        measurement("nstorm-existing-over-10s", each[star], how=moved_60),
        measurement("nstorm-fig6-nstorm-stop", each[ours], how=moved_60),
        measurement("nstorm-fig7-storm-60", low[storm], how=at_60),
        measurement("nstorm-fig7-storm-100", stop[storm], how=at_100),
        measurement("nstorm-fig7-stormstar-60", low[star], how=at_60),
        measurement("nstorm-fig7-stormstar-quarter", quarter, how=at_60_of_run),
        measurement("nstorm-fig7-nstorm-60", low[ours], how=at_60),
        measurement("nstorm-fig7-reductions", reduced, how=f"100 * (1 - N-Storm / other), {at_60}"),
        measurement("nstorm-fig7-order", order, how=durations.DEGRADED.format("60 or 100")),
        measurement("nstorm-fig8-stormstar-storm", changes(done[star], done[storm]), how=answers),
        measurement("nstorm-fig8-nstorm-stormstar", changes(done[ours], done[star]), how=answers),
        measurement("nstorm-fig8-nstorm-storm", changes(done[ours], done[storm]), how=answers),
    )


def wait_for(
    tables: Tables,
    waits_s: Sequence[float],
    seeds: Sequence[int],
    printed_s: float,
    reading: Trial | None = None,
) -> float | None:
    """The wait of the rebalance command that gives ``printed_s`` seconds of degradation at 60 %.

    Interpolates linearly between two neighbouring waits that were played with all these seeds: those around
    ``printed_s``, else the nearest two. None if there are no two such waits, or if the longer one does not
    degrade more.
    """
    points = []
    for wait_s in sorted(set(waits_s)):
        variant = variant_of(Setting(REBALANCE, wait_s=wait_s).variant, reading)
        low_s = measured(durations.degraded_s(tables, variant, seeds, 60)).value
        if low_s is not None:
            points.append((wait_s, low_s))
    if len(points) < 2:
        return None
    (wait_s, low), (longer_s, high) = min(
        pairwise(points), key=lambda pair: max(pair[0][1] - printed_s, printed_s - pair[1][1], 0.0)
    )
    return wait_s + (longer_s - wait_s) * (printed_s - low) / (high - low) if high > low else None


def _spread(methods: list[Samples]) -> Samples:
    """Per seed: how far the slowest method is below the fastest, in per cent."""
    return per_seed(lambda *rates: 100 * (1 - min(rates) / max(rates)) if max(rates) > 0 else None, *methods)


_METHODS = ("storm-wait17-m1", STAR.variant, NSTORM.variant)
_TABLES = ("throughput_1s", "degradation")
_DRAWN = (*_TABLES, "throughput_10s")
"""The notebook shows averages over 10 s in the paper's own setting only."""
_REDUCTIONS = "nstorm-fig7-reductions"
SETTLING = (
    settling((_REDUCTIONS, "nstorm-fig7-order", "nstorm-fig8-stormstar-storm"), _METHODS, metrics=_DRAWN),
    settling(
        (
            _REDUCTIONS,
            "nstorm-fig6-steady-equal",
            "nstorm-fig6-storm-stop",
            "nstorm-stormstar-half",
            "nstorm-fig6-nstorm-stop",
            "nstorm-fig7-storm-60",
            "nstorm-fig7-storm-100",
            "nstorm-fig7-stormstar-60",
            "nstorm-fig7-stormstar-quarter",
            "nstorm-fig7-nstorm-60",
            "nstorm-fig8-stormstar-storm",
            "nstorm-fig8-nstorm-stormstar",
            "nstorm-fig8-nstorm-storm",
        ),
        _METHODS,
        reading=UNHURRIED,
        metrics=_TABLES,
    ),
    settling(
        (
            "nstorm-fig7-storm-100",
            "nstorm-fig7-stormstar-60",
            "nstorm-fig6-steady-equal",
            "nstorm-fig6-stormstar",
            "nstorm-stormstar-half",
            "nstorm-fig6-nstorm-stop",
            "nstorm-fig8-stormstar-storm",
            "nstorm-fig8-nstorm-stormstar",
            "nstorm-fig8-nstorm-storm",
            _REDUCTIONS,
        ),
        _METHODS,
        reading=KEPT,
        metrics=_TABLES,
    ),
)
"""Claims that five seeds do not settle: the supervisors' phases decide how long each method stops."""

EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="One moved executor: Storm, Storm* and N-Storm",
    figure="Figures 6 to 8",
    parameters=PARAMETERS,
    notebook="nstorm/single_migration.ipynb",
    metrics=("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control"),
    runs=runs,
    measure=with_trials(measure, other_readings),
    chosen=READINGS,
    settling=SETTLING,
)
