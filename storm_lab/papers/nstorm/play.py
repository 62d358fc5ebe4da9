"""Playing one run of N-Storm: a setting turned into the emulator's method, timers and services."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.migration.rebalance import Rebalance
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.times import ControlTimes, Timers, timers_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.emulation import Emulation, EmulationSpec
from storm_lab.experiments.experiment import Advance, RunSpec
from storm_lab.experiments.parameter import Parameters
from storm_lab.monitoring.random_moves import RandomMoves
from storm_lab.papers.nstorm.setting import REBALANCE, RESTART, Setting
from storm_lab.papers.nstorm.testbed import (
    FIRST_S,
    MOVABLE,
    PERIOD_S,
    TOPOLOGY,
    VERSION,
    WARM_UP_S,
    WINDOW_S,
    plan,
    servers,
)
from storm_lab.schedulers.storm.default import DefaultScheduler
from storm_lab.tuplelog import RunWriter, Status


def migration(setting: Setting) -> MigrationMethod:
    """The emulator's method of migration; the paper's rebalance restarts every worker."""
    if setting.method == REBALANCE:
        return Rebalance(wait_s=setting.wait_s, restart_all=True)
    return Restart() if setting.method == RESTART else NStorm(setting.poll_s, setting.kill_delay_s)


def timers(setting: Setting) -> Timers:
    """Storm's own, with the paper's two cycles."""
    return replace(timers_of(VERSION), assignment_sync_s=setting.sync_s, process_sync_s=setting.poll_s)


def control_times(parameters: Parameters) -> ControlTimes:
    """The durations that the experiment leaves open; the others stay what they are everywhere."""
    poll_s = parameters.number("poll_ms") / 1000
    times = replace(
        ControlTimes(),
        jvm_start_s=parameters.number("jvm_start_s"),
        poll_work_s=poll_s,
        refresh_hold_s=poll_s,
    )
    if "sync_ms" not in parameters:
        return times
    return replace(
        times,
        sync_work_s=parameters.number("sync_ms") / 1000,
        executor_start_s=parameters.number("executor_start_ms") / 1000,
    )


def cost_model(parameters: Parameters) -> CostModel:
    """The engine's, frozen; a trial may say how much slower cold code is, to show what that decides."""
    if "warm_up_factor" not in parameters:
        return CostModel()
    return replace(CostModel(), warm_up_factor=parameters.number("warm_up_factor"))


def emulation_of(spec: RunSpec) -> Emulation:
    """The run, ready to be played.

    Raises:
        UserError: a parameter that the emulator refuses, or a text that cannot be read.
    """
    parameters = spec.parameters
    setting = Setting.of(parameters)
    moves = RandomMoves(TOPOLOGY, setting.moved, FIRST_S, PERIOD_S, MOVABLE) if setting.moved else None
    return Emulation(
        EmulationSpec(
            cluster=servers(),
            version=VERSION,
            topologies=(plan(parameters, spec.files["text"]),),
            scheduler=DefaultScheduler(),
            duration_s=parameters.number("duration_s"),
            seed=spec.seed,
            cost=cost_model(parameters),
            services=(moves,) if moves else (),
            migration=migration(setting),
            times=control_times(parameters),
            timers=timers(setting),
            window_s=WINDOW_S,
            sample_every=spec.sample_every,
        )
    )


def play(spec: RunSpec, writer: RunWriter, advance: Advance) -> None:
    """Play one run, and finish its log.

    Raises:
        UserError: as `emulation_of`.
    """
    outcome = emulation_of(spec).run(writer, lambda done, total: advance(done / total))
    writer.finish(
        duration_ns=outcome.duration_ns,
        warm_up_ns=round(WARM_UP_S * 1e9),
        status=Status.STOPPED if outcome.stopped else Status.COMPLETE,
        reason=outcome.stopped,
    )
