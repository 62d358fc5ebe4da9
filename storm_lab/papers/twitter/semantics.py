"""Semantics (sections 2.2, 2.3 and 3.1): what Storm guarantees when workers, machines and Nimbus fail.

Four kinds of sources face the same failure of a machine: a log, a queue that holds its lines until they are
acked, a queue that forgets them, and spouts without message ids. They stop delivering early enough for
everything to be finished. In a fifth run Nimbus is down while a worker and a machine fail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.experiments.readings import Tables, details, measurement, of_run
from storm_lab.model.topology import Topology
from storm_lab.papers.twitter.event_counting import READ_US
from storm_lab.papers.twitter.testbed import VERSION, counting, kafka_log, machines, passing, spouts, trace_of
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.client_events import ClientEventCosts

SLUG = "twitter-semantics"
TOPOLOGY = "word-trail"
MACHINES = 4
SETTLED_S = 60.0

LOG = "log"
HOLDING = "holding-queue"
FORGETTING = "forgetting-queue"
ACKS_OFF = "acks-off"
NIMBUS_DOWN = "nimbus-down"

STOP_S = 240.0
"""The sources deliver nothing from this time on."""
DOWN_FROM_S = 100.0
DOWN_TO_S = 340.0
"""Nimbus is down in between, long enough for all its timeouts to expire."""

PARAMETERS: tuple[Parameter, ...] = (
    seed_parameter("one emulation of every kind of source per seed"),
    Parameter("lines_per_s", 100.0, "lines that the source delivers", within=(10, 1000, "1/s")),
    Parameter("duration_s", 600.0, "virtual length of a run", within=(500, 3600, "s")),
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """Every kind of source, and the run with Nimbus down, for every seed."""
    values = parameters.only(("lines_per_s", "duration_s"))
    return tuple(
        RunSpec(SLUG, variant, seed, values.changed(scenario=variant), describe, VERSION)
        for variant in (LOG, HOLDING, FORGETTING, ACKS_OFF, NIMBUS_DOWN)
        for seed in parameters.seeds
    )


def source(scenario: str, rate: float) -> SourcePlan:
    """The source of a scenario."""
    if scenario == FORGETTING:
        return SourcePlan(SourceKind.RATE, rate_per_s=rate, on_fail=FailurePolicy.FORGET)
    if scenario == ACKS_OFF:
        return SourcePlan(SourceKind.RATE, rate_per_s=rate, anchored=False)
    return replace(kafka_log(rate), checkpoint_ns=0) if scenario == HOLDING else kafka_log(rate)


def failures(scenario: str) -> list[dict[str, object]]:
    """The failures of a scenario and their times, as rows of a fault plan."""
    if scenario != NIMBUS_DOWN:
        empty: dict[str, object] = {"topology": TOPOLOGY, "spout": "spout", "rate_per_s": 0.0}
        stop = {"fault": "set-load", "at_s": STOP_S, **empty}
        return [{"fault": "kill-node", "at_s": 120.0, "node": "machine04"}, stop]
    return [
        {"fault": "kill-nimbus", "at_s": DOWN_FROM_S},
        {"fault": "kill-worker", "at_s": DOWN_FROM_S + 10, "node": "machine01", "port": 6700},
        {"fault": "kill-node", "at_s": DOWN_FROM_S + 20, "node": "machine04"},
        {"fault": "revive-nimbus", "at_s": DOWN_TO_S},
    ]


def plan(spec: RunSpec) -> TopologyPlan:
    """Spout 4, pass on 8, count 8 and one acker per worker, with one worker per machine."""
    scenario = spec.parameters.text("scenario")
    layers = (spouts(4), passing("pass-on", 8), counting("count", 8, "pass-on"))
    declared = Topology(TOPOLOGY, layers, workers=MACHINES, ackers=MACHINES)
    costs = ClientEventCosts(
        read_us=READ_US, distribute_us=500.0, count_us=200.0, aggregate_us=0.0, event_bytes=150
    )
    trace = trace_of(declared, costs, spec.seed, spec.storm_version, events=5000, users=1_000_000)
    return TopologyPlan(declared, trace, {"spout": source(scenario, spec.parameters.number("lines_per_s"))})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run."""
    return replace(
        spec.described(machines(MACHINES), (plan(spec),), DefaultScheduler()),
        faults=FaultPlan.of_rows(failures(spec.parameters.text("scenario"))),
        warm_up_s=SETTLED_S,
    )


@dataclass(frozen=True, slots=True)
class Delivery:
    """Lines of a run: all, emitted (with repetitions), acked, and executed by the last bolt (``counted``)."""

    lines: int
    emitted: int
    acked: int
    counted: int


def delivery(tables: Tables, variant: str, seed: int) -> Delivery:
    """Lines and executions of a complete run."""
    parts = of_run(tables.component_throughput_60s, variant, seed)

    def total(component: str, column: str) -> int:
        return round(float(parts.loc[parts["component"] == component, column].sum()))

    emitted = total("spout", "emitted")
    replayed = int(of_run(tables.failures_60s, variant, seed)["replayed"].sum())
    acked = int(of_run(tables.throughput_10s, variant, seed)["acked"].sum())
    return Delivery(emitted - replayed, emitted, acked, total("count", "executed"))


def without_nimbus(tables: Tables, seed: int) -> dict[str, int]:
    """Lines acked, executors reassigned and workers restarted while Nimbus was down and after it was back."""
    acks = of_run(tables.throughput_10s, NIMBUS_DOWN, seed)
    acks = acks[acks["t_s"].between(DOWN_FROM_S, DOWN_TO_S, inclusive="left")]
    events = of_run(tables.control, NIMBUS_DOWN, seed)
    down = events["time_s"].between(DOWN_FROM_S, DOWN_TO_S, inclusive="neither")
    by_supervisor = events["actor"].astype(str).str.startswith("supervisor:")

    def moved(when: pd.Series[bool]) -> int:
        assigned = events[when & (events["action"] == "assign")]
        return sum(int(facts.get("moved", 0)) for facts in details(assigned))

    return {
        "acked_while_down": int(acks["acked"].sum()),
        "reassigned_while_down": moved(down),
        "reassigned_after": moved(events["time_s"] >= DOWN_TO_S),
        "restarted": int((down & by_supervisor & (events["action"] == "start-worker")).sum()),
    }


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claim on Nimbus being down.

    The production figures are not testable, and the experiment ``algorithms`` checks the acks.
    """
    found = [without_nimbus(tables, seed) for seed in parameters.seeds]
    values = {name.replace("_", "-"): [run[name] for run in found] for name in found[0]}
    values["restarted-by-supervisors"] = values.pop("restarted")
    how = f"Nimbus down from {DOWN_FROM_S:g} to {DOWN_TO_S:g} s, a worker killed 10 s on, a machine 20 s"
    return (measurement("twitter-nimbus-down", values, how=how),)


EXPERIMENT = Experiment(
    slug=SLUG,
    paper="Storm@Twitter",
    title="What is promised when machines and Nimbus fail",
    figure="Sections 2.2, 2.3 and 3.1",
    parameters=PARAMETERS,
    notebook="twitter/semantics.ipynb",
    metrics=("throughput_10s", "component_throughput_60s", "failures_60s", "control"),
    runs=runs,
    measure=measure,
)
