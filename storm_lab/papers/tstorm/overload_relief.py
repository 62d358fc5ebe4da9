"""Figures 9 and 10 of T-Storm: everything runs in one worker at twice the input, and T-Storm must react.

The first assignment is fixed by hand: all executors in one slot of one node. From then on monitors, overload
detection, schedule generator and hand-over are those of section V as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Describe, RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.trial import Trial, tried, variant_of
from storm_lab.model.assignment import Assignment
from storm_lab.model.cluster import Cluster
from storm_lab.model.executor import executors_of
from storm_lab.model.topology import Topology
from storm_lab.model.version import StormVersion
from storm_lab.papers.tstorm import log_stream, word_count
from storm_lab.papers.tstorm.blade_runs import blades_of, on_blades, online_scheduling
from storm_lab.papers.tstorm.relief_readings import RELIEVED
from storm_lab.schedulers.storm.default import DefaultScheduler

STREAMS = Parameter(
    "streams", 2, "concurrent input streams (section V), each with lines_per_s", low=1, high=4
)
GAMMAS: tuple[Parameter, ...] = (
    Parameter("gamma", 1.7, "consolidation factor; not printed", low=1.0, high=1.7),
    Parameter(
        "gammas_tried",
        (1.2,),
        "other consolidation factors, played with the first seed only",
        low=1.0,
        high=1.7,
    ),
)


def tried_variant(gamma: float) -> str:
    """Variant of a run with another consolidation factor."""
    return f"{RELIEVED}-g{gamma:g}"


def in_one_worker(topology: Topology, cluster: Cluster, version: StormVersion) -> Assignment:
    """All executors of the topology in the first slot of the first node."""
    slot = cluster.nodes[0].slots[0]
    return Assignment.of((executor, slot) for executor in executors_of(topology, version))


def relief_runs(
    slug: str,
    describe: Describe,
    run: Callable[[str, int, Parameters, str], RunSpec],
    parameters: Parameters,
    trials: Sequence[Trial],
    *,
    input_parameter: str,
    excluded: tuple[str, ...],
) -> tuple[RunSpec, ...]:
    """Every seed with the main gamma; other gammas and trials with the first seed.

    ``run`` makes the figure's run from a variant, seed, parameters and the value of the ``input_parameter``.
    The ``excluded`` parameters are not part of the runs.
    """
    return tuple(
        replace(
            run(variant, seed, values, parameters.text(input_parameter)), experiment=slug, describe=describe
        )
        for variant, seed, values in _settings(parameters, trials, (input_parameter, *excluded))
    )


def _settings(
    parameters: Parameters, trials: Sequence[Trial], excluded: tuple[str, ...]
) -> Iterator[tuple[str, int, Parameters]]:
    shared = parameters.without("seeds", "gammas_tried", STREAMS.name, *excluded)
    shared = shared.changed(lines_per_s=total_lines_per_s(parameters, parameters.number("lines_per_s")))
    for seed in parameters.seeds:
        yield RELIEVED, seed, shared
    for trial in (*tried(parameters, "gamma", "g{}", "gamma {}", listed="gammas_tried"), *trials):
        yield variant_of(RELIEVED, trial), parameters.seeds[0], shared.changed(**trial.changes)


def total_lines_per_s(parameters: Parameters, lines_per_s: float) -> float:
    """Lines per second of all input streams together."""
    return lines_per_s * parameters.integer(STREAMS.name)


def rates_tried(parameters: Parameters) -> Iterator[float]:
    """The other lines per second and stream, each once."""
    for rate in dict.fromkeys(parameters.numbers("rates_tried")):
        if rate != parameters.number("lines_per_s"):
            yield rate


def describe_word_count(spec: RunSpec) -> EmulationSpec:
    """Describe one run of Word Count."""
    return _describe(spec, word_count.plan(spec))


def describe_log_stream(spec: RunSpec) -> EmulationSpec:
    """Describe one run of Log Stream Processing."""
    return _describe(spec, log_stream.plan(spec))


def _describe(spec: RunSpec, plan: TopologyPlan) -> EmulationSpec:
    services, migration = online_scheduling(spec.parameters)
    first = in_one_worker(plan.topology, blades_of(spec.parameters), spec.storm_version)
    return on_blades(spec, (plan,), DefaultScheduler(), services, migration, placement=first)
