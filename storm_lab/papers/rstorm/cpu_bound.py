"""R-Storm's CPU-bound micro-benchmarks (figures 9 and 10): spouts and bolts that compute for each tuple.

Spouts sleep between emits, so the machines have more CPU than the topologies use: how many are occupied?

Two things are open: how many workers the default scheduler had, and whether mean CPU use is over the machines
in use or over all twelve. Default is therefore played with twelve workers, for which most of the authors'
files ask, and with one, which Storm uses if a file asks for none. Verdicts use the number of the authors'
code: one for the star, else twelve. In the other reading the star has twelve, too, because the paper says
that default spreads each topology over all machines. Neither reading yields all claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue
from storm_lab.experiments.readings import (
    Samples,
    Tables,
    by_seed,
    measured,
    measurement,
    of_run,
    per_seed,
    quotients,
    value_of,
)
from storm_lab.experiments.trial import TRIALS, Trial, explained, runs_of
from storm_lab.papers.rstorm.emulab_runs import DEFAULT, RSTORM, on_emulab, topology_plan
from storm_lab.papers.rstorm.layouts import ASKED_WORKERS, MICRO, layout
from storm_lab.papers.rstorm.sinks import gains, rates_of
from storm_lab.papers.rstorm.testbed import CLOCK, MACHINES, SEEDS, VERSION, emulab
from storm_lab.papers.rstorm.usercode import Effort

SLUG = "rstorm-cpu-bound"

WORKER_READINGS = (MACHINES, 1)
"""Workers that the topologies may have asked the default scheduler for."""
SATURATED_PERCENT = 95.0
"""CPU use at which a machine counts as overloaded; the paper gives no number."""

_CHANGE = "100 * (R-Storm / default - 1)"
IN_USE = "utilisation_used_nodes"
ALL = "utilisation_all_nodes"

PARAMETERS: tuple[Parameter, ...] = (
    SEEDS,
    Parameter(
        "duration_s", 200.0, "virtual length of a run; the paper's took 15 minutes", within=(60, 900, "s")
    ),
    Parameter("from_s", 100.0, "time from which means are taken", within=(20, 800, "s")),
    CLOCK,
    Parameter(
        "work_ms",
        20.0,
        "CPU for each tuple in spouts and bolts on these machines: trial division of 300..1999 in the "
        "authors' code, about two million remainders. These hosts divide slowly: upper end of the range",
        within=(10, 20, "ms"),
    ),
    Parameter(
        "sleep_ms", 100.0, "sleep of a spout before each emit, from the authors' code", within=(0, 1000, "ms")
    ),
    Parameter(
        "idle_share",
        CostModel().idle_jvm_share,
        "cores that the housekeeping of a worker process takes on the cost model's machines; not printed. "
        "The default covers only its heartbeat",
        within=(0.0, 0.1, "cores"),
    ),
    TRIALS,
)

LIVE_IDLE_SHARE = 0.036
"""Cores that all housekeeping of a worker takes: threads of live Storm 0.9.2 took 11.5, 15.9 and 16.7 ms/s in
three sets of recordings, on cores that are 2.6 times as fast as the cost model's (0.030 to 0.043)."""

TRIED: tuple[Trial, ...] = (
    Trial("work10", "10 ms a tuple", {"work_ms": 10.0}),
    Trial(
        "sleep47",
        "spouts that sleep 47 ms",
        {"sleep_ms": 47.0},
        claims=("rstorm-fig10-star-cpu", "rstorm-star-bottleneck"),
        chosen_on=("rstorm-fig10-star-cpu",),
    ),
    Trial("sleep0", "spouts that never sleep", {"sleep_ms": 0.0}),
    Trial("sleep1000", "spouts that sleep 1 s", {"sleep_ms": 1000.0}, claims=("rstorm-parallelism-ceiling",)),
    Trial(
        "idle",
        "idle workers as in live Storm",
        {"idle_share": LIVE_IDLE_SHARE},
        claims=("rstorm-fig10-linear-cpu", "rstorm-fig10-diamond-cpu", "rstorm-fig10-star-cpu"),
        reading=True,
    ),
)

STAR_TWELVE_WORKERS = "twelve default workers for the star, too"
"""The other reading of the number of workers that the star asked for."""


def settings(topology: str) -> dict[str, tuple[str, int]]:
    """A topology's runs by name: scheduler, and workers that the topology asks for."""
    found = {default_setting(topology, workers): (DEFAULT, workers) for workers in WORKER_READINGS}
    # R-Storm uses the workers that it needs, however many the topology asks for.
    return {**found, rstorm_setting(topology): (RSTORM, MACHINES)}


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each topology under default with both worker counts and under R-Storm, and the trials."""
    chosen: dict[str, dict[str, ParameterValue]] = {
        setting: {"topology": topology, "scheduler": scheduler, "workers": workers}
        for topology in MICRO
        for setting, (scheduler, workers) in settings(topology).items()
    }
    make = partial(RunSpec, SLUG, describe=describe, storm_version=VERSION)
    return runs_of(make, chosen, parameters, parameters.without("seeds", "trials"), TRIED)


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values = spec.parameters
    clock_mhz = values.number("clock_mhz")
    made = layout(
        values.text("topology"), workers=values.integer("workers"), spout_sleep_ms=values.number("sleep_ms")
    )
    # The parameter is CPU on these machines, but a trace holds CPU at the cost model's clock.
    effort = Effort(work_us=values.number("work_ms") * 1000.0 * clock_mhz / CostModel().reference_mhz)
    plan = topology_plan(made.topology, made.definitions, (), effort=effort, timed=True)
    described = on_emulab(spec, emulab(core_mhz=clock_mhz), plan)
    return replace(described, cost=replace(described.cost, idle_jvm_share=values.number("idle_share")))


def default_setting(topology: str, workers: int | None = None) -> str:
    """Name of a topology's run under default, by default with the workers that the authors' code asks for."""
    return f"{topology}-default-w{ASKED_WORKERS[topology] if workers is None else workers}"


def rstorm_setting(topology: str) -> str:
    """Name of a topology's run under R-Storm."""
    return f"{topology}-rstorm"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figures 9 and 10 as in the authors' code, in the other reading, and in trials."""
    return (
        *_measure(tables, parameters),
        *(replace(m, reading=STAR_TWELVE_WORKERS) for m in _measure_star(tables, parameters, MACHINES)),
        *explained(_measure, tables, parameters, TRIED),
    )


def _measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    seeds, from_s = parameters.seeds, parameters.number("from_s")
    window = f"from {from_s:g} s on"
    throughput = {t: throughput_change(tables, t, seeds, from_s) for t in MICRO}
    how = f"{_CHANGE}, mean tuples per 10 s at the output bolts {window}"
    how_cpu = f"{_CHANGE}, mean CPU use {window}; machines in use, default with 12 workers"
    linear, diamond = (cpu_change(tables, t, seeds, IN_USE) for t in ("linear", "diamond"))
    return (
        measurement("rstorm-fig9a-thr", throughput["linear"], how=how),
        measurement("rstorm-fig9b-thr", throughput["diamond"], how=how),
        measurement("rstorm-fig10-linear-cpu", linear, how=how_cpu),
        measurement("rstorm-fig10-diamond-cpu", diamond, how=how_cpu),
        *_measure_star(tables, parameters, ASKED_WORKERS["star"]),
        _measure_ceiling(tables, throughput, seeds, window),
    )


def _measure_star(tables: Tables, parameters: Parameters, workers: int) -> tuple[Measurement, ...]:
    """Measure the claims that depend on how many workers the star asks the default scheduler for.

    With a single worker the mean CPU use is over all machines; over the machine in use it could only fall.
    """
    seeds, from_s = parameters.seeds, parameters.number("from_s")
    window = f"from {from_s:g} s on"
    asked = {**ASKED_WORKERS, "star": workers}
    column, star = (
        (ALL, "all 12 machines, default with 1 worker")
        if workers == 1
        else (IN_USE, f"machines in use, default with {workers} workers")
    )
    cpu = {t: cpu_change(tables, t, seeds, column if t == "star" else IN_USE, asked[t]) for t in MICRO}
    setting = default_setting("star", workers)
    rates = {
        "default": rates_of(tables, "star", setting, seeds, from_s),
        "r-storm": rates_of(tables, "star", rstorm_setting("star"), seeds, from_s),
    }
    at_sinks = f"mean tuples per 10 s at the output bolts {window}; {star}"
    use = [one for seed in seeds if len(one := machine_use(tables, setting, seed, from_s))]
    load: dict[str, Samples] = {
        "busiest": [float(one.max()) for one in use],
        "saturated": [float((one >= SATURATED_PERCENT).sum()) for one in use],
    }
    saturated = f"saturated: {SATURATED_PERCENT:g} % or more"
    minutes = f"CPU use of machines in minutes {window}, {star}; {saturated}"
    occupied = {t: machines(tables, default_setting(t, asked[t]), seeds) for t in MICRO}
    workers_asked = ", ".join(f"{asked[t]} workers for {t}" for t in MICRO)
    spread = f"machines with an executor, default with {workers_asked}"
    change = f"{_CHANGE}, mean CPU use {window}"
    each = f"{change}; linear and diamond: machines in use, default with 12 workers; star: {star}"
    return (
        measurement("rstorm-fig10-star-cpu", cpu["star"], how=f"{change}; {star}"),
        measurement("rstorm-fig9c-thr", rates, how=at_sinks),
        measurement("rstorm-star-bottleneck", load, how=minutes),
        measurement("rstorm-default-all-nodes", occupied, how=spread),
        measurement("rstorm-headline-cpu", cpu, how=each),
    )


def throughput_change(
    tables: Tables, topology: str, seeds: Sequence[int], from_s: float, workers: int | None = None
) -> Samples:
    """Gain of R-Storm at the sinks, in percent of default's throughput."""
    return gains(
        rates_of(tables, topology, rstorm_setting(topology), seeds, from_s),
        rates_of(tables, topology, default_setting(topology, workers), seeds, from_s),
    )


def cpu_change(
    tables: Tables, topology: str, seeds: Sequence[int], column: str, workers: int | None = None
) -> Samples:
    """Change of mean CPU use from default to R-Storm, in percent; ``column`` is `IN_USE` or `ALL`."""
    return gains(
        value_of(tables.steady_cpu, column, rstorm_setting(topology), seeds),
        value_of(tables.steady_cpu, column, default_setting(topology, workers), seeds),
    )


def machines(tables: Tables, setting: str, seeds: Sequence[int]) -> Samples:
    """Machines with an executor, by seed."""
    return by_seed(tables.stays, setting, seeds, lambda rows: float(rows["node"].nunique()))


def latency(tables: Tables, topology: str, setting: str, seeds: Sequence[int]) -> Samples:
    """Mean time from a root tuple's emit to the end of its execution at a sink, in ms."""

    def mean(rows: pd.DataFrame) -> float | None:
        tuples = int(rows["tuples"].sum())
        return float((rows["end_mean_ms"] * rows["tuples"]).sum()) / tuples if tuples else None

    rows = tables.steady_elapsed
    at_sinks = rows[(rows["topology"] == topology) & rows["component"].isin(layout(topology).sinks)]
    return by_seed(at_sinks, setting, seeds, mean)


def machine_use(tables: Tables, setting: str, seed: int, from_s: float) -> pd.Series[float]:
    """CPU use of every machine in percent, averaged over the full minutes from ``from_s`` on."""
    rows = of_run(tables.node_cpu_60s, setting, seed)
    return 100.0 * rows[rows["t_s"] >= from_s].groupby("node")["utilisation"].mean()


def _measure_ceiling(
    tables: Tables, throughput: dict[str, Samples], seeds: Sequence[int], window: str
) -> Measurement:
    """Measure the claim on the ceiling with linear or diamond, whichever contradicts it more."""
    gained, later = [], []
    for t in ("linear", "diamond"):
        slower, ours = (latency(tables, t, name, seeds) for name in (default_setting(t), rstorm_setting(t)))
        later.append(measured(quotients(slower, ours)))
        gained.append(measured(per_seed(lambda v: 100.0 * (1.0 / (1.0 + v / 100.0) - 1.0), throughput[t])))
    furthest = max(gained, key=lambda m: float("inf") if m.value is None else abs(m.value))
    least = min(later, key=lambda m: float("-inf") if m.value is None else m.value)
    how = (
        f"default on 12 machines against R-Storm on 6 and 7 {window}: throughput at the output bolts in %, "
        "and time from a root tuple's emit to its execution there as a quotient; the worse of linear and "
        "diamond"
    )
    labelled = (("throughput-change", furthest), ("latency-quotient", least))
    values = tuple(replace(each, label=label, seeds=0) for label, each in labelled)
    return Measurement("rstorm-parallelism-ceiling", values, "mixed", how)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="CPU-bound micro-benchmarks: linear, diamond and star",
    figure="Figures 9 and 10",
    parameters=PARAMETERS,
    notebook="rstorm/cpu_bound.ipynb",
    metrics=("component_throughput_10s", "stays", "node_cpu_60s", "steady_cpu", "steady_elapsed"),
    runs=runs,
    measure=measure,
    chosen=TRIED,
)
