"""T-Storm relieves an overloaded Word Count (section V, figure 9)."""

from __future__ import annotations

from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, by_label, measurement
from storm_lab.experiments.trial import Trial, with_trials
from storm_lab.papers.tstorm.overload_relief import (
    DROP,
    GAMMAS,
    MAX_FAILED_SHARE,
    NOTICED,
    RELIEVED,
    STREAMS,
    after_ms,
    describe_word_count,
    detected_s,
    drop,
    first_schedule_nodes,
    nodes_at,
    rate_trials,
    relief_runs,
)
from storm_lab.papers.tstorm.testbed import COMMON
from storm_lab.papers.tstorm.word_count import WORKLOAD, run

SLUG = "tstorm-overload-wordcount"

PARAMETERS: tuple[Parameter, ...] = (
    *GAMMAS,
    STREAMS,
    *COMMON,
    *WORKLOAD,
    Parameter(
        "rates_tried",
        (60.0,),
        "other lines per second, reader and stream, played with the first seed only: few enough for the "
        "five database bolts to keep up",
        unit="1/s",
        low=20,
        high=500,
    ),
)
"""Two streams at figure 6's rate are more than the five database bolts can store on any number of nodes."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma, the first with other gammas and rates; `UserError`: unreadable text."""
    make, trials = partial(run, text=parameters.text("text")), _trials(parameters)
    return relief_runs(SLUG, describe_word_count, make, parameters, trials, ("text", "rates_tried"))


def _trials(parameters: Parameters) -> tuple[Trial, ...]:
    return rate_trials(parameters, "{} lines a second, reader and stream", claims=("tstorm-fig9-recover",))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
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
        f"{DROP}, where at most {MAX_FAILED_SHARE:.0%} of the tuples fail; nodes when the overload is "
        "noticed and in the first schedule made"
    )
    return (
        measurement("tstorm-fig9-detect", noticed, unit="s", how=NOTICED),
        by_label("tstorm-fig9-recover", recovered, unit="mixed", how=how),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Word Count in one worker: T-Storm notices the overload and spreads it",
    figure="Figure 9",
    parameters=PARAMETERS,
    notebook="tstorm/overload_wordcount.ipynb",
    metrics=("latency_10s", "failures_10s", "occupancy", "events", "control"),
    runs=runs,
    measure=with_trials(measure, _trials),
)
