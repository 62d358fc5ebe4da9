"""Playing a run on the Emulab machines: one scheduler, one or two topologies, to a finished log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from storm_lab.experiments.experiment import Advance, RunSpec
from storm_lab.model import Assignment, Cluster
from storm_lab.papers.rstorm.testbed import emulab_costs

if TYPE_CHECKING:
    from storm_lab.emulator.source import TopologyPlan
    from storm_lab.schedulers.contract import Scheduler
    from storm_lab.tuplelog import RunWriter

DEFAULT = "default"
RSTORM = "rstorm"
SCHEDULERS = (DEFAULT, RSTORM)
WINDOW_S = 10.0
"""Throughput is reported for every 10 s (section 6.2), so that is how it is counted."""


def scheduler_of(name: str) -> Scheduler[Any]:
    """Storm's default scheduler, or R-Storm with the recommended readings."""
    from storm_lab.schedulers.papers.rstorm import RStormScheduler
    from storm_lab.schedulers.storm.default import DefaultScheduler

    known: dict[str, Scheduler[Any]] = {DEFAULT: DefaultScheduler(), RSTORM: RStormScheduler()}
    return known[name]


def play(
    spec: RunSpec,
    cluster: Cluster,
    plans: tuple[TopologyPlan, ...],
    scheduler: Scheduler[Any],
    writer: RunWriter,
    advance: Advance,
    *,
    placement: Assignment | None = None,
) -> None:
    """Play the run for its ``duration_s`` and finish its log; means are taken from ``from_s`` on.

    Raises:
        UserError: something that the emulator or the scheduler refuses.
    """
    from storm_lab.emulator.emulation import Emulation, EmulationSpec
    from storm_lab.tuplelog import Status

    outcome = Emulation(
        EmulationSpec(
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
        )
    ).run(writer, lambda done, total: advance(done / total))
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=round(spec.parameters.number("from_s") * 1e9),
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )
