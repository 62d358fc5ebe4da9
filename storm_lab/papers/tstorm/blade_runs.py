"""Describes runs of section V on the ten blades: under Storm, or with a ``gamma`` under T-Storm.

T-Storm adds monitors, schedule generator, custom scheduler, initial consolidation and smooth hand-over.
"""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.control.control_plane import Service
from storm_lab.emulator.control.migration.method import MigrationMethod, Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.online_scheduling import STEADY_S, generator
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.monitoring.online_scheduling import InitialConsolidation
from storm_lab.papers.tstorm.testbed import blades, costs_of
from storm_lab.schedulers.papers.tstorm import TStormParameters, TStormScheduler
from storm_lab.schedulers.storm.default import DefaultScheduler

WORKERS = Parameter("workers", 20, "workers that the topology requests (section V)", within=(1, 40))
STORE_AND_QUEUE: tuple[Parameter, ...] = (
    Parameter(
        "store_cpu_share",
        0.3,
        "share of an insert's time that is CPU of the worker; at most 30 %",
        within=(0.0, 0.3),
    ),
    Parameter("fetch_us", 300.0, "wait for the queue server for each line", within=(50, 2000, "us")),
)
"""What Word Count and Log Stream Processing share: inserts into MongoDB, and a Redis queue of lines."""


def lines_from_queue(parameters: Parameters, readers: int = 1) -> SourcePlan:
    """Lines from a Redis queue that arrive at the same rate for each reader."""
    return SourcePlan(
        SourceKind.RATE,
        rate_per_s=readers * parameters.number("lines_per_s"),
        fetch_ns=round(parameters.number("fetch_us") * 1000),
        # A line popped from the queue is gone, whether its tuple succeeds or fails.
        on_fail=FailurePolicy.FORGET,
    )


def on_blades(spec: RunSpec, plan: TopologyPlan, steady_from: float = 5 / 6) -> EmulationSpec:
    """Describe a run under Storm or T-Storm, as its parameters say; `UserError`: the scheduler refuses it.

    The steady state starts at `STEADY_S`, or after the share ``steady_from`` of a shorter run, which by
    default is long enough for the re-assignment of figures 5, 6 and 8.
    """
    services, migration = online_scheduling(spec.parameters)
    return replace(
        spec.described(blades(spec.parameters.integer("cores")), (plan,), DefaultScheduler()),
        services=services,
        migration=migration,
        window_s=spec.parameters.number("monitor_s"),
        cost=costs_of(spec.parameters),
        warm_up_s=min(STEADY_S, spec.parameters.number("duration_s") * steady_from),
    )


def online_scheduling(parameters: Parameters) -> tuple[tuple[Service, ...], MigrationMethod]:
    """The services that T-Storm adds to Storm, and its migration method; without ``gamma``, Storm's own."""
    if "gamma" not in parameters:
        return (), Restart()
    gamma, fraction = parameters.number("gamma"), parameters.number("capacity_fraction")
    policy = TStormScheduler(TStormParameters(gamma=gamma, capacity_fraction=fraction))
    return (InitialConsolidation(), generator(policy, parameters)), Smooth()
