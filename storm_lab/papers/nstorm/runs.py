"""The runs of N-Storm's experiments: a migration method, its cycles, and the number of threads that move.

All play the same topology on the same servers. Runs are named by their setting and not by the figure, so that
settings that several figures compare are played once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any

from storm_lab.emulator.control.migration.method import MigrationMethod, Rebalance, Restart
from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.times import ControlTimes, Timers, timers_of
from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.spec import EmulationSpec
from storm_lab.emulator.unreached import Unreached
from storm_lab.experiments.experiment import MOST_SEEDS, RunSpec, Settling
from storm_lab.experiments.parameter import Parameters, ParameterValue, number_text
from storm_lab.experiments.trial import Trial, under_trials, variant_of
from storm_lab.monitoring.random_moves import RandomMoves
from storm_lab.papers.nstorm.testbed import (
    COMMON,
    FIRST_S,
    HEAP_MB,
    MESSAGES_KEPT,
    MOVABLE,
    PERIOD_S,
    SUPERVISORS_IN_TURN,
    TOPOLOGY,
    VERSION,
    WARM_UP_S,
    WINDOW_S,
    plan,
    sentences,
    servers,
)
from storm_lab.schedulers.storm.default import DefaultScheduler

RUNS = "nstorm-migration"
"""Experiment name under which the runs of all figures are stored."""

REBALANCE = "rebalance"
RESTART = "restart"
THREADS = "threads"
"""Methods: Storm's rebalance command; worker-level restart (Storm*); thread-level update (N-Storm)."""

SYNC_S = 10.0
POLL_S = 3.0
"""The cycles T_s and T_w in experiments that do not vary them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What distinguishes one run from the others.

    ``moved`` executors change places at each re-assignment; 0 moves none. ``sync_s`` is T_s, the supervisors'
    cycle. ``poll_s`` is T_w, the cycle of the workers and of the supervisors' check of their processes.
    ``kill_delay_s`` turns N-Storm into N-Storm+. ``wait_s`` is the wait of the rebalance command.
    """

    method: str
    moved: int = 1
    sync_s: float = SYNC_S
    poll_s: float = POLL_S
    kill_delay_s: float = 0.0
    wait_s: float = 30.0

    @property
    def variant(self) -> str:
        """Name of the setting's runs, usable as a file name."""
        if self.method == REBALANCE:
            return f"storm-wait{number_text(self.wait_s)}-m{self.moved}"
        if self.method == RESTART:
            return f"storm-star-m{self.moved}"
        name = f"nstorm-plus{number_text(self.kill_delay_s)}" if self.kill_delay_s else "nstorm"
        return f"{name}-{number_text(self.sync_s)}-{number_text(self.poll_s)}-m{self.moved}"

    @property
    def values(self) -> dict[str, ParameterValue]:
        """Parameters on which a run of this setting depends, besides the shared ones."""
        others = {REBALANCE: ("kill_delay_s",), RESTART: ("kill_delay_s", "wait_s"), THREADS: ("wait_s",)}
        return {name: value for name, value in asdict(self).items() if name not in others[self.method]}

    @classmethod
    def of(cls, parameters: Parameters) -> Setting:
        """The setting that a run's parameters describe."""
        names = [each.name for each in fields(cls) if each.name in parameters]
        return cls(**dict[str, Any](parameters.only(names)))


STAR = Setting(RESTART)
NSTORM = Setting(THREADS)
"""Storm* and N-Storm with one moved executor, as in figure 6."""

UNHURRIED = Trial(
    "unhurried",
    "16 callers that pause 100 ms after an answer and give up after 9 s",
    {"calls": 16, "think_ms": 100.0, "patience_s": 9.0},
    reading=True,
    # The second is the first divided by ten moves.
    chosen_on=("nstorm-fig7-nstorm-60", "nstorm-fig6-nstorm-stop", "nstorm-fig9-m16-60"),
    indifferent=("calls",),
)
_APART: dict[str, ParameterValue] = {"supervisors": SUPERVISORS_IN_TURN, "supervisors_apart_s": 5.0}
KEPT = Trial(
    "kept",
    "kept messages, supervisors that poll 5 s apart, and otherwise 16 callers that pause 100 ms and give up "
    "after 9 s",
    {**UNHURRIED.changes, "messages": MESSAGES_KEPT, **_APART},
    reading=True,
    chosen_on=(*UNHURRIED.chosen_on, "nstorm-fig11-60", "nstorm-no-loss"),
    indifferent=UNHURRIED.indifferent,
)
BRIEF = Trial(
    "brief",
    "16 callers that pause 100 ms and give up after 6.8 s, supervisors that poll 5 s apart, threads that "
    "start in 120 ms",
    {**UNHURRIED.changes, "patience_s": 6.8, "executor_start_ms": 120.0, **_APART},
    reading=True,
    chosen_on=("nstorm-fig11-60", "nstorm-fig11-100", "nstorm-fig13-best-60", "nstorm-plus-82"),
    indifferent=UNHURRIED.indifferent,
)
READINGS = (UNHURRIED, KEPT)
"""Other sets of values for what is not printed.

Unhurried: two callers that call again at once both meet an absent executor within a fraction of a second,
however few have moved. More callers that pause meet it one after the other. Pause and patience were chosen on
the cost of one and of sixteen moves; 64 callers are like 16.

Kept: senders keep messages to an executor that is not there yet, because section IV-A says that N-Storm+
loses nothing. The supervisors poll half a cycle apart, the largest possible distance, in all runs.
"""
READINGS_OF_PLUS = (*READINGS, BRIEF)
"""The readings of N-Storm+'s figures, which print other numbers for N-Storm than the figures before them.

Brief was chosen on the seconds of N-Storm+ at the longest and at the recommended cycles.
"""


def migration(setting: Setting) -> MigrationMethod:
    """The emulator's migration method for a setting; the paper's rebalance restarts every worker."""
    if setting.method == REBALANCE:
        return Rebalance(wait_s=setting.wait_s, restart_all=True)
    return Restart() if setting.method == RESTART else NStorm(setting.poll_s, setting.kill_delay_s)


def timers(setting: Setting, poll_offset_s: float | None = None) -> Timers:
    """Storm's own timers with the paper's cycles; supervisors poll ``poll_offset_s`` apart, or at random."""
    return replace(
        timers_of(VERSION),
        assignment_sync_s=setting.sync_s,
        process_sync_s=setting.poll_s,
        supervisors_apart_s=poll_offset_s,
    )


def control_times(parameters: Parameters) -> ControlTimes:
    """The durations that the experiment leaves open; the others keep their defaults."""
    poll_s = parameters.number("poll_ms") / 1000
    of_threads = {"sync_work_s": "sync_ms", "executor_start_s": "executor_start_ms"}
    return replace(
        ControlTimes(),
        jvm_start_s=parameters.number("jvm_start_s"),
        poll_work_s=poll_s,
        refresh_hold_s=poll_s,
        **{own: parameters.number(name) / 1000 for own, name in of_threads.items() if name in parameters},
    )


def describe(spec: RunSpec) -> EmulationSpec:
    """Describe one run; `UserError` if a text cannot be read."""
    parameters = spec.parameters
    setting = Setting.of(parameters)
    apart_s = parameters.number("supervisors_apart_s")
    in_turn = parameters.text("supervisors") == SUPERVISORS_IN_TURN
    cost = CostModel(worker_memory_mb=HEAP_MB)
    if "warm_up_factor" in parameters:
        # Set by a trial, to show the effect of cold code.
        cost = replace(cost, warm_up_factor=parameters.number("warm_up_factor"))
    moves = RandomMoves(TOPOLOGY, setting.moved, FIRST_S, PERIOD_S, MOVABLE)
    return replace(
        spec.described(servers(), (plan(parameters, spec.files["text"]),), DefaultScheduler()),
        cost=cost,
        services=(moves,) if setting.moved else (),
        migration=migration(setting),
        times=control_times(parameters),
        timers=timers(setting, apart_s if in_turn else None),
        window_s=WINDOW_S,
        warm_up_s=WARM_UP_S,
        unreached=Unreached.KEEP if parameters.text("messages") == MESSAGES_KEPT else None,
    )


_SHARED = {each.name for each in COMMON} - {"seeds", "text", "readings"} | {"warm_up_factor"}
_THREAD_PARAMETERS = ("executor_start_ms", "sync_ms")
"""Parameters that only a thread-level update depends on."""


def run_specs(parameters: Parameters, settings: Iterable[Setting]) -> tuple[RunSpec, ...]:
    """Each setting once for every seed; equal settings are played once; `UserError`: unreadable text."""
    files = {"text": parameters.text("text")}
    inputs = {"sentences": sentences(files["text"], parameters.integer("words")).digest}
    shared = parameters.only(_SHARED & parameters.keys())
    found = []
    for setting in dict.fromkeys(settings):
        own = shared if setting.method == THREADS else shared.without(*_THREAD_PARAMETERS)
        values = own.changed(**setting.values)
        # Root tuples yield the throughput, so a few logged executions are enough.
        found += [
            RunSpec(RUNS, setting.variant, seed, values, describe, VERSION, inputs, files, sample_every=1000)
            for seed in parameters.seeds
        ]
    return tuple(found)


def other_readings(parameters: Parameters, known: Sequence[Trial] = READINGS) -> Sequence[Trial]:
    """The other readings, of those ``known``, unless the parameter ``readings`` leaves them out."""
    return known if parameters.flag("readings") else ()


def with_other_readings(
    parameters: Parameters, settings: Sequence[Setting], known: Sequence[Trial] = READINGS
) -> tuple[RunSpec, ...]:
    """The settings as they are and under each reading ``known``; `UserError` if a text cannot be read."""
    make_runs = partial(run_specs, settings=settings)
    return (*make_runs(parameters), *under_trials(make_runs, parameters, other_readings(parameters, known)))


def settling(
    claims: Sequence[str],
    variants: Sequence[str],
    seeds: int = MOST_SEEDS,
    reading: Trial | None = None,
    *,
    metrics: tuple[str, ...] = ("degradation",),
) -> Settling:
    """More seeds for claims that are measured from these variants, under a reading if one is given."""
    played = tuple(variant_of(variant, reading) for variant in variants)
    return Settling(tuple(claims), played, seeds, reading.label if reading else "", metrics=metrics)


def trial_tag(name: str, value: float) -> str:
    """Suffix of the variants of a trial: ``poll_ms`` 30 gives ``-poll30``."""
    return f"-{name.partition('_')[0]}{number_text(value)}"
