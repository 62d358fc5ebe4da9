"""Max spout pending (section 3.3.3): a sweep of static limits, and the tuner from several first values.

The paper names no topology. This one reads a log faster than it can process it: four spout executors, a bolt
with heavy work and a counter, on one machine. Lines that wait in the log cost nothing; tuples that wait in
the topology time out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pandas as pd

from storm_lab.emulator.control.control_plane import Service
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.experiments.readings import Samples, Tables, details, mean_over, measurement, of_run, quotients
from storm_lab.model.topology import Topology
from storm_lab.model.version import StormVersion
from storm_lab.monitoring.pending_tuner import CommittedOffset, PendingTuning, TunerSettings
from storm_lab.papers.twitter.event_counting import READ_US
from storm_lab.papers.twitter.testbed import VERSION, counting, kafka_log, machines, passing, spouts, trace_of
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.client_events import ClientEventCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

SLUG = "twitter-max-spout-pending"
TOPOLOGY = "heavy-work"
SPOUTS = 4
WORKERS = 4

NO_LIMIT = 0
CONVERGED = 0.75
"""Share of a run after which the tuner is assumed to have converged."""

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation of every setting per seed; nothing is printed"),
    Parameter(
        "limits",
        (1, 2, 5, 10, 30, 100, 300, 1000),
        "static limits to try, in root tuples per spout task; runs without a limit are played, too",
        within=(1, 10_000),
    ),
    Parameter(
        "first_limits", (2, 50, 1000), "limits that the tuner starts from; not printed", within=(1, 1000)
    ),
    Parameter("static_s", 600.0, "virtual length of a run with a fixed limit", within=(300, 3600, "s")),
    Parameter("tuned_s", 3600.0, "virtual length of a run with the tuner", within=(1200, 14400, "s")),
    Parameter(
        "period_s", 120.0, "time between two calls of the tuner (section 3.3.3)", within=(30, 600, "s")
    ),
    Parameter(
        "similar",
        0.05,
        "relative difference up to which progress counts as similar; not printed",
        within=(0.01, 0.10),
    ),
    Parameter(
        "lines_per_s",
        80.0,
        "lines that arrive in the log; more than the machine can process",
        within=(10, 500, "1/s"),
    ),
    Parameter("work_ms", 200.0, "CPU of the heavy bolt for a tuple", within=(20, 500, "ms")),
)


def topology(limit: int) -> Topology:
    """Spout 4, work 24, count 8, one acker per worker; ``limit`` 0 means no limit."""
    layers = (spouts(SPOUTS), passing("work", 24), counting("count", 8, "work"))
    return Topology(TOPOLOGY, layers, workers=WORKERS, ackers=WORKERS, max_spout_pending=limit or None)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every static limit, no limit, the tuner from every first value, and spouts without message ids."""
    limits = parameters.integers("limits")
    load = parameters.only(("lines_per_s", "work_ms"))
    static = load.changed(duration_s=parameters.number("static_s"))
    tuned = load.changed(duration_s=parameters.number("tuned_s"), **parameters.only(("period_s", "similar")))
    settings = {
        tuner_variant(first): tuned.changed(first_limit=first, anchored=True)
        for first in parameters.integers("first_limits")
    }
    for limit in (*limits, NO_LIMIT):
        settings[static_variant(limit)] = static.changed(limit=limit, anchored=True)
    for limit in (min(limits), NO_LIMIT):
        settings[unreliable_variant(limit)] = static.changed(limit=limit, anchored=False)
    return tuple(
        RunSpec(SLUG, variant, seed, values, describe, VERSION, sample_every=100)
        for variant, values in settings.items()
        for seed in parameters.seeds
    )


@lru_cache(maxsize=8)
def _trace(seed: int, work_us: float, version: StormVersion) -> WorkloadTrace:
    """Cached, as it is the same for every limit."""
    costs = ClientEventCosts(
        read_us=READ_US, distribute_us=work_us, count_us=12.0, aggregate_us=0.0, event_bytes=150
    )
    return trace_of(topology(0), costs, seed, version, events=5000, users=1_000_000)


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and source of a run."""
    values = spec.parameters
    declared = topology(values.integer("limit") if "limit" in values else 0)
    trace = _trace(spec.seed, values.number("work_ms") * 1000, spec.storm_version)
    rate = values.number("lines_per_s")
    source = kafka_log(rate)
    if not values.flag("anchored"):
        source = SourcePlan(SourceKind.RATE, rate_per_s=rate, anchored=False)
    return TopologyPlan(declared, trace, {"spout": source})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run, with a tuner if it has a first limit."""
    values = spec.parameters
    services: tuple[Service, ...] = ()
    if "first_limit" in values:
        settings = TunerSettings(first=values.integer("first_limit"), similar=values.number("similar"))
        services = (PendingTuning(TOPOLOGY, values.number("period_s"), settings, CommittedOffset()),)
    return replace(
        spec.described(machines(1), (plan(spec),), DefaultScheduler()),
        services=services,
        window_s=60.0,
        warm_up_s=values.number("duration_s") / 2,
    )


def static_variant(limit: int) -> str:
    """Variant of the runs with this limit."""
    return f"static-{limit or 'none'}"


def tuner_variant(first: int) -> str:
    """Variant of the runs whose tuner starts from this limit."""
    return f"tuner-from-{first}"


def unreliable_variant(limit: int) -> str:
    """Variant of the runs without message ids and with this limit."""
    return f"unreliable-{limit or 'none'}"


def progress_per_s(tables: Tables, variant: str, seeds: Sequence[int], from_s: float) -> Samples:
    """Lines acked per second from ``from_s`` on; a line is acked once, however often it is emitted."""
    return mean_over(tables.throughput_60s, "acked_per_s", variant, seeds, from_s=from_s, weight="width_s")


def best_static(tables: Tables, parameters: Parameters, seeds: Sequence[int]) -> tuple[int, list[float]]:
    """The limit with the most progress over all seeds, and its progress in lines per second, by seed."""
    half = parameters.number("static_s") / 2
    found = {
        limit: [rate or 0.0 for rate in progress_per_s(tables, static_variant(limit), seeds, half)]
        for limit in parameters.integers("limits")
    }
    best = max(found, key=lambda limit: sum(found[limit]))
    return best, found[best]


def tuning(tables: Tables, variant: str, seed: int) -> pd.DataFrame:
    """The tuner's calls: ``time_s``, ``action``, ``before`` and ``limit``."""
    rows = of_run(tables.control, variant, seed)
    rows = rows[rows["actor"] == "tuner"].sort_values("time_s")
    facts = pd.DataFrame(details(rows), columns=["before", "limit"], index=rows.index)
    return rows[["time_s", "action"]].join(facts).reset_index(drop=True)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of section 3.3.3."""
    seeds = parameters.seeds
    half = parameters.number("static_s") / 2
    smallest = min(parameters.integers("limits"))
    best_limit, best = best_static(tables, parameters, seeds)
    window = f"lines acked from {half:g} s on; best static limit: {best_limit}"
    starved = progress_per_s(tables, static_variant(smallest), seeds, half)
    unlimited = progress_per_s(tables, static_variant(NO_LIMIT), seeds, half)
    tuned_from = CONVERGED * parameters.number("tuned_s")
    # The worst of the first values: the tuner must find its way from all of them.
    starts = [tuner_variant(first) for first in dict.fromkeys(parameters.integers("first_limits"))]
    rates = zip(*(progress_per_s(tables, each, seeds, tuned_from) for each in starts), strict=True)
    tuned = [min((rate for rate in own if rate is not None), default=None) for own in rates]
    failures = [of_run(tables.failures_60s, static_variant(NO_LIMIT), seed) for seed in seeds]
    large: dict[str, Samples] = {
        "timed-out": [float(rows["failed"].sum()) for rows in failures],
        "replayed": [float(rows["replayed"].sum()) for rows in failures],
        "progress": quotients(unlimited, best),
    }
    no_limit = f"no limit, more lines than the machine can work off; {window}"
    parts = tables.component_throughput_60s
    of_spouts = parts[parts["component"] == "spout"]
    limited, free = (
        [float(of_run(of_spouts, unreliable_variant(limit), seed)["emitted"].sum()) for seed in seeds]
        for limit in (smallest, NO_LIMIT)
    )
    apart = [abs(a - b) for a, b in zip(limited, free, strict=True)]
    emitted = "tuples emitted by the spouts in the whole run"
    worst = f"lines acked from {tuned_from:g} s on with the worst first limit, over the best static one"
    return (
        measurement("twitter-msp-small", quotients(starved, best), how=window),
        measurement("twitter-msp-large", large, how=no_limit),
        measurement("twitter-msp-autotune", quotients(tuned, best), how=worst),
        measurement("twitter-msp-unreliable", apart, how=emitted),
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="Max spout pending: static limits against the tuner",
    figure="Section 3.3.3",
    parameters=PARAMETERS,
    notebook="twitter/max_spout_pending.ipynb",
    metrics=("latency_60s", "throughput_60s", "component_throughput_60s", "failures_60s", "control"),
    runs=runs,
    measure=measure,
    settling=(Settling(("twitter-msp-autotune",), seeds=10),),
)
