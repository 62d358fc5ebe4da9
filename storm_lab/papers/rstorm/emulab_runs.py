"""Runs on the Emulab machines: one scheduler, one or two topologies."""

from __future__ import annotations

from typing import Any

from storm_lab.emulator.source import TopologyPlan
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.experiment import RunSpec
from storm_lab.model import Assignment, Cluster
from storm_lab.papers.rstorm.testbed import emulab_costs
from storm_lab.schedulers.contract import Scheduler
from storm_lab.schedulers.papers.rstorm import RStormScheduler
from storm_lab.schedulers.storm.default import DefaultScheduler

DEFAULT = "default"
RSTORM = "rstorm"
SCHEDULERS = (DEFAULT, RSTORM)
WINDOW_S = 10.0
"""Throughput is counted in bins of 10 s, as it is reported (section 6.2)."""


def scheduler_of(name: str) -> Scheduler[Any]:
    """Storm's default scheduler, or R-Storm with its recommended readings."""
    known: dict[str, Scheduler[Any]] = {DEFAULT: DefaultScheduler(), RSTORM: RStormScheduler()}
    return known[name]


def on_emulab(
    spec: RunSpec,
    cluster: Cluster,
    plans: tuple[TopologyPlan, ...],
    scheduler: Scheduler[Any],
    *,
    placement: Assignment | None = None,
) -> EmulationSpec:
    """Describe a run of length ``duration_s``, with means from ``from_s`` on; both are its parameters."""
    return EmulationSpec(
        cluster=cluster,
        version=spec.storm_version,
        topologies=plans,
        scheduler=scheduler,
        placement=placement,
        duration_s=spec.parameters.number("duration_s"),
        seed=spec.seed,
        cost=emulab_costs(),
        window_s=WINDOW_S,
        sample_every=spec.sample_every,
        warm_up_s=spec.parameters.number("from_s"),
    )
