"""What runs with and without a delayed kill say about the claims of N-Storm's figures 11 and 12."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measurement, reductions
from storm_lab.papers.nstorm.durations_claims import (
    LEVELS,
    Tables,
    change,
    degraded_s,
    labelled,
    lost_with_threads,
    replays,
    total,
)
from storm_lab.papers.nstorm.multi_migration_claims import moving
from storm_lab.papers.nstorm.setting import POLL_S, SYNC_S, THREADS, Setting

CLAIMS = (
    "nstorm-fig11-60",
    "nstorm-fig11-100",
    "nstorm-fig11-reductions",
    "nstorm-fig11-all-levels",
    "nstorm-fig12-throughput",
    "nstorm-no-loss",
)
METRICS = ("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control")
"""The metric tables that the notebook and `measure` read."""


def plus(parameters: Parameters, sync_s: float = SYNC_S, poll_s: float = POLL_S) -> Setting:
    """N-Storm+ with these cycles."""
    return Setting(
        THREADS, parameters.integer("moved"), sync_s, poll_s, kill_delay_s=parameters.number("kill_delay_s")
    )


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims, if the runs are those of the paper: sixteen executors, two seconds."""
    if parameters.integer("moved") != 16 or parameters.number("kill_delay_s") != 2.0:
        return ()
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    before, after = moving(16).variant, plus(parameters).variant
    old = {level: degraded_s(tables, before, seeds, level) for level in LEVELS}
    new = {level: degraded_s(tables, after, seeds, level) for level in LEVELS}
    seconds = "seconds of the run with throughput at least {} % below the smooth mean of the same run"
    return (
        measurement("nstorm-fig11-60", new[60], unit="s", how=seconds.format(60)),
        measurement("nstorm-fig11-100", new[100], unit="s", how=seconds.format(100)),
        labelled(
            "nstorm-fig11-reductions",
            {f"at-{level}": reductions(new[level], old[level]) for level in (60, 100)},
            unit="%",
            how="100 * (1 - N-Storm+ / N-Storm), " + seconds.format("60 or 100"),
        ),
        labelled(
            "nstorm-fig11-all-levels",
            {
                f"{name}/{level}": values[level]
                for level in LEVELS
                for name, values in (("n-storm-plus", new), ("n-storm", old))
            },
            unit="s",
            how=seconds.format("20 to 100"),
        ),
        measurement(
            "nstorm-fig12-throughput",
            change(total(tables, after, seeds), total(tables, before, seeds)),
            unit="%",
            how="calls answered in the whole run: 100 * (N-Storm+ / N-Storm - 1)",
        ),
        labelled(
            "nstorm-no-loss",
            {
                "lost": lost_with_threads(tables, after, seeds),
                "replayed": replays(tables, after, seeds),
            },
            unit="tuples",
            how="tuples that died with stopped executors, as the control log counts them, and calls that "
            "timed out, in a run",
        ),
    )
