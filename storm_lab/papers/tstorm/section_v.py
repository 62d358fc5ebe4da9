"""Playing a run of section V: Storm with its default scheduler, or T-Storm, on the ten blades.

T-Storm is what the run's parameter ``gamma`` says: monitors, schedule generator, custom scheduler, the
initial consolidation and the smooth hand-over are added to a Storm that is otherwise the same.
"""

from __future__ import annotations

from typing import Any

from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.service import Service
from storm_lab.emulator.emulation import Emulation, EmulationSpec
from storm_lab.emulator.source import TopologyPlan
from storm_lab.monitoring.consolidation import InitialConsolidation
from storm_lab.monitoring.monitor import MonitorPlan
from storm_lab.monitoring.online_scheduling import OnlineScheduling
from storm_lab.papers.experiment import Advance, RunSpec
from storm_lab.papers.parameter import Parameters
from storm_lab.papers.tstorm.testbed import section_v
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.default import DefaultScheduler
from storm_lab.schedulers.tstorm import TStormParameters, TStormScheduler
from storm_lab.tuplelog import RunWriter, Status

STEADY_S = 500.0
"""Figures of the steady state leave out what comes before (section V compares from here on)."""


LEAST_GAIN = 0.02
"""Part of the inter-node traffic that a schedule must save to be adopted for that alone.

Not printed. Figures 5, 6 and 8 show one re-assignment in 1000 s, so the noise of the averages must not count.
"""


def play_section_v(
    spec: RunSpec, plans: tuple[TopologyPlan, ...], writer: RunWriter, advance: Advance
) -> None:
    """Play the run, under Storm or under T-Storm as its parameters say, and finish its log.

    Raises:
        UserError: a parameter that the emulator or the scheduler refuses.
    """
    services, migration = online_scheduling(spec.parameters)
    play_on_blades(spec, plans, DefaultScheduler(), services, migration, writer, advance)


def play_on_blades(
    spec: RunSpec,
    plans: tuple[TopologyPlan, ...],
    scheduler: Scheduler[Any],
    services: tuple[Service, ...],
    migration: MigrationMethod,
    writer: RunWriter,
    advance: Advance,
) -> None:
    """Play the run with Nimbus's own ``scheduler`` and what ``services`` add, and finish its log.

    Raises:
        UserError: something that the emulator refuses.
    """
    duration_s = spec.parameters.number("duration_s")
    emulation = Emulation(
        EmulationSpec(
            cluster=section_v(),
            version=spec.storm_version,
            topologies=plans,
            scheduler=scheduler,
            duration_s=duration_s,
            seed=spec.seed,
            services=services,
            migration=migration,
            window_s=spec.parameters.number("monitor_s"),
            sample_every=spec.sample_every,
        )
    )
    outcome = emulation.run(writer, lambda done, total: advance(done / total))
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=round(min(STEADY_S, duration_s / 2) * 1e9),
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )


def online_scheduling(parameters: Parameters) -> tuple[tuple[Service, ...], MigrationMethod]:
    """What T-Storm adds to Storm, and how it re-assigns; nothing and Storm's way in a run without gamma."""
    if "gamma" not in parameters:
        return (), Restart()
    policy = TStormScheduler(
        TStormParameters(
            gamma=parameters.number("gamma"), capacity_fraction=parameters.number("capacity_fraction")
        )
    )
    return (InitialConsolidation(), generator(policy, parameters)), Smooth()


def generator(policy: Scheduler[Any], parameters: Parameters) -> OnlineScheduling:
    """Monitors, schedule generator and custom scheduler around a policy that reads measured load."""
    return OnlineScheduling(
        policy,
        monitor=MonitorPlan(alpha=parameters.number("alpha")),
        period_s=parameters.number("generation_s"),
        fetch_s=parameters.number("fetch_s"),
        least_gain=LEAST_GAIN,
    )
