"""MF-Storm's grid: a topology under four schedulers in six scenarios, and how a cell of it is played.

MF-Storm weights the edges of a topology's graph with the traffic of an earlier run. That previous run is
played under Storm's default scheduler and watched by load monitors. The load that they know at its end is
passed to the scheduler of the measured run. Nothing else is carried over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from storm_lab.emulator.control.control_plane import ControlPlane, Sampler, Service
from storm_lab.emulator.control.times import ControlTimes
from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.parameter import Parameter, Parameters, ParameterValue, seed_parameter
from storm_lab.model import MeasuredLoad, StormVersion
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.papers.mfstorm import placement
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
        within=(60, 3600, "s"),
    ),
    Parameter(
        "warm_up_s", 120.0, "time from which readings of 60 s count; not printed", within=(20, 1800, "s")
    ),
    Parameter(
        "previous_s",
        60.0,
        "virtual length of the run under the default scheduler that supplies MF-Storm's traffic; not printed",
        within=(40, 3600, "s"),
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


def sleep_parameter(default_ms: float, note: str) -> Parameter:
    """The parameter for the spouts' sleep before every emit."""
    doc = f"sleep of every spout executor before each emit{note}"
    return Parameter("sleep_ms", default_ms, doc, within=(0, 1000, "ms"))


TWEET_SLEEP_MS = 50.0
"""Sleep of a spout executor before each emit (section on the tweet topologies)."""

SPLIT_US = Parameter(
    "split_us",
    1000.0,
    "CPU to split a line of 8 words: 500-3000 in storm-starter, which uses a shell process of Python",
    within=(500, 3000, "us"),
)
EXCLAIM_US = Parameter("exclaim_us", 5.0, "CPU of a bolt that adds exclamation marks", within=(1, 1000, "us"))
JVM_START_S = Parameter(
    "jvm_start_s",
    0.0,
    "least time from the start of a worker's JVM until it listens, not printed; 0: the time follows from the "
    "CPU of a start alone. Live Storm 2.8.3 on two cores has its first tuple 12 to 17 s after submission",
    within=(0, 10, "s"),
)


def variant(scenario: str, scheduler: str) -> str:
    """Name of a cell's runs; cells that share a run share its name (`representative_scenario`)."""
    return f"{placement.representative_scenario(scenario, scheduler)}-{scheduler}"


def cells(
    slug: str,
    kind: str,
    parameters: Parameters,
    *,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    schedulers: Sequence[str] = placement.SCHEDULERS,
    prefix: str = "",
    sample_every: int = 100,
) -> tuple[RunSpec, ...]:
    """The runs of a grid, without cells whose scheduler refuses the topology.

    ``prefix`` goes before the variants' names. Cells that share a run (`representative_scenario`) add it
    once. `UserError` if the text cannot be read.
    """
    messages, work = KINDS[kind].messages(parameters.text("text")), KINDS[kind].work
    shared = parameters.only(("duration_s", "warm_up_s", "previous_s", "debug", "sleep_ms", work))
    shared = shared.changed(topology=kind)
    jvm_start_s = parameters.get(JVM_START_S.name, JVM_START_S.default)
    if jvm_start_s != JVM_START_S.default:
        shared = shared.changed(jvm_start_s=jvm_start_s)
    # Only MF-Storm depends on a previous run.
    alone = shared.without("previous_s")
    settings = {
        prefix + variant(scenario, scheduler): (shared if scheduler == placement.MF_STORM else alone).changed(
            scenario=placement.representative_scenario(scenario, scheduler), scheduler=scheduler
        )
        for scenario, scheduler in placement.playable_cells(kind, scenarios, schedulers)
    }
    inputs, files = {"messages": messages.digest}, {"text": parameters.text("text")}
    return tuple(
        RunSpec(slug, name, seed, values, describe, VERSION, inputs, files, sample_every)
        for name, values in settings.items()
        for seed in parameters.seeds
    )


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and sources of a run; storm-starter's spouts give no message ids."""
    given, kind = spec.parameters, spec.parameters.text("topology")
    topology = starter(kind, SCENARIOS[given.text("scenario")].required, debug=given.flag("debug"))
    trace = trace_of(kind, spec.files["text"], given.number(KINDS[kind].work), spec.seed)
    sleep_ns = round(given.number("sleep_ms") * 1e6)
    source = SourcePlan(SourceKind.SATURATED, sleep_ns=sleep_ns, anchored=False)
    return TopologyPlan(topology, trace, {spout.id: source for spout in topology.spouts})


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run; for MF-Storm, play the previous run first, for its traffic."""
    given, planned = spec.parameters, plan(spec)
    name, scheduler = given.text("scenario"), given.text("scheduler")
    services: tuple[Service, ...] = ()
    if scheduler == placement.MF_STORM:
        before = given.without("previous_s", JVM_START_S.name).changed(
            scheduler=placement.DEFAULT,
            scenario=placement.representative_scenario(name, placement.DEFAULT),
            duration_s=given.number("previous_s"),
        )
        values = tuple(before.items())
        services = (_previous_log(values, spec.files["text"], spec.seed, spec.storm_version),)
    times = ControlTimes()
    if JVM_START_S.name in given:
        times = replace(times, jvm_start_s=given.number(JVM_START_S.name))
    chosen = placement.policy(scheduler, planned.topology.id, SCENARIOS[name].required)
    return replace(
        spec.described(desktops(SCENARIOS[name].slots), (planned,), chosen),
        services=services,
        times=times,
        window_s=WINDOW_S,
        warm_up_s=min(given.number("warm_up_s"), given.number("duration_s") / 2),
    )


@lru_cache(maxsize=64)
def _previous_log(
    values: tuple[tuple[str, ParameterValue], ...], text: str, seed: int, version: StormVersion
) -> TrafficLog:
    """Cached, because scenarios with the same previous run share its log within a process."""
    before = RunSpec("", "", seed, Parameters(dict(values)), describe, version, files={"text": text})
    return traffic_log(describe(before))


@dataclass(slots=True)
class LoadRecorder:
    """Monitors that keep their final averages in ``load``; None as long as nothing has been measured."""

    load: MeasuredLoad | None = None

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Start the monitors."""

        def record_load() -> None:
            self.load = control.nimbus.load()

        # Registered before the monitor's own action at the end, which closes its database.
        control.on_end(record_load)
        MonitorPlan().begin(control, sampler)


@dataclass(frozen=True, slots=True)
class TrafficLog:
    """Gives an earlier run's load to Nimbus's scheduler, unchanged for the complete run."""

    load: MeasuredLoad

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        """Make Nimbus use this load."""
        control.nimbus.load = lambda: self.load


def traffic_log(previous: EmulationSpec) -> TrafficLog:
    """Play the previous run for its load; `UserError` if it was shorter than a window, or stopped."""
    recorder = LoadRecorder()
    outcome = Emulation(replace(previous, services=(recorder,))).run()
    if outcome.stopped or recorder.load is None or not recorder.load.traffic:
        message, remedy = "the previous run measured no traffic", "increase previous_s"
        raise UserError(message, field="previous_s", value=previous.duration_s, remedy=remedy)
    return TrafficLog(recorder.load)
