"""T-Storm's Log Stream Processing (section V, figure 8): T-Storm with three gammas against Storm."""

from __future__ import annotations

from functools import lru_cache, partial

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables
from storm_lab.experiments.trial import TRIALS, Trial, tried, under_trials, with_trials
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import StormVersion
from storm_lab.papers.tstorm.blade_runs import STORE_AND_QUEUE, WORKERS, lines_from_queue, on_blades
from storm_lab.papers.tstorm.gamma_runs import METRICS, gain_claim, gamma_runs, printed_gammas
from storm_lab.papers.tstorm.testbed import COMMON, TWO_CORES, TWO_CORES_NAME, VERSION
from storm_lab.workloads.access_log import APACHE, GENERATED, IIS, load_log
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.log_stream import (
    MALFORMED,
    ApplyRules,
    CountHits,
    IndexEntries,
    LogStreamCosts,
    StoreValues,
    TakeEvents,
)
from storm_lab.workloads.workload_trace import WorkloadTrace

SLUG = "tstorm-log-stream"
TOPOLOGY = "log-stream"

STABLE_S = 150.0
"""The paper compares the runs with gamma 1 from this time on."""

_CLAIMS = {1.0: "tstorm-fig8a-speedup", 1.7: "tstorm-fig8b-speedup", 2.0: "tstorm-fig8c-comparable"}
"""By gamma, the claims of figure 8 that need runs; node counts follow from the algorithm alone."""

WORKLOAD: tuple[Parameter, ...] = (
    Parameter(
        "log",
        GENERATED,
        "log that is read line by line, repeatedly: common, combined or W3C extended format; the paper uses "
        "an IIS server's log",
        choices=(GENERATED, APACHE, IIS),
        is_file=True,
    ),
    Parameter(
        "lines_per_s",
        400.0,
        "lines per second that reach the queue; not printed. From 290 on, two streams overload a blade of "
        "four cores, as in figure 10; chosen in the middle of the remaining range",
        within=(20, 500, "1/s"),
        chosen_on=("tstorm-fig10-recover",),
    ),
    WORKERS,
    Parameter(
        "ackers",
        1,
        "number of ackers, not printed; Storm's default of one leads to the 25 executors that "
        "give the printed 7 and 5 nodes",
        within=(0, 40),
    ),
    Parameter("take_us", 50.0, "CPU to take a line from the queue client", within=(10, 500, "us")),
    Parameter(
        "rules_us",
        2800.0,
        "CPU of the rules for a typical line; not printed, the middle of the range on a logarithmic scale",
        within=(1000, 8000, "us"),
    ),
    Parameter(
        "index_us",
        3200.0,
        "CPU to index a typical entry; not printed, the middle of the range on a logarithmic scale",
        within=(1000, 10000, "us"),
    ),
    Parameter("count_us", 320.0, "CPU to count an entry", within=(100, 1000, "us")),
    Parameter(
        "store_us", 950.0, "time of an insert into MongoDB, client and server", within=(300, 3000, "us")
    ),
    *STORE_AND_QUEUE,
)
"""Input and costs. A line's rules and index together take twice as long as Word Count's split, as the paper
calls this work even more intensive. The rate is near the highest for five nodes.
"""

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("gammas", (1.0, 1.7, 2.0), "consolidation factors to try (figure 8)", within=(1.0, 10.0)),
    *COMMON,
    *WORKLOAD,
    Parameter(
        "rates_tried",
        (100.0, 200.0),
        "other lines per second, played with the first seed only",
        within=(20, 500, "1/s"),
    ),
    TRIALS,
)

TRIED: tuple[Trial, ...] = (
    Trial("dear2", TWO_CORES_NAME, TWO_CORES, claims=tuple(_CLAIMS.values())),
    Trial(
        "dear2few",
        f"{TWO_CORES_NAME}, 100 lines a second",
        {**TWO_CORES, "lines_per_s": 100.0},
        claims=("tstorm-fig8b-speedup",),
        chosen_on=("tstorm-fig8b-speedup",),
    ),
)
"""Trials, each played under Storm and with every gamma."""


def topology(parameters: Parameters) -> Topology:
    """Spout and rules, then indexer and counter, with a store each (section V); groupings are not printed."""
    return _topology(parameters.integer("workers"), parameters.integer("ackers"))


def _topology(workers: int, ackers: int) -> Topology:
    # Shuffle, except for the counters, which count by path.
    by_path = Subscription("rules", grouping=Grouping.FIELDS, fields=("path",))
    by_reason = Subscription("rules", MALFORMED, grouping=Grouping.FIELDS, fields=("reason",))
    entries = {"default": ("path", "entry"), MALFORMED: ("reason",)}
    documents = {"default": ("document", "path", "terms")}
    components = (
        Component("spout", 5, outputs={"default": ("event",)}),
        Component("rules", 5, inputs=(Subscription("spout"),), outputs=entries),
        Component("indexer", 5, inputs=(Subscription("rules"),), outputs=documents),
        Component("counter", 5, inputs=(by_path, by_reason), outputs={"default": ("key", "count")}),
        Component("index-store", 2, inputs=(Subscription("indexer"),)),
        Component("count-store", 2, inputs=(Subscription("counter"),)),
    )
    return Topology(TOPOLOGY, components, workers=workers, ackers=ackers, name=TOPOLOGY)


def costs(parameters: Parameters) -> LogStreamCosts:
    """Costs of the user code."""
    store_us = parameters.number("store_us")
    cpu_us = store_us * parameters.number("store_cpu_share")
    own = {name: parameters.number(name) for name in ("take_us", "rules_us", "index_us", "count_us")}
    return LogStreamCosts(**own, store_cpu_us=cpu_us, store_server_us=store_us - cpu_us)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The figure's runs, and with the first seed other rates and trials; `UserError`: unreadable log."""
    rates = tried(parameters, "lines_per_s", "r{}", "{} lines/s", listed="rates_tried")
    return (*figure_runs(parameters), *under_trials(figure_runs, parameters, (*rates, *TRIED)))


def figure_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Storm once and T-Storm once per gamma, for every seed; `UserError` if the log cannot be read."""
    make = partial(run, log=parameters.text("log"))
    return gamma_runs(make, parameters, ("log", "rates_tried", TRIALS.name))


def run(variant: str, seed: int, values: Parameters, log: str) -> RunSpec:
    """One run over a log; `UserError` if it cannot be read."""
    inputs, files = {"log": load_log(log).digest}, {"log": log}
    return RunSpec(SLUG, variant, seed, values, describe, VERSION, inputs, files, sample_every=50)


@lru_cache(maxsize=16)
def _trace(log: str, costs: LogStreamCosts, version: StormVersion) -> WorkloadTrace:
    """Cached, as it is the same for every seed and number of workers."""
    return build_trace(
        _topology(workers=1, ackers=1),
        {
            "spout": TakeEvents(load_log(log), costs),
            "rules": ApplyRules(costs),
            "indexer": IndexEntries(costs),
            "counter": CountHits(costs),
            "index-store": StoreValues(costs),
            "count-store": StoreValues(costs),
        },
        version,
    )


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and source of a run."""
    declared = topology(spec.parameters)
    trace = _trace(spec.files["log"], costs(spec.parameters), spec.storm_version)
    return TopologyPlan(declared, trace, {"spout": lines_from_queue(spec.parameters)})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    return on_blades(spec, plan(spec))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 8 that the runs with these gammas answer."""
    return tuple(
        gain_claim(claim, tables, gamma, parameters.seeds, STABLE_S)
        for gamma, claim in printed_gammas(parameters, _CLAIMS).items()
    )


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Log Stream Processing: T-Storm against Storm's default scheduler",
    figure="Figure 8",
    parameters=PARAMETERS,
    notebook="tstorm/log_stream.ipynb",
    metrics=METRICS,
    runs=runs,
    measure=with_trials(measure, TRIED),
    chosen=TRIED,
)
