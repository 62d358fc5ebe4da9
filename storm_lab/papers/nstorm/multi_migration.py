"""Several executors move at once: N-Storm with M = 1, 2, 4, 8 and 16 (figures 9 and 10)."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.experiments.experiment import Experiment, RunSpec, Settling
from storm_lab.experiments.measurement import Measured, Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Samples, Tables, by_label, changes, measurement
from storm_lab.experiments.trial import Trial, variant_of, with_trials
from storm_lab.papers.nstorm.durations import LEVELS, QUIET_S, degraded_s, rate_between, total
from storm_lab.papers.nstorm.runs import KEPT, READINGS, UNHURRIED, other_readings, with_other_readings
from storm_lab.papers.nstorm.setting import NSTORM, Setting
from storm_lab.papers.nstorm.testbed import COMMON, FIRST_S, PERIOD_S

SLUG = "nstorm-multi-migration"

WITHOUT_MOVES = replace(NSTORM, moved=0)
"""N-Storm in a run without moves: the initial placement, warmed up as long as in the other runs."""
PAPERS_M = (1, 2, 4, 8, 16)
SMALL_M = (1, 2, 4)
AFTER = 3
"""Number of re-assignments after which the gain of figure 10 is measured; the paper says two or three."""
COMPARED_S = FIRST_S + AFTER * PERIOD_S
"""The gain is measured in the last seconds before this time, that of the next re-assignment."""
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "moved", (1, 2, 4, 8, 16), "executors that move at each re-assignment (figure 9)", low=1, high=36
    ),
    *COMMON,
)


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm for each number of moved executors and once without any move, for every seed.

    The run without a move is only as long as the gain of figure 10 needs.
    """
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

    It is relative to the same seconds of a run in which nothing moves. The start of the same run would not
    do, because code gets faster while it runs.
    """
    after, before = (
        rate_between(tables, setting.variant, seeds, COMPARED_S - QUIET_S, COMPARED_S)
        for setting in (moving(executors), WITHOUT_MOVES)
    )
    return changes(after, before)


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims that runs with these numbers of executors answer."""
    seeds = parameters.seeds
    chosen = set(parameters.integers("moved"))
    variant = {m: moving(m).variant for m in chosen}
    seconds = "seconds of the run with throughput at least {} % below the smooth mean of the same run"
    found: list[Measurement] = []
    if 16 in chosen:
        found.append(
            measurement(
                "nstorm-fig9-m16-60",
                degraded_s(tables, variant[16], seeds, 60),
                unit="s",
                how=seconds.format(60),
            )
        )
    if {2, 4} <= chosen:
        found.append(
            by_label(
                "nstorm-fig10-m4-gt-m2",
                {f"M-{m}": total(tables, variant[m], seeds) for m in (2, 4)},
                unit="tuples",
                how="calls answered in the whole run",
            )
        )
    if 4 in chosen:
        found.append(
            measurement(
                "nstorm-fig10-m4-gain",
                gain(tables, 4, seeds),
                unit="%",
                how="100 * (moved / unmoved - 1), answers in the 20 s before the fourth re-assignment",
            )
        )
    if set(SMALL_M) <= chosen:
        found.append(
            Measurement(
                "nstorm-fig9-small-m",
                (_widest(tables, [variant[m] for m in SMALL_M], seeds),),
                unit="s",
                how=f"largest less smallest of the three means over {len(seeds)} seeds, at the level at "
                "which they differ most, one number without an interval; " + seconds.format("20 to 100"),
            )
        )
    if set(PAPERS_M) <= chosen:
        found += [
            by_label(
                "nstorm-fig9-large-m",
                {
                    **{f"M-{m}": degraded_s(tables, variant[m], seeds, 60) for m in PAPERS_M},
                    **{f"standstill/M-{m}": degraded_s(tables, variant[m], seeds, 100) for m in (8, 16)},
                },
                unit="s",
                how=seconds.format("60, or for a standstill 100"),
            ),
            by_label(
                "nstorm-fig10-m-flat",
                {f"M-{m}": total(tables, variant[m], seeds) for m in PAPERS_M},
                unit="tuples",
                how="calls answered in the whole run",
            ),
        ]
    return tuple(found)


def _widest(tables: Tables, variants: list[str], seeds: tuple[int, ...]) -> Measured:
    """Largest difference of means over seeds. The paper compares means of ten runs, so this does so, too."""
    widest = 0.0
    for level in LEVELS:
        means = []
        for variant in variants:
            known = [s for s in degraded_s(tables, variant, seeds, level) if s is not None]
            if len(known) < len(seeds):
                return Measured(None)
            means.append(sum(known) / len(known))
        widest = max(widest, max(means) - min(means))
    return Measured(widest, seeds=len(seeds))


def _settling(seeds: int, reading: Trial | None = None) -> Settling:
    """Further seeds for figure 9's order, which five do not separate."""
    return Settling(
        ("nstorm-fig9-large-m",),
        tuple(variant_of(moving(m).variant, reading) for m in PAPERS_M),
        seeds,
        reading.label if reading else "",
        metrics=("degradation",),
    )


def _settling_two_and_four(seeds: int, reading: Trial | None = None) -> Settling:
    """Further seeds for figure 10's order of two and four executors, which five seeds do not decide."""
    return Settling(
        ("nstorm-fig10-m4-gt-m2",),
        tuple(variant_of(moving(m).variant, reading) for m in (2, 4)),
        seeds,
        reading=reading.label if reading else "",
        metrics=("throughput_1s",),
    )


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
        _settling(30),
        _settling(12, UNHURRIED),
        _settling(10, KEPT),
        _settling_two_and_four(8),
        _settling_two_and_four(30, UNHURRIED),
    ),
)
