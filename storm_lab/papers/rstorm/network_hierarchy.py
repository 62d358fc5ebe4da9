"""Latency by the distance of two tasks (section 4): same process, same node, same rack, another rack.

One spout and one bolt are placed by hand in each of the four ways, at a rate that leaves every queue empty.
The latency is the time between the spout's emit and the tuple's entry into the bolt's receive queue.
"""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Samples, Tables, measurement, value_of
from storm_lab.model import Assignment, Component, Subscription, Topology
from storm_lab.model.executor import executors_of
from storm_lab.papers.rstorm.emulab_runs import on_emulab, topology_plan
from storm_lab.papers.rstorm.recording import Definition
from storm_lab.papers.rstorm.testbed import CLOCK, MACHINES, SEEDS, VERSION, emulab
from storm_lab.papers.rstorm.usercode import FIELDS

SLUG = "rstorm-network-hierarchy"
DISTANCES = ("process", "node", "rack", "cluster")
"""From near to far, with the names of the tuple log; cluster: another rack."""

PARAMETERS: tuple[Parameter, ...] = (
    SEEDS,
    Parameter("duration_s", 120.0, "virtual length of a run", within=(30, 900, "s")),
    Parameter("from_s", 60.0, "time from which latency is averaged", within=(10, 800, "s")),
    CLOCK,
    Parameter("lines_per_s", 20.0, "tuples per second; too few to form a queue", within=(1, 100, "1/s")),
    Parameter("tuple_bytes", 5, "characters of the emitted word", within=(5, 1024, "B")),
)

TOPOLOGY = Topology(
    "pair",
    (
        Component("source", 1, outputs={"default": FIELDS}),
        Component("target", 1, inputs=(Subscription("source"),), outputs={"default": FIELDS}),
    ),
    workers=2,
    ackers=0,
)
_DEFINITIONS = {"source": Definition("word"), "target": Definition("pass")}


def placement(distance: str) -> Assignment:
    """The two executors at one of the four distances."""
    first, second, other_rack = (emulab().nodes[place].slots for place in (0, 1, MACHINES // 2))
    far = {"process": first[0], "node": first[1], "rack": second[0], "cluster": other_rack[0]}
    slots = {"source": first[0], "target": far[distance]}
    return Assignment.of((e, slots[e.component]) for e in executors_of(TOPOLOGY, VERSION))


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Each distance with every seed."""
    shared = parameters.without("seeds")
    return tuple(
        RunSpec(SLUG, distance, seed, shared.changed(distance=distance), describe, VERSION)
        for distance in DISTANCES
        for seed in parameters.seeds
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    values = spec.parameters
    word = "x" * values.integer("tuple_bytes")
    plan = topology_plan(
        TOPOLOGY, _DEFINITIONS, (), word=word, timed=True, lines_per_s=values.number("lines_per_s")
    )
    cluster = emulab(core_mhz=values.number("clock_mhz"))
    return replace(on_emulab(spec, cluster, plan), placement=placement(values.text("distance")))


def hop_latency(tables: Tables, distance: str, seeds: tuple[int, ...]) -> Samples:
    """Mean time from the spout's emit to the bolt's receive queue in ms, of tuples over this distance."""
    rows = tables.steady_elapsed
    return value_of(rows[rows["locality"] == distance], "enqueue_mean_ms", distance, seeds)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the order of the four latencies."""
    values = {distance: hop_latency(tables, distance, parameters.seeds) for distance in DISTANCES}
    how = f"mean time from emit to the receive queue, from {parameters.number('from_s'):g} s on"
    return (measurement("rstorm-network-hierarchy", values, how=how),)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="R-Storm",
    title="Latency between two tasks by their distance",
    figure="Section 4",
    parameters=PARAMETERS,
    notebook="rstorm/network_hierarchy.ipynb",
    metrics=("steady_elapsed",),
    runs=runs,
    measure=measure,
)
