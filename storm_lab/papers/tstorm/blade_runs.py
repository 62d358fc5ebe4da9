"""Describes runs of section V on the ten blades: Storm with its default scheduler, or T-Storm.

A run with the parameter ``gamma`` is one of T-Storm. It adds monitors, schedule generator, custom scheduler,
the initial consolidation and the smooth hand-over to an otherwise unchanged Storm.
"""

from __future__ import annotations

from typing import Any

from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.service import Service
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.source import FailurePolicy, SourceKind, SourcePlan, TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.experiments.online_scheduling import STEADY_S, generator
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.model import Assignment, Cluster
from storm_lab.monitoring.consolidation import InitialConsolidation
from storm_lab.papers.tstorm.testbed import blades, costs_of
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.papers.tstorm import TStormParameters, TStormScheduler
from storm_lab.schedulers.storm.default import DefaultScheduler

STEADY_FROM_SHARE = 5 / 6
"""Share of a shorter run of figures 5, 6 and 8 before its steady state, long enough for the re-assignment."""

WORKERS = Parameter("workers", 20, "workers that the topology requests (section V)", low=1, high=40)
STORE_AND_QUEUE: tuple[Parameter, ...] = (
    Parameter(
        "store_cpu_share",
        0.3,
        "share of an insert's time that is CPU of the worker; at most 30 %",
        low=0.0,
        high=0.3,
    ),
    Parameter("fetch_us", 300.0, "wait for the queue server for each line", unit="us", low=50, high=2000),
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


def storm_or_tstorm(
    spec: RunSpec, plans: tuple[TopologyPlan, ...], *, cost: CostModel | None = None
) -> EmulationSpec:
    """Describe a run under Storm or T-Storm, as its parameters say; ``cost`` as in `on_blades`.

    Raises:
        UserError: the scheduler refuses the run.
    """
    services, migration = online_scheduling(spec.parameters)
    steady_s = min(STEADY_S, spec.parameters.number("duration_s") * STEADY_FROM_SHARE)
    return on_blades(spec, plans, DefaultScheduler(), services, migration, cost=cost, steady_s=steady_s)


def on_blades(
    spec: RunSpec,
    plans: tuple[TopologyPlan, ...],
    scheduler: Scheduler[Any],
    services: tuple[Service, ...],
    migration: MigrationMethod,
    *,
    placement: Assignment | None = None,
    cost: CostModel | None = None,
    steady_s: float | None = None,
) -> EmulationSpec:
    """Describe a run with Nimbus's own ``scheduler`` and the ``services`` in addition.

    ``placement`` fixes the first assignment by hand. ``cost`` replaces the shared costs of the message path,
    for a method that adds to them. Steady-state figures start at ``steady_s``; by default at `STEADY_S`, or
    half-way through a shorter run.
    """
    duration_s = spec.parameters.number("duration_s")
    return EmulationSpec(
        cluster=blades_of(spec.parameters),
        version=spec.storm_version,
        topologies=plans,
        scheduler=scheduler,
        duration_s=duration_s,
        seed=spec.seed,
        services=services,
        migration=migration,
        window_s=spec.parameters.number("monitor_s"),
        sample_every=spec.sample_every,
        placement=placement,
        cost=costs_of(spec.parameters, cost),
        warm_up_s=min(STEADY_S, duration_s / 2) if steady_s is None else steady_s,
    )


def blades_of(parameters: Parameters) -> Cluster:
    """The ten nodes of a run with these parameters."""
    return blades(cores=parameters.integer("cores"))


def online_scheduling(parameters: Parameters) -> tuple[tuple[Service, ...], MigrationMethod]:
    """The services that T-Storm adds to Storm, and its migration method.

    A run without ``gamma`` has no services and uses Storm's own method.
    """
    if "gamma" not in parameters:
        return (), Restart()
    policy = TStormScheduler(
        TStormParameters(
            gamma=parameters.number("gamma"), capacity_fraction=parameters.number("capacity_fraction")
        )
    )
    return (InitialConsolidation(), generator(policy, parameters)), Smooth()
