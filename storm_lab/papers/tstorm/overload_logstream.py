"""T-Storm relieves an overloaded Log Stream Processing (section V, figure 10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, beside, measurement
from storm_lab.papers.tstorm.log_stream import WORKLOAD, run
from storm_lab.papers.tstorm.overload_relief import (
    GAMMAS,
    STREAMS,
    describe_log_stream,
    rate_variant,
    relief_settings,
)
from storm_lab.papers.tstorm.relief_readings import (
    BEFORE_S,
    NOTICED,
    RELIEVED,
    SETTLED_S,
    after_ms,
    before_ms,
    first_schedule_nodes,
    noticed_s,
    quotients,
)
from storm_lab.papers.tstorm.testbed import COMMON

SLUG = "tstorm-overload-logstream"
TRIED_S = 300.0
"""Virtual length of the runs that only show when the overload is noticed."""

PARAMETERS: tuple[Parameter, ...] = (
    *GAMMAS,
    Parameter(
        "windows_tried",
        (2, 4, 5, 6),
        f"other numbers of windows that make an overload, played for {TRIED_S:g} s with the first seed only",
        low=2,
        high=15,
    ),
    Parameter(
        "gammas_unacked",
        (1.5,),
        "consolidation factors to play without ackers, which makes 24 executors of 25, for "
        f"{TRIED_S:g} s with the first seed only",
        low=1.0,
        high=1.7,
    ),
    Parameter(
        "rates_tried",
        (130.0, 160.0),
        f"other lines per second and stream, played for {TRIED_S:g} s with the first seed only",
        unit="1/s",
        low=20,
        high=500,
    ),
    STREAMS,
    *COMMON,
    *WORKLOAD,
)
"""A stream brings figure 8's rate: two of them are more than one node can do."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma; the first seed with other gammas, rules and rates.

    Raises:
        UserError: the log cannot be read.
    """
    apart = ("windows_tried", "rates_tried", "gammas_unacked")
    settings = relief_settings(PARAMETERS, parameters, file="log", apart=apart)
    return tuple(
        replace(
            run(variant, seed, values, parameters.text("log")),
            experiment=SLUG,
            describe=describe_log_stream,
        )
        for variant, seed, values in (*settings, *_tried(parameters, settings[0]))
    )


def _tried(
    parameters: Parameters, main: tuple[str, int, Parameters]
) -> Iterator[tuple[str, int, Parameters]]:
    """Short runs with another rule or another rate, for the time at which the overload is noticed."""
    _, seed, values = main
    short = values.changed(duration_s=TRIED_S)
    for windows in dict.fromkeys(parameters.integers("windows_tried")):
        if windows != parameters.integer("overload_windows"):
            yield rule_variant(windows), seed, short.changed(overload_windows=windows)
    for gamma in dict.fromkeys(parameters.numbers("gammas_unacked")):
        yield unacked_variant(gamma), seed, short.changed(gamma=gamma, ackers=0)
    for rate in dict.fromkeys(parameters.numbers("rates_tried")):
        if rate != parameters.number("lines_per_s"):
            both = rate * parameters.integer(STREAMS.name)
            yield rate_variant(rate), seed, short.changed(lines_per_s=both)


def rule_variant(windows: int) -> str:
    """Variant of a run in which so many windows make an overload."""
    return f"{RELIEVED}-w{windows}"


def unacked_variant(gamma: float) -> str:
    """Variant of a run without ackers."""
    return f"{RELIEVED}-a0-g{gamma:g}"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of figure 10, with other rules for an overload, and without ackers."""
    first = parameters.changed(seeds=parameters.integers("seeds")[:1])
    trials = [
        (rule_variant(windows), f"{windows} windows in a row make an overload", "tstorm-fig10-detect")
        for windows in dict.fromkeys(parameters.integers("windows_tried"))
    ] + [
        (unacked_variant(gamma), f"no ackers, gamma {gamma:g}", "tstorm-fig10-nodes")
        for gamma in dict.fromkeys(parameters.numbers("gammas_unacked"))
    ]
    return (
        *_measure(tables, parameters),
        *(
            found
            for variant, name, claim in trials
            for found in beside(
                _measure, tables, first, variant.removeprefix(RELIEVED), name, claims=(claim,)
            )
        ),
    )


def _measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    drop = quotients(before_ms(tables, RELIEVED, seeds), after_ms(tables, RELIEVED, seeds))
    return (
        measurement("tstorm-fig10-detect", noticed_s(tables, RELIEVED, seeds), unit="s", how=NOTICED),
        measurement(
            "tstorm-fig10-nodes",
            first_schedule_nodes(tables, RELIEVED, seeds),
            unit="nodes",
            how="nodes of the first schedule that the generator makes",
        ),
        measurement(
            "tstorm-fig10-recover",
            drop,
            unit="ratio",
            how=f"mean processing time in the {BEFORE_S:g} s before the re-assignment over that from "
            f"{SETTLED_S:g} s on",
        ),
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
    measure=measure,
)
