"""N-Storm: when a moved thread stops and starts, by the cycles and phases of supervisors and workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from storm_lab.emulator.control.clock import SECOND, Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.supervisor import Phases
from storm_lab.emulator.control.times import ControlTimes, timers_of
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.emulation import Emulation
from storm_lab.emulator.setup.dataplane import DataPlane
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.readings import calculated, measurement
from storm_lab.model import Assignment, Cluster, Executor, Node
from storm_lab.model.version import V0_9_7
from storm_lab.monitoring.random_moves import RandomMoves
from storm_lab.papers.algorithms import trees
from storm_lab.schedulers.storm.default import DefaultScheduler

SYNC_S = 10.0
"""T_s: period at which supervisors read the assignment."""
POLL_S = 3.0
"""T_w: period at which workers poll their node's store (figure 6)."""
BRIEF_POLL_S = 0.1
"""Figure 4 shows only the supervisors' cycle, so workers poll so often that their delay is negligible."""
MOVED_S = 50.0
"""Time of the first re-assignment of figure 6."""

_RATE = 20.0
_WARM_S = 100.0

SERVERS = Cluster(tuple(Node(f"server{number}", cores=16, core_mhz=2100.0) for number in (1, 2)))
"""Two worker nodes of 16 cores and four slots."""
_TIMERS = replace(timers_of(V0_9_7), assignment_sync_s=SYNC_S)


def absence_s(old_phase_s: float, new_phase_s: float, scheduled_s: float) -> float | None:
    """Seconds during which a moved thread runs nowhere; None if it never starts again.

    Args:
        old_phase_s: time of a supervisor's sync at the node that the thread leaves, modulo the cycle.
        new_phase_s: the same at the node that it moves to.
        scheduled_s: time of the new assignment, modulo the cycle.
    """
    declared = trees.topology((2, 2, 2), workers=2, ackers=1)
    old, new = (node.id for node in SERVERS.nodes)
    end_s = _WARM_S + scheduled_s + 3 * SYNC_S
    plan = trees.plan(declared, V0_9_7, _RATE)
    spec = EmulationSpec(SERVERS, V0_9_7, (plan,), DefaultScheduler(), end_s, seed=1)
    data = DataPlane(spec)
    control = ControlPlane(
        SERVERS,
        V0_9_7,
        data,
        spec.scheduler,
        NStorm(poll_s=BRIEF_POLL_S),
        cost=spec.cost,
        times=ControlTimes(),
        timers=_TIMERS,
        zookeeper=ZooKeeperPlan(),
        seed=1,
        phases={old: Phases(ns(old_phase_s), 0, 0), new: Phases(ns(new_phase_s), 0, 0)},
    )
    control.nimbus.submit(declared)
    control.clock.run_until(ns(_WARM_S))
    moved = _move(control, old, new, _WARM_S + scheduled_s)
    control.clock.run_until(ns(end_s))
    control.finish()
    stays = [stay for stay in data.stays if stay.executor == moved]
    if stays[-1].slot.node != new:
        return None
    return sum(end - start for start, end in data.absences(moved)) / SECOND


def _move(control: ControlPlane, old: str, new: str, at_s: float) -> Executor:
    """Assign one executor of a bolt to the worker on the other node at time ``at_s``."""
    present = control.nimbus.present
    moved = next(
        e for e, slot in sorted(present.slots.items()) if e.component == "store" and slot.node == old
    )
    target = next(slot for slot in sorted(present.slots.values()) if slot.node == new)
    assignment = present.merged(Assignment.of([(moved, target)]))

    def install() -> None:
        control.nimbus.install(assignment, "one thread moved")

    control.clock.at(ns(at_s), Rank.NIMBUS, "nimbus", install)
    return moved


def first_stop_s(seed: int) -> float | None:
    """Time at which the thread that is moved at 50 s stops in its old worker; None if it never does."""
    # As in the paper: eight spouts, 12 executors that split and 24 that count, on all eight workers.
    declared = trees.topology((8, 12, 24), workers=8, ackers=8)
    spec = EmulationSpec(
        cluster=SERVERS,
        version=V0_9_7,
        topologies=(trees.plan(declared, V0_9_7, _RATE),),
        scheduler=DefaultScheduler(),
        duration_s=MOVED_S + 2 * (SYNC_S + POLL_S),
        seed=seed,
        services=(RandomMoves(trees.TOPOLOGY, 1, first_s=MOVED_S),),
        migration=NStorm(poll_s=POLL_S),
        timers=_TIMERS,
        # Executions are not evaluated here.
        sample_every=1000,
    )
    stays = Emulation(spec).run().stays
    ends = [stay.end_ns for stay in stays if stay.end_ns is not None and stay.end_ns >= ns(MOVED_S)]
    return min(ends) / SECOND if ends else None


def measure(seeds: Sequence[int]) -> tuple[Measurement, ...]:
    """Measure the worst case of figure 4, and the delay of figure 6 with random phases."""
    absent = absence_s(old_phase_s=1.0, new_phase_s=0.0, scheduled_s=0.5)
    phases = "thread absent, new assignment at 0.5 s, old node's sync at 1 s, new node's at 0 and 10 s"
    first_drops = [first_stop_s(seed) for seed in seeds]
    stops = "time at which the thread moved at 50 s stops in its old worker, phases drawn anew for each seed"
    return (
        calculated("nstorm-fig4-worst-case", absent, how=phases),
        measurement("nstorm-fig6-first-drop", first_drops, how=stops),
    )
