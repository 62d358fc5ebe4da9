"""MF-Storm's grid: a topology under four schedulers in six scenarios, and how a cell of it is played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from storm_lab.papers.experiment import Advance, RunSpec
from storm_lab.papers.mfstorm.placement import MF_STORM, SCHEDULERS, policy, refusal
from storm_lab.papers.mfstorm.starter import KINDS, starter
from storm_lab.papers.mfstorm.starter import trace as trace_of
from storm_lab.papers.mfstorm.testbed import SCENARIOS, VERSION, desktops
from storm_lab.papers.parameter import Parameter, Parameters
from storm_lab.workloads.text import BOOK, GENERATED

if TYPE_CHECKING:
    from storm_lab.emulator.control.service import Service
    from storm_lab.emulator.source import TopologyPlan
    from storm_lab.tuplelog import RunWriter

WINDOW_S = 20.0
"""Window of traffic and CPU, and period of the previous run's monitors: T-Storm's; MF-Storm prints none."""

READING_S = 60.0
"""A reading of the paper."""

COMMON: tuple[Parameter, ...] = (
    Parameter(
        "seeds",
        (1, 2, 3, 4, 5),
        "one emulation of every cell per seed; the paper prints one run each. Little is random here",
        low=0,
        high=2**31 - 1,
    ),
    Parameter(
        "duration_s",
        420.0,
        "virtual length of a run; the paper takes 20 to 25 minutes and says that 5 are enough",
        unit="s",
        low=60,
        high=3600,
    ),
    Parameter(
        "warm_up_s",
        120.0,
        "readings of 60 s count from here on; the paper does not say from when",
        unit="s",
        low=20,
        high=1800,
    ),
    Parameter(
        "previous_s",
        60.0,
        "virtual length of the run whose traffic MF-Storm is given, under the default scheduler; not printed",
        unit="s",
        low=40,
        high=3600,
    ),
    Parameter(
        "text",
        GENERATED,
        "where the words come from; a file is streamed as it is, a sentence or message a line",
        choices=(GENERATED, BOOK),
        is_file=True,
    ),
    Parameter("debug", True, "workers log every tuple, as storm-starter's topologies set it"),
)
"""Parameters of every grid; a run depends on all but the seeds."""


def sleep_parameter(default_ms: float, doc: str) -> Parameter:
    """The spouts' sleep before every emit."""
    return Parameter("sleep_ms", default_ms, doc, unit="ms", low=0, high=1000)


def split_parameter(default_us: float) -> Parameter:
    """The cost of splitting, for word counts."""
    return Parameter(
        "split_us",
        default_us,
        "CPU to split a line of 8 words: storm-starter does it in a shell process of Python, 500-3000",
        unit="us",
        low=500,
        high=3000,
    )


def exclaim_parameter(default_us: float) -> Parameter:
    """The cost of a bolt that adds exclamation marks."""
    return Parameter(
        "exclaim_us", default_us, "CPU of a bolt that adds exclamation marks", unit="us", low=1, high=1000
    )


_OF_A_RUN = ("duration_s", "warm_up_s", "previous_s", "debug", "sleep_ms", "split_us", "exclaim_us")


def variant(scenario: str, scheduler: str) -> str:
    """Name of a cell's runs."""
    return f"{scenario}-{scheduler}"


def cells(
    slug: str,
    kind: str,
    parameters: Parameters,
    *,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    schedulers: Sequence[str] = SCHEDULERS,
    prefix: str = "",
) -> tuple[RunSpec, ...]:
    """The runs of a topology's grid, without the cells whose scheduler refuses the topology.

    ``prefix`` goes before the variants' names. Equal arguments make equal runs, which are played once.

    Raises:
        UserError: the text cannot be read.
    """
    messages = KINDS[kind].messages(parameters.text("text"))
    shared = parameters.only(name for name in _OF_A_RUN if name in parameters).changed(topology=kind)
    # Only MF-Storm depends on a run before.
    alone = shared.only(name for name in shared if name != "previous_s")
    return tuple(
        RunSpec(
            experiment=slug,
            variant=prefix + variant(scenario, scheduler),
            seed=seed,
            parameters=(shared if scheduler == MF_STORM else alone).changed(
                scenario=scenario, scheduler=scheduler
            ),
            emulate=emulate,
            storm_version=VERSION,
            inputs={"messages": messages.digest},
            files={"text": parameters.text("text")},
            sample_every=100,
        )
        for scenario in scenarios
        for scheduler in schedulers
        if not refusal(scheduler, kind, scenario)
        for seed in dict.fromkeys(parameters.integers("seeds"))
    )


def plan(spec: RunSpec) -> TopologyPlan:
    """Topology, trace and sources of a run. Roots are not anchored: storm-starter's spouts give no ids."""
    from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan

    given = spec.parameters
    kind = given.text("topology")
    topology = starter(kind, SCENARIOS[given.text("scenario")].required, debug=given.flag("debug"))
    work_us = given.number("split_us" if "split_us" in given else "exclaim_us")
    trace = trace_of(kind, spec.files["text"], work_us, spec.seed)
    source = SourcePlan(SourceKind.SATURATED, sleep_ns=round(given.number("sleep_ms") * 1e6), anchored=False)
    return TopologyPlan(topology, trace, {spout.id: source for spout in topology.spouts})


def emulate(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Play one run; under MF-Storm after the run whose traffic it is given."""
    from storm_lab.emulator.emulation import Emulation, EmulationSpec
    from storm_lab.papers.mfstorm.previous_run import traffic_log
    from storm_lab.tuplelog import Status

    given = spec.parameters
    scenario, scheduler = SCENARIOS[given.text("scenario")], given.text("scheduler")
    cluster, planned = desktops(scenario.slots), plan(spec)
    services: tuple[Service, ...] = ()
    if scheduler == MF_STORM:
        log = traffic_log(
            cluster,
            planned,
            spec.storm_version,
            duration_s=given.number("previous_s"),
            window_s=WINDOW_S,
            seed=spec.seed,
        )
        services = (log,)
    duration_s = given.number("duration_s")
    emulation = Emulation(
        EmulationSpec(
            cluster=cluster,
            version=spec.storm_version,
            topologies=(planned,),
            scheduler=policy(scheduler, planned.topology.id, scenario.required),
            duration_s=duration_s,
            seed=spec.seed,
            services=services,
            window_s=WINDOW_S,
            sample_every=spec.sample_every,
        )
    )
    outcome = emulation.run(writer, lambda done, total: advance(done / total))
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=round(min(given.number("warm_up_s"), duration_s / 2) * 1e9),
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )
