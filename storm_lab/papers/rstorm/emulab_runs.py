"""Runs on the Emulab machines: one scheduler, one or two topologies, user code over words or lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from storm_lab.emulator.source import SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.model import Cluster, Topology
from storm_lab.papers.rstorm.recording import Definition
from storm_lab.papers.rstorm.testbed import VERSION, emulab_costs
from storm_lab.papers.rstorm.usercode import NO_EFFORT, WORD, Effort, bolt_of, spout_of
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.papers.rstorm import RStormScheduler
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.workloads.build import build_trace
from storm_lab.workloads.usercode import Bolt, Spout

DEFAULT = "default"
RSTORM = "rstorm"
SCHEDULERS = (DEFAULT, RSTORM)
WINDOW_S = 10.0
"""Throughput is counted in bins of 10 s, as it is reported (section 6.2)."""


def scheduler_of(name: str) -> Scheduler[Any]:
    """Storm's default scheduler, or R-Storm with its recommended readings."""
    return RStormScheduler() if name == RSTORM else DefaultScheduler()


def on_emulab(spec: RunSpec, cluster: Cluster, *plans: TopologyPlan) -> EmulationSpec:
    """Describe a run under its parameter ``scheduler``, by default Storm's; means are from ``from_s`` on."""
    scheduler = spec.parameters.text("scheduler") if "scheduler" in spec.parameters else DEFAULT
    return replace(
        spec.described(cluster, plans, scheduler_of(scheduler)),
        cost=emulab_costs(),
        window_s=WINDOW_S,
        warm_up_s=spec.parameters.number("from_s"),
    )


def topology_plan(
    topology: Topology,
    definitions: Mapping[str, Definition],
    lines: Sequence[str],
    *,
    effort: Effort = NO_EFFORT,
    word: str = WORD,
    timed: bool = False,
    lines_per_s: float = 0.0,
) -> TopologyPlan:
    """Topology, trace and sources.

    Args:
        topology: what is played.
        definitions: what each component does.
        lines: emitted by ``line`` spouts in random order.
        effort: CPU of the user code.
        word: emitted by ``word`` spouts.
        timed: emit with message ids, so that the log knows when every root tuple left its spout.
        lines_per_s: most lines per second for each spout executor; 0: a spout never runs empty.
    """
    code: dict[str, Spout | Bolt] = {}
    for place, component in enumerate(topology.components):
        own = definitions[component.id]
        if component.is_spout:
            code[component.id] = spout_of(own.does, lines, effort, word)
        else:
            code[component.id] = bolt_of(own.does, place, effort, own.sleep_ms_per_char)
    sources = {
        spout.id: SourcePlan(
            SourceKind.RATE if lines_per_s > 0 else SourceKind.SATURATED,
            rate_per_s=lines_per_s * spout.executors,
            sleep_ns=round(definitions[spout.id].sleep_ms * 1e6),
            anchored=timed,
        )
        for spout in topology.spouts
    }
    return TopologyPlan(topology, build_trace(topology, code, VERSION), sources)
