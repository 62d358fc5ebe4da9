"""T-Storm's second observation (section III, figure 3): five spout executors overload single bolts."""

from __future__ import annotations

from functools import partial

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement, of_run, quotients
from storm_lab.experiments.trial import Trial, runs_of, tried, with_trials
from storm_lab.papers.tstorm.chain import BOLT_MS, SHARED, describe, settled_from_s
from storm_lab.papers.tstorm.gamma_runs import processing_ms
from storm_lab.papers.tstorm.testbed import VERSION

SLUG = "tstorm-obs2-overload"

LIGHT = "spouts-1"
OVERLOADED = "spouts-5"
OVERLOADED_FIVE_NODES = "spouts-5-n5w5"
"""The other reading of where the executors ran: on five nodes, with one worker each."""

TIMEOUT_S = 30.0
ONSET_S = TIMEOUT_S / 2
"""The overload has set in once the processing time reaches half the message timeout."""

PARAMETERS: tuple[Parameter, ...] = (
    *SHARED,
    BOLT_MS.tried((2.2, 3.0, 4.0, 5.0), "other CPU costs of a bolt, played with the first seed only"),
    Parameter("duration_s", 300.0, "virtual length of a run; not printed", within=(60, 1200, "s")),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """One and five spout executors in one worker with every seed, and the trials: five nodes, other bolts."""
    shared = parameters.only(("tuple_kb", "duration_s", "service_cv", "bolt_ms")).changed(workers=1)
    settings = {LIGHT: {"spouts": 1}, OVERLOADED: {"spouts": 5}}
    make = partial(RunSpec, SLUG, describe=describe, storm_version=VERSION, sample_every=100)
    return runs_of(make, settings, parameters, shared, _trials(parameters))


def _trials(parameters: Parameters) -> tuple[Trial, ...]:
    label = "five workers on five nodes, as in figure 2"
    claims = ("tstorm-fig3b-overload-failures",)
    return (
        Trial("n5w5", label, {"workers": 5}, only=OVERLOADED, reading=True),
        *tried(parameters, "bolt_ms", "b{}", "bolts of {} ms", claims=claims, only=OVERLOADED),
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 3."""
    seeds = parameters.seeds
    start = settled_from_s(parameters)
    last = [last_minute_ms(tables, OVERLOADED, seed) for seed in seeds]
    slower = quotients(last, processing_ms(tables, LIGHT, seeds, start))
    failed = [failures_around_onset(tables, OVERLOADED, seed) for seed in seeds]
    around = {"before": [before for before, _ in failed], "after": [after for _, after in failed]}
    latency = (
        "mean processing time in the last minute that has acked tuples, with five spout executors, over the "
        f"mean from {start:g} s on with one"
    )
    bins = "the first 10 s bin with a mean processing time above"
    onset = f"failed root tuples before and from {bins} {ONSET_S:g} s on"
    return (
        measurement("tstorm-fig3a-overload-latency", slower, how=latency),
        measurement("tstorm-fig3b-overload-failures", around, how=onset),
    )


def last_minute_ms(tables: Tables, variant: str, seed: int) -> float | None:
    """Mean processing time of the last minute in which tuples are acked; None if none ever is."""
    ends = of_run(tables.latency_10s, variant, seed)["t_s"]
    return processing_ms(tables, variant, (seed,), float(ends.max()) - 50.0)[0]


def failures_around_onset(tables: Tables, variant: str, seed: int) -> tuple[float, float]:
    """Root tuples that fail before and after the overload sets in; if it never does, all count as before."""
    failures = of_run(tables.failures_10s, variant, seed)
    latency = of_run(tables.latency_10s, variant, seed)
    late = latency[latency["processing_mean_ms"] > ONSET_S * 1000]["t_s"]
    onset = float(late.min()) if len(late) else float("inf")
    before = int(failures[failures["t_s"] < onset]["failed"].sum())
    return float(before), float(int(failures["failed"].sum()) - before)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Observation 2: more spout executors than the bolts can take",
    figure="Figure 3",
    parameters=PARAMETERS,
    notebook="tstorm/overload.ipynb",
    metrics=("latency_10s", "latency_60s", "throughput_60s", "failures_10s", "failures_60s", "steady"),
    runs=runs,
    measure=with_trials(measure, _trials, (LIGHT,)),
)
