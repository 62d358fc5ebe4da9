"""T-Storm's Word Count (section V, figure 6): T-Storm with three gammas against Storm's default scheduler."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

import pandas as pd

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue
from storm_lab.experiments.readings import Tables, measurement, reductions, value_of
from storm_lab.experiments.trial import TRIALS, Trial, tried, under_trials, variant_of, with_trials
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import StormVersion
from storm_lab.papers.tstorm.blade_runs import STORE_AND_QUEUE, WORKERS, lines_from_queue, on_blades
from storm_lab.papers.tstorm.gamma_runs import (
    COMPARED_FROM_S,
    FIRST_SCHEDULE_S,
    METRICS,
    at_time,
    gain_claim,
    gamma_runs,
    printed_gammas,
    processing_ms,
    spike_claim,
)
from storm_lab.papers.tstorm.testbed import COMMON, STORM, TWO_CORES, TWO_CORES_NAME, VERSION, tstorm_variant
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.text import BOOK, GENERATED, load_text
from storm_lab.workloads.word_count import CountWords, ReadLines, SplitSentence, StoreCounts, WordCountCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

SLUG = "tstorm-word-count"
TOPOLOGY = "word-count"
TRIED_S = 400.0
"""Virtual length of the runs with other insert times."""

STABLE_S = 150.0
"""The paper compares the runs with gamma 1 from this time on."""
PRINTED_SPIKE_S = 374.0
"""Time of the spike in figure 6(b)."""
TRIED_FROM_S = 250.0
"""Runs with other insert times are compared from here to their end."""

REMOVED_COSTS = {
    "crowding": ("process_penalty",),
    "memory": ("memory_slowdown",),
    "both": ("process_penalty", "memory_slowdown"),
}
"""Counterfactual -> the constants of the cost model that are set to 0: costs of a further process."""

_SETTLED = f"mean processing time after stabilisation: tuples that complete from {COMPARED_FROM_S:g} s on"
_PAPER_GAMMAS = {1.0: "6a", 1.8: "6b", 2.2: "6c"}

_GAINS = ("tstorm-fig6a-speedup", "tstorm-fig6b-speedup", "tstorm-fig6c-speedup", "tstorm-fig6-gamma-order")
TRIED: tuple[Trial, ...] = (
    Trial(
        "dear2",
        TWO_CORES_NAME,
        TWO_CORES,
        claims=("tstorm-fig6a-tstorm-ms", "tstorm-fig6a-storm-ms", *_GAINS),
        reading=True,
        chosen_on=("tstorm-fig6a-storm-ms",),
    ),
    Trial("c2", "two cores a blade", {"cores": 2}, claims=("tstorm-fig6a-storm-ms", *_GAINS)),
)
"""Trials, each played under Storm and with every gamma."""

STORE = Parameter(
    "store_us",
    2550.0,
    "time of an insert into MongoDB, client and server; fitted to T-Storm's 16.2 ms in figure 6(a)",
    within=(300, 3000, "us"),
    chosen_on=("tstorm-fig6a-tstorm-ms",),
)
WORKLOAD: tuple[Parameter, ...] = (
    Parameter(
        "text",
        GENERATED,
        "text that is read line by line, repeatedly; the paper uses Alice's Adventures in Wonderland",
        choices=(GENERATED, BOOK),
        is_file=True,
    ),
    Parameter(
        "lines_per_s",
        100.0,
        "lines per second and reader, not printed; below saturation on 5 nodes",
        within=(20, 300, "1/s"),
    ),
    WORKERS,
    Parameter(
        "ackers",
        2,
        "number of ackers, not printed; 2 or 3 give the printed 7 and 5 nodes, Storm's 1 gives 6 and 6",
        within=(0, 40),
        chosen_on=("tstorm-fig6b-nodes", "tstorm-fig6c-nodes"),
    ),
    Parameter("read_us", 50.0, "CPU to take a line from the queue client", within=(10, 500, "us")),
    Parameter(
        "split_us",
        3000.0,
        "CPU to split a line of 8 words: 100-1000 in Java, 500-3000 in a shell process (storm-starter)",
        within=(100, 3000, "us"),
    ),
    Parameter("count_us", 20.0, "CPU to count a word", within=(5, 50, "us")),
    STORE,
    *STORE_AND_QUEUE,
)
"""Input and costs."""

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("gammas", (1.0, 1.8, 2.2), "consolidation factors to try (figure 6)", within=(1.0, 10.0)),
    *COMMON,
    *WORKLOAD,
    STORE.tried(
        (1000.0, 1800.0, 2800.0),
        f"other times of an insert, played with gamma 1 and under Storm for {TRIED_S:g} s, first seed only",
    ),
    Parameter(
        "counterfactuals",
        True,
        "also play Storm without some costs of a further worker process on a node, to show what the gain at "
        f"gamma 1 consists of; for {TRIED_S:g} s, with the first seed",
    ),
    TRIALS,
)


def topology(parameters: Parameters) -> Topology:
    """Reader 2, SplitSentence 5, WordCount 5 by word, Mongo 5; Mongo's grouping is not printed: shuffle."""
    return _topology(parameters.integer("workers"), parameters.integer("ackers"))


def _topology(workers: int, ackers: int) -> Topology:
    by_word = Subscription("split", grouping=Grouping.FIELDS, fields=("word",))
    components = (
        Component("reader", 2, outputs={"default": ("line",)}),
        Component("split", 5, inputs=(Subscription("reader"),), outputs={"default": ("word",)}),
        Component("count", 5, inputs=(by_word,), outputs={"default": ("word", "count")}),
        Component("mongo", 5, inputs=(Subscription("count"),)),
    )
    return Topology(TOPOLOGY, components, workers=workers, ackers=ackers, name=TOPOLOGY)


def costs(parameters: Parameters) -> WordCountCosts:
    """Costs of the user code."""
    store_us = parameters.number("store_us")
    cpu_us = store_us * parameters.number("store_cpu_share")
    own = {name: parameters.number(name) for name in ("split_us", "read_us", "count_us")}
    return WordCountCosts.of(**own, store_cpu_us=cpu_us, store_server_us=store_us - cpu_us)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The figure's runs, and trials with one seed; `UserError` if the text cannot be read."""
    removed = map(_without, REMOVED_COSTS) if parameters.flag("counterfactuals") else ()
    trials = (*removed, *_inserts(parameters), *TRIED)
    return (*figure_runs(parameters), *under_trials(figure_runs, parameters, trials))


def figure_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Storm once and T-Storm once per gamma, for every seed; `UserError` if the text cannot be read."""
    excluded = ("text", "store_us_tried", "counterfactuals", TRIALS.name)
    return gamma_runs(partial(run, text=parameters.text("text")), parameters, excluded)


def _without(removed: str) -> Trial:
    """Storm's run without some costs of a further process."""
    changes: dict[str, ParameterValue] = {"spared": removed, "duration_s": TRIED_S, "gammas": ()}
    return Trial(f"without-{removed}", f"{removed} at no cost", changes, requested=True)


def _inserts(parameters: Parameters) -> tuple[Trial, ...]:
    also: dict[str, ParameterValue] = {"duration_s": TRIED_S, "gammas": (1.0,)}
    claims = ("tstorm-fig6a-stable",)
    return tried(parameters, STORE.name, "s{}", "inserts of {} us", claims=claims, also=also)


def run(variant: str, seed: int, values: Parameters, text: str) -> RunSpec:
    """One run over a text; `UserError` if it cannot be read."""
    inputs, files = {"text": load_text(text).digest}, {"text": text}
    return RunSpec(SLUG, variant, seed, values, describe, VERSION, inputs, files, sample_every=50)


@lru_cache(maxsize=16)
def _trace(text: str, costs: WordCountCosts, version: StormVersion) -> WorkloadTrace:
    """Cached, as it is the same for every seed and number of workers."""
    return build_trace(
        _topology(workers=1, ackers=1),
        {
            "reader": ReadLines(load_text(text), costs),
            "split": SplitSentence(costs),
            "count": CountWords(costs),
            "mongo": StoreCounts(costs),
        },
        version,
    )


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and source of a run."""
    declared = topology(spec.parameters)
    trace = _trace(spec.files["text"], costs(spec.parameters), spec.storm_version)
    readers = declared.component("reader").executors
    return TopologyPlan(declared, trace, {"reader": lines_from_queue(spec.parameters, readers)})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run; in a counterfactual one, the removed costs of a further process are 0."""
    described = on_blades(spec, plan(spec))
    if "spared" not in spec.parameters:
        return described
    removed = dict.fromkeys(REMOVED_COSTS[spec.parameters.text("spared")], 0.0)
    return replace(described, cost=replace(described.cost, **removed))


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims of figure 6 that the runs with these gammas answer."""
    seeds = parameters.seeds
    found: list[Measurement] = []
    gains: dict[float, Measurement] = {}
    for gamma, figure in printed_gammas(parameters, _PAPER_GAMMAS).items():
        variant = tstorm_variant(gamma)
        nodes = value_of(tables.steady, "nodes_last", variant, seeds)
        last = "nodes with an executor at the end of the run"
        gains[gamma] = gain_claim(f"tstorm-fig{figure}-speedup", tables, gamma, seeds, STABLE_S)
        found += [measurement(f"tstorm-fig{figure}-nodes", nodes, how=last), gains[gamma]]
        if gamma == 1.0:
            stable = at_time(tables.stabilisation, "stable_s", variant, seeds, FIRST_SCHEDULE_S)
            how = "start of the first 10 s bin from which on the mean is within 10 % of its last level"
            found.append(measurement("tstorm-fig6a-stable", stable, how=how))
            for name, played in (("tstorm", variant), ("storm", STORM)):
                level = processing_ms(tables, played, seeds, COMPARED_FROM_S)
                found.append(measurement(f"tstorm-fig6a-{name}-ms", level, how=_SETTLED))
        if gamma == 1.8:
            found += spike_claim("tstorm-fig6b-spike", tables, variant, seeds, PRINTED_SPIKE_S)
    if gains.keys() == _PAPER_GAMMAS.keys():
        values = tuple(replace(gains[gamma].values[0], label=f"gamma-{gamma:g}") for gamma in sorted(gains))
        how = "100 * (1 - T-Storm / Storm), as for the three panels"
        found.append(Measurement("tstorm-fig6-gamma-order", values, "%", how))
    return tuple(found)


def gain_parts(tables: Tables, seed: int) -> pd.DataFrame:
    """T-Storm's gain with gamma 1 over Storm, and over Storm without some costs of a further process.

    One row per run of Storm: spared (what it does not pay, "nothing" first), storm_ms, tstorm_ms and gain_%
    (the reduction). Tuples that complete from `TRIED_FROM_S` on count. Runs that were not played have no row.
    """
    known = set(tables.latency_10s["variant"])
    (ours,) = processing_ms(tables, tstorm_variant(1.0), (seed,), TRIED_FROM_S)
    variants = {"nothing": STORM, **{name: variant_of(STORM, _without(name)) for name in REMOVED_COSTS}}
    rows = []
    for name, variant in variants.items():
        if variant in known and ours is not None:
            storms = processing_ms(tables, variant, (seed,), TRIED_FROM_S)
            rows.append((name, *storms, ours, *reductions([ours], storms)))
    return pd.DataFrame(rows, columns=["spared", "storm_ms", "tstorm_ms", "gain_%"])


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Word Count: T-Storm against Storm's default scheduler",
    figure="Figure 6",
    parameters=PARAMETERS,
    notebook="tstorm/word_count.ipynb",
    metrics=(*METRICS, "steady_traffic_share", "stays", "stabilisation", "spikes", "nodes"),
    runs=runs,
    measure=with_trials(measure, lambda parameters: (*_inserts(parameters), *TRIED)),
    settling=(
        Settling(
            ("tstorm-fig6a-speedup", "tstorm-fig6a-storm-ms"),
            (f"{STORM}-dear2", f"{tstorm_variant(1.0)}-dear2"),
            reading=TWO_CORES_NAME,
            metrics=("latency_10s",),
        ),
    ),
    chosen=TRIED,
)
