"""MF-Storm's grid: a topology under four schedulers in six scenarios, and how a cell of it is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from storm_lab.emulator.control.service import Service
from storm_lab.emulator.control.times import ControlTimes
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, seed_parameter
from storm_lab.model.version import StormVersion
from storm_lab.papers.mfstorm.placement import (
    DEFAULT,
    MF_STORM,
    SCHEDULERS,
    policy,
    refusal,
    representative_scenario,
)
from storm_lab.papers.mfstorm.previous_run import TrafficLog, traffic_log
from storm_lab.papers.mfstorm.starter import KINDS, starter
from storm_lab.papers.mfstorm.starter import trace as trace_of
from storm_lab.papers.mfstorm.testbed import SCENARIOS, VERSION, desktops
from storm_lab.workloads.text import BOOK, GENERATED

WINDOW_S = 20.0
"""Window of traffic and CPU, and period of the previous run's monitors. T-Storm's; MF-Storm prints none."""

READING_S = 60.0
"""Length of one of the paper's readings."""

COMMON: tuple[Parameter, ...] = (
    seed_parameter(
        "one emulation of every cell per seed; the paper prints one run each. Little is random here"
    ),
    Parameter(
        "duration_s",
        420.0,
        "virtual length of a run; the paper's runs take 20 to 25 minutes, and it says that 5 are enough",
        unit="s",
        low=60,
        high=3600,
    ),
    Parameter(
        "warm_up_s",
        120.0,
        "time from which readings of 60 s count; not printed",
        unit="s",
        low=20,
        high=1800,
    ),
    Parameter(
        "previous_s",
        60.0,
        "virtual length of the run under the default scheduler that supplies MF-Storm's traffic; not printed",
        unit="s",
        low=40,
        high=3600,
    ),
    Parameter(
        "text",
        GENERATED,
        "source of the words; a file is streamed unchanged, with one sentence or message per line",
        choices=(GENERATED, BOOK),
        is_file=True,
    ),
    Parameter("debug", True, "workers log every tuple, as in storm-starter's topologies"),
)
"""Parameters of every grid; a run depends on all but the seeds."""


def sleep_parameter(default_ms: float, doc: str) -> Parameter:
    """The parameter for the spouts' sleep before every emit."""
    return Parameter("sleep_ms", default_ms, doc, unit="ms", low=0, high=1000)


TWEET_SLEEP_MS = 50.0
"""Sleep of a spout executor before each emit (section on the tweet topologies)."""


def tweet_sleep_parameter() -> Parameter:
    """The same parameter for the tweet topologies."""
    doc = "sleep of every spout executor before each emit (section on tweet topologies)"
    return sleep_parameter(TWEET_SLEEP_MS, doc)


def split_parameter(default_us: float) -> Parameter:
    """The parameter for the CPU of a split, for word counts."""
    return Parameter(
        "split_us",
        default_us,
        "CPU to split a line of 8 words: 500-3000 in storm-starter, which uses a shell process of Python",
        unit="us",
        low=500,
        high=3000,
    )


def exclaim_parameter(default_us: float) -> Parameter:
    """The parameter for the CPU of a bolt that adds exclamation marks."""
    return Parameter("exclaim_us", default_us, "CPU of a bolt that adds exclamation marks", "us", 1, 1000)


JVM_START_S = Parameter(
    "jvm_start_s",
    0.0,
    "least time from the start of a worker's JVM until it listens, not printed; 0: the time follows from the "
    "CPU of a start alone. Live Storm 2.8.3 on two cores has its first tuple 12 to 17 s after submission",
    unit="s",
    low=0,
    high=10,
)

_RUN_PARAMETERS = ("duration_s", "warm_up_s", "previous_s", "debug", "sleep_ms", "split_us", "exclaim_us")


def variant(scenario: str, scheduler: str) -> str:
    """Name of a cell's runs; cells that share a run share its name (`representative_scenario`)."""
    return f"{representative_scenario(scenario, scheduler)}-{scheduler}"


def cells(
    slug: str,
    kind: str,
    parameters: Parameters,
    *,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    schedulers: Sequence[str] = SCHEDULERS,
    prefix: str = "",
    sample_every: int = 100,
) -> tuple[RunSpec, ...]:
    """The runs of a grid, without cells whose scheduler refuses the topology.

    ``prefix`` goes before the variants' names. Equal arguments make equal runs, which are played only once.
    Cells that share a run (`representative_scenario`) add it once.

    Raises:
        UserError: the text cannot be read.
    """
    messages = KINDS[kind].messages(parameters.text("text"))
    with_previous_run = parameters.only(name for name in _RUN_PARAMETERS if name in parameters).changed(
        topology=kind
    )
    # Only MF-Storm depends on a previous run.
    without_previous_run = with_previous_run.without("previous_s")
    wanted = dict.fromkeys(
        (representative_scenario(scenario, scheduler), scheduler)
        for scenario in scenarios
        for scheduler in schedulers
        if not refusal(scheduler, kind, scenario)
    )
    describe_run = describe
    if "jvm_start_s" in parameters and parameters["jvm_start_s"] != JVM_START_S.default:
        without_previous_run, with_previous_run = (
            each.changed(jvm_start_s=parameters["jvm_start_s"])
            for each in (without_previous_run, with_previous_run)
        )
        describe_run = describe_with_jvm_start
    inputs, files = {"messages": messages.digest}, {"text": parameters.text("text")}
    specs = []
    for scenario, scheduler in wanted:
        name = prefix + variant(scenario, scheduler)
        values = (with_previous_run if scheduler == MF_STORM else without_previous_run).changed(
            scenario=scenario, scheduler=scheduler
        )
        for seed in parameters.seeds:
            specs.append(
                RunSpec(slug, name, seed, values, describe_run, VERSION, inputs, files, sample_every)
            )
    return tuple(specs)


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """What a run plays under any scheduler: topology, slots asked for, input and costs."""

    kind: str
    required: int
    text: str
    seed: int
    debug: bool
    work_us: float
    sleep_ms: float

    @classmethod
    def of(cls, spec: RunSpec) -> PlanInputs:
        """What the run plays."""
        given = spec.parameters
        return cls(
            given.text("topology"),
            SCENARIOS[given.text("scenario")].required,
            spec.files["text"],
            spec.seed,
            given.flag("debug"),
            given.number("split_us" if "split_us" in given else "exclaim_us"),
            given.number("sleep_ms"),
        )

    def plan(self) -> TopologyPlan:
        """Topology, trace and sources. Roots are not anchored: storm-starter's spouts give no message ids."""
        topology = starter(self.kind, self.required, debug=self.debug)
        trace = trace_of(self.kind, self.text, self.work_us, self.seed)
        source = SourcePlan(SourceKind.SATURATED, sleep_ns=round(self.sleep_ms * 1e6), anchored=False)
        return TopologyPlan(topology, trace, {spout.id: source for spout in topology.spouts})


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and sources of a run."""
    return PlanInputs.of(spec).plan()


@lru_cache(maxsize=64)
def _previous_traffic_log(
    planned: PlanInputs, slots: int, version: StormVersion, duration_s: float
) -> TrafficLog:
    """The traffic log of the previous run; scenarios with the same previous run share it within a process."""
    return traffic_log(
        desktops(slots), planned.plan(), version, duration_s=duration_s, window_s=WINDOW_S, seed=planned.seed
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run; for MF-Storm, play the previous run first, for its traffic."""
    given = spec.parameters
    name, scheduler = given.text("scenario"), given.text("scheduler")
    scenario, cluster, planned = SCENARIOS[name], desktops(SCENARIOS[name].slots), plan(spec)
    services: tuple[Service, ...] = ()
    if scheduler == MF_STORM:
        before = SCENARIOS[representative_scenario(name, DEFAULT)].slots
        seconds = given.number("previous_s")
        services = (_previous_traffic_log(PlanInputs.of(spec), before, spec.storm_version, seconds),)
    duration_s = given.number("duration_s")
    return EmulationSpec(
        cluster=cluster,
        version=spec.storm_version,
        topologies=(planned,),
        scheduler=policy(scheduler, planned.topology.id, scenario.required),
        duration_s=duration_s,
        seed=spec.seed,
        services=services,
        window_s=WINDOW_S,
        sample_every=spec.sample_every,
        warm_up_s=min(given.number("warm_up_s"), duration_s / 2),
    )


def describe_with_jvm_start(spec: RunSpec) -> EmulationSpec:
    """The same run with JVMs that take longer to start than their CPU use requires."""
    jvm_start_s = spec.parameters.number("jvm_start_s")
    return replace(describe(spec), times=replace(ControlTimes(), jvm_start_s=jvm_start_s))
