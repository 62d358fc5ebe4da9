"""T-Storm's Word Count (section V, figure 6): T-Storm with three gammas against Storm's default scheduler."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.settling import Settling
from storm_lab.experiments.trial import TRIALS, under_trials, variant_of
from storm_lab.model.topology import Component, Grouping, Subscription, Topology
from storm_lab.model.version import StormVersion
from storm_lab.papers.tstorm.blade_runs import lines_from_queue, storm_or_tstorm
from storm_lab.papers.tstorm.gamma_runs import gamma_settings
from storm_lab.papers.tstorm.testbed import COMMON, STORM, VERSION, tstorm_variant
from storm_lab.papers.tstorm.word_count_measures import (
    REMOVED_COSTS,
    TRIED,
    measure,
    tried_variant,
    without_cost_variant,
)
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.text import BOOK, GENERATED, load_text
from storm_lab.workloads.word_count import CountWords, ReadLines, SplitSentence, StoreCounts, WordCountCosts
from storm_lab.workloads.workload_trace import WorkloadTrace

SLUG = "tstorm-word-count"
TOPOLOGY = "word-count"
TRIED_S = 400.0
"""Virtual length of the runs with other insert times."""

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
        unit="1/s",
        low=20,
        high=300,
    ),
    Parameter("workers", 20, "workers that the topology requests (section V)", low=1, high=40),
    Parameter(
        "ackers",
        2,
        "number of ackers, not printed; 2 or 3 give the printed 7 and 5 nodes, Storm's 1 gives 6 and 6",
        low=0,
        high=40,
        chosen_on=("tstorm-fig6b-nodes", "tstorm-fig6c-nodes"),
    ),
    Parameter("read_us", 50.0, "CPU to take a line from the queue client", unit="us", low=10, high=500),
    Parameter(
        "split_us",
        3000.0,
        "CPU to split a line of 8 words: 100-1000 in Java, 500-3000 in a shell process (storm-starter)",
        unit="us",
        low=100,
        high=3000,
    ),
    Parameter("count_us", 20.0, "CPU to count a word", unit="us", low=5, high=50),
    Parameter(
        "store_us",
        2550.0,
        "time of an insert into MongoDB, client and server; fitted to T-Storm's 16.2 ms in figure 6(a)",
        unit="us",
        low=300,
        high=3000,
        chosen_on=("tstorm-fig6a-tstorm-ms",),
    ),
    Parameter(
        "store_cpu_share",
        0.3,
        "share of an insert's time that is CPU of the worker; at most 30 %",
        low=0.0,
        high=0.3,
    ),
    Parameter("fetch_us", 300.0, "wait for the queue server for each line", unit="us", low=50, high=2000),
)
"""Input and costs."""

PARAMETERS: tuple[Parameter, ...] = (
    Parameter("gammas", (1.0, 1.8, 2.2), "consolidation factors to try (figure 6)", low=1.0, high=10.0),
    *COMMON,
    *WORKLOAD,
    Parameter(
        "store_us_tried",
        (1000.0, 1800.0, 2800.0),
        f"other times of an insert, played with gamma 1 and under Storm for {TRIED_S:g} s, first seed only",
        unit="us",
        low=300,
        high=3000,
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
    """Costs of the user code; a third of the split is per line, the rest per word of a line of 8."""
    split_us, store_us = parameters.number("split_us"), parameters.number("store_us")
    store_cpu_us = store_us * parameters.number("store_cpu_share")
    return WordCountCosts(
        read_us=parameters.number("read_us"),
        split_line_us=split_us / 3,
        split_word_us=split_us * 2 / 3 / 8,
        count_us=parameters.number("count_us"),
        store_cpu_us=store_cpu_us,
        store_server_us=store_us - store_cpu_us,
    )


_EXCLUDED = ("text", "store_us_tried", "counterfactuals", TRIALS.name)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """The figure's runs, and with one seed other insert times, removed costs and trials.

    Raises:
        UserError: the text is unreadable.
    """
    text, first = parameters.text("text"), parameters.seeds[0]
    short = gamma_settings(parameters.changed(duration_s=TRIED_S), (1.0,), _EXCLUDED)
    _, storm = short[0]
    return (
        *figure_runs(parameters),
        *(
            run(without_cost_variant(removed), first, storm.changed(spared=removed), text)
            for removed in (REMOVED_COSTS if parameters.flag("counterfactuals") else ())
        ),
        *(
            run(tried_variant(variant, store_us), first, values.changed(store_us=store_us), text)
            for variant, values in short
            for store_us in dict.fromkeys(parameters.numbers("store_us_tried"))
        ),
        *under_trials(figure_runs, parameters, TRIED),
    )


def figure_runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Storm once and T-Storm once per gamma, for every seed; `UserError` if the text cannot be read."""
    return tuple(
        run(variant, seed, values, parameters.text("text"))
        for variant, values in gamma_settings(parameters, parameters.numbers("gammas"), _EXCLUDED)
        for seed in parameters.seeds
    )


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
    described = storm_or_tstorm(spec, (plan(spec),))
    if "spared" not in spec.parameters:
        return described
    removed = dict.fromkeys(REMOVED_COSTS[spec.parameters.text("spared")], 0.0)
    return replace(described, cost=replace(described.cost, **removed))


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="T-Storm",
    title="Word Count: T-Storm against Storm's default scheduler",
    figure="Figure 6",
    parameters=PARAMETERS,
    notebook="tstorm/word_count.ipynb",
    metrics=(
        "latency_10s",
        "latency_60s",
        "steady_traffic_share",
        "occupancy",
        "stays",
        "steady",
        "stabilisation",
        "spikes",
        "events",
        "nodes",
    ),
    runs=runs,
    measure=measure,
    settling=(
        Settling(
            ("tstorm-fig6a-speedup", "tstorm-fig6a-storm-ms"),
            variants=tuple(variant_of(name, TRIED[0]) for name in (STORM, tstorm_variant(1.0))),
            reading=TRIED[0].label,
            metrics=("latency_10s",),
        ),
    ),
    chosen=TRIED,
)
