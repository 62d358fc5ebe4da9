"""Several executors move at once: N-Storm with M = 1, 2, 4, 8 and 16 (figures 9 and 10)."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measured, Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Samples, Tables, changes, measured, measurement
from storm_lab.experiments.trial import with_trials
from storm_lab.papers.nstorm import durations
from storm_lab.papers.nstorm.runs import (
    KEPT,
    NSTORM,
    READINGS,
    UNHURRIED,
    Setting,
    other_readings,
    settling,
    with_other_readings,
)
from storm_lab.papers.nstorm.testbed import COMMON, FIRST_S, PERIOD_S

SLUG = "nstorm-multi-migration"

WITHOUT_MOVES = replace(NSTORM, moved=0)
"""N-Storm in a run without moves: the initial placement, warmed up as long as in the other runs."""
PAPERS_M = (1, 2, 4, 8, 16)
AFTER = 3
"""Number of re-assignments after which the gain of figure 10 is measured; the paper says two or three."""
COMPARED_S = FIRST_S + AFTER * PERIOD_S
"""The gain is measured in the last seconds before this time, that of the next re-assignment."""
PARAMETERS: tuple[Parameter, ...] = (
    Parameter("moved", PAPERS_M, "executors that move at each re-assignment (figure 9)", within=(1, 36)),
    *COMMON,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm by number of moved executors, and without moves for as long as figure 10 needs."""
    short = parameters.changed(duration_s=min(parameters.number("duration_s"), COMPARED_S))
    return (
        *with_other_readings(parameters, [moving(m) for m in parameters.integers("moved")]),
        *with_other_readings(short, [WITHOUT_MOVES]),
    )


def moving(executors: int) -> Setting:
    """N-Storm with ``executors`` executors moved at once."""
    return replace(NSTORM, moved=executors)


def gain(tables: Tables, executors: int, seeds: tuple[int, ...]) -> Samples:
    """Change of throughput after three re-assignments, in per cent, over the 20 s before the fourth.

    Relative to the same seconds of a run without moves, because code gets faster while it runs.
    """
    after, before = (
        durations.rate_between(tables, setting.variant, seeds, COMPARED_S - durations.QUIET_S, COMPARED_S)
        for setting in (moving(executors), WITHOUT_MOVES)
    )
    return changes(after, before)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims that runs with these numbers of executors answer."""
    seeds = parameters.seeds
    chosen = set(parameters.integers("moved"))
    variant = {m: moving(m).variant for m in chosen}
    found: list[Measurement] = []
    if 16 in chosen:
        low = durations.degraded_s(tables, variant[16], seeds, 60)
        found.append(measurement("nstorm-fig9-m16-60", low, how=durations.DEGRADED.format(60)))
    if {2, 4} <= chosen:
        done = {f"M-{m}": durations.total(tables, variant[m], seeds) for m in (2, 4)}
        found.append(measurement("nstorm-fig10-m4-gt-m2", done, how=durations.ANSWERED))
    if 4 in chosen:
        how = "100 * (moved / unmoved - 1), answers in the 20 s before the fourth re-assignment"
        found.append(measurement("nstorm-fig10-m4-gain", gain(tables, 4, seeds), how=how))
    if {1, 2, 4} <= chosen:
        widest = _widest(tables, [variant[m] for m in (1, 2, 4)], seeds)
        how = (
            f"largest less smallest of the three means over {len(seeds)} seeds, at the level at which they "
            f"differ most, one number without an interval; {durations.DEGRADED.format('20 to 100')}"
        )
        found.append(Measurement("nstorm-fig9-small-m", (widest,), unit="s", how=how))
    if set(PAPERS_M) <= chosen:
        lows = {f"M-{m}": durations.degraded_s(tables, variant[m], seeds, 60) for m in PAPERS_M}
        stops = {f"standstill/M-{m}": durations.degraded_s(tables, variant[m], seeds, 100) for m in (8, 16)}
        done = {f"M-{m}": durations.total(tables, variant[m], seeds) for m in PAPERS_M}
        how = durations.DEGRADED.format("60, or for a standstill 100")
        found.append(measurement("nstorm-fig9-large-m", {**lows, **stops}, how=how))
        found.append(measurement("nstorm-fig10-m-flat", done, how=durations.ANSWERED))
    return tuple(found)


def _widest(tables: Tables, variants: list[str], seeds: tuple[int, ...]) -> Measured:
    """Largest difference of means over seeds. The paper compares means of ten runs, so this does so, too."""
    widest = 0.0
    for level in durations.LEVELS:
        found = [measured(durations.degraded_s(tables, variant, seeds, level)).value for variant in variants]
        means = [mean for mean in found if mean is not None]
        if len(means) < len(variants):
            return Measured(None)
        widest = max(widest, max(means) - min(means))
    return Measured(widest, seeds=len(seeds))


_FIGURE_9 = (("nstorm-fig9-large-m",), [moving(m).variant for m in PAPERS_M])
_FIGURE_10 = (("nstorm-fig10-m4-gt-m2",), [moving(m).variant for m in (2, 4)])
"""Claims on orders that five seeds do not decide, and their variants."""

EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="Several moved executors under N-Storm",
    figure="Figures 9 and 10",
    parameters=PARAMETERS,
    notebook="nstorm/multi_migration.ipynb",
    metrics=("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control"),
    runs=runs,
    measure=with_trials(measure, other_readings),
    chosen=READINGS,
    settling=(
        settling(*_FIGURE_9),
        settling(*_FIGURE_9, 10, UNHURRIED),
        settling(*_FIGURE_10, 10, metrics=("throughput_1s",)),
        settling(*_FIGURE_10, 10, UNHURRIED, metrics=("throughput_1s",)),
        settling(*_FIGURE_10, 10, KEPT, metrics=("throughput_1s",)),
    ),
)
