"""A run of section V: Storm with its default scheduler, or T-Storm, on the ten blades.

T-Storm is what the run's parameter ``gamma`` says: monitors, schedule generator, custom scheduler, the
initial consolidation and the smooth hand-over are added to a Storm that is otherwise the same.
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
from storm_lab.experiments.parameter import Parameters
from storm_lab.model import Assignment, Cluster
from storm_lab.monitoring.consolidation import InitialConsolidation
from storm_lab.papers.tstorm.testbed import blades, costs_of
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.papers.tstorm import TStormParameters, TStormScheduler
from storm_lab.schedulers.storm.default import DefaultScheduler

LEAD_IN = 5 / 6
"""Part of a shorter run of figures 5, 6 and 8 that comes before: long enough to hold the re-assignment."""


def lines_from_queue(parameters: Parameters, readers: int = 1) -> SourcePlan:
    """Lines out of a Redis queue, at a rate for each reader."""
    return SourcePlan(
        SourceKind.RATE,
        rate_per_s=readers * parameters.number("lines_per_s"),
        fetch_ns=round(parameters.number("fetch_us") * 1000),
        # A line popped from the queue is gone, whatever becomes of it.
        on_fail=FailurePolicy.FORGET,
    )


def storm_or_tstorm(
    spec: RunSpec, plans: tuple[TopologyPlan, ...], *, cost: CostModel | None = None
) -> EmulationSpec:
    """A run under Storm or T-Storm, as its parameters say; `UserError` for one that the scheduler refuses.

    ``cost`` as in `on_blades`.
    """
    services, migration = online_scheduling(spec.parameters)
    steady_s = min(STEADY_S, spec.parameters.number("duration_s") * LEAD_IN)
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
    """A run with Nimbus's own ``scheduler`` and what ``services`` add.

    ``placement`` fixes the first assignment by hand; ``cost`` stands in for the shared costs of the message
    path, for a method that adds to them. Figures of the steady state are taken from ``steady_s``
    on; by default from `STEADY_S` on, or over the second half of a shorter run.
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
    """The ten nodes that a run with these parameters has."""
    return blades(cores=parameters.integer("cores"))


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
