"""Short cycles: N-Storm+ with four pairs of T_s and T_w, moving 16 executors at once (figures 13 and 14)."""

from __future__ import annotations

from dataclasses import replace

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import Experiment, RunSpec
from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameter, Parameters
from storm_lab.experiments.readings import Tables, measurement, reductions
from storm_lab.experiments.trial import Trial, tried, under_trials, with_trials
from storm_lab.papers.nstorm.delayed_kill import DELAY, MOVED, plus
from storm_lab.papers.nstorm.durations import ANSWERED, DEGRADED, degraded_s, total
from storm_lab.papers.nstorm.multi_migration import moving
from storm_lab.papers.nstorm.runs import (
    BRIEF,
    KEPT,
    READINGS_OF_PLUS,
    UNHURRIED,
    other_readings,
    run_specs,
    settling,
    with_other_readings,
)
from storm_lab.papers.nstorm.testbed import COMMON, POLL

SLUG = "nstorm-sync-cycles"

PAPERS_CYCLES = ((10.0, 3.0), (3.0, 1.0), (1.0, 0.3), (0.3, 0.1))
BEST = (1.0, 0.3)
"""The pair that the paper recommends."""
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "syncs_s",
        (10.0, 3.0, 1.0, 0.3),
        "T_s, the supervisors' cycle; the second value is not printed, but follows from the pattern",
        within=(0.1, 60, "s"),
    ),
    Parameter(
        "polls_s", (3.0, 1.0, 0.3, 0.1), "T_w, the workers' cycle, one for each T_s", within=(0.05, 30, "s")
    ),
    MOVED,
    DELAY,
    *COMMON,
    POLL.tried((2.0, 30.0), "other CPU costs of a poll, played with kept messages and the first seed only"),
)

_POLLED = replace(
    KEPT,
    name="polled",
    label=f"{KEPT.label}, and polls of 20 ms",
    changes={**KEPT.changes, POLL.name: 20.0},
    chosen_on=(*KEPT.chosen_on, "nstorm-fig14-order"),
)
_READINGS = (*READINGS_OF_PLUS, _POLLED)
"""Those of N-Storm+, and one in which polls take so much CPU that the shortest cycles lose by them."""


def runs(parameters: Parameters) -> tuple[RunSpec, ...]:
    """N-Storm+ by cycles, N-Storm with the longest, and trials; `UserError`: not as many T_s as T_w."""
    syncs, polls = parameters.numbers("syncs_s"), parameters.numbers("polls_s")
    if len(syncs) != len(polls):
        raise UserError(
            "must have as many values as syncs_s, because the two are used in pairs",
            field="parameter polls_s",
            value=list(polls),
            remedy=f"give {len(syncs)} numbers",
        )
    pairs = tuple(plus(parameters, sync_s, poll_s) for sync_s, poll_s in cycles(parameters))
    return (
        *with_other_readings(parameters, (moving(parameters.integer("moved")), *pairs), _READINGS),
        *under_trials(lambda values: run_specs(values, pairs), parameters, _poll_trials(parameters)),
    )


def _poll_trials(parameters: Parameters) -> tuple[Trial, ...]:
    """Trials with other costs of a poll, in the reading in which nothing is lost and cycles decide all."""
    claims = ("nstorm-fig13-last-worse", "nstorm-fig13-best", "nstorm-fig14-order")
    label = "kept messages and polls of {} ms"
    return tried(parameters, POLL.name, "poll{}", label, claims=claims, also=KEPT.changes)


def _trials(parameters: Parameters) -> tuple[Trial, ...]:
    return (*other_readings(parameters, _READINGS), *_poll_trials(parameters))


def cycles(parameters: Parameters) -> tuple[tuple[float, float], ...]:
    """The distinct pairs of T_s and T_w."""
    pairs = zip(parameters.numbers("syncs_s"), parameters.numbers("polls_s"), strict=False)
    return tuple(dict.fromkeys(pairs))


def label_of(pair: tuple[float, float]) -> str:
    """A pair as the ledger writes it: ``1/0.3``."""
    return f"{pair[0]:g}/{pair[1]:g}"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """Measure the claims that runs with these cycles answer; all need 16 executors and a delay of 2 s."""
    chosen = cycles(parameters)
    if parameters.integer("moved") != 16 or parameters.number("kill_delay_s") != 2.0 or BEST not in chosen:
        return ()
    seeds = parameters.seeds
    variant = {pair: plus(parameters, *pair).variant for pair in chosen}
    low = {pair: degraded_s(tables, variant[pair], seeds, 60) for pair in chosen}
    stop = degraded_s(tables, variant[BEST], seeds, 100)
    reduced = reductions(low[BEST], degraded_s(tables, moving(16).variant, seeds, 60))
    at_60 = DEGRADED.format(60)
    against = f"100 * (1 - N-Storm+ at 1 s and 300 ms / N-Storm at 10 s and 3 s), {at_60}"
    found = [
        measurement("nstorm-fig13-best-60", low[BEST], how=at_60),
        measurement("nstorm-fig13-best-100", stop, how=DEGRADED.format(100)),
        measurement("nstorm-plus-82", reduced, how=against),
    ]
    if set(PAPERS_CYCLES) <= set(chosen):
        parts = {
            "nstorm-fig13-decline": PAPERS_CYCLES[:3],
            "nstorm-fig13-last-worse": PAPERS_CYCLES[1:],
            "nstorm-fig13-best": PAPERS_CYCLES,
        }
        for claim, pairs in parts.items():
            found.append(measurement(claim, {label_of(pair): low[pair] for pair in pairs}, how=at_60))
        done = {label_of(pair): total(tables, variant[pair], seeds) for pair in PAPERS_CYCLES}
        found.append(measurement("nstorm-fig14-order", done, how=ANSWERED))
    return tuple(found)


_PLUS = [f"nstorm-plus2-{sync_s:g}-{poll_s:g}-m16" for sync_s, poll_s in PAPERS_CYCLES]
_ALL = ("nstorm-plus2-*",)
_TABLES = ("throughput_1s", "degradation")

EXPERIMENT = Experiment(
    slug=SLUG,
    paper="N-Storm",
    title="Cycles of N-Storm+: from 10 s down to 300 ms",
    figure="Figures 13 and 14",
    parameters=PARAMETERS,
    notebook="nstorm/sync_cycles.ipynb",
    metrics=("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control"),
    runs=runs,
    measure=with_trials(measure, _trials),
    chosen=_READINGS,
    settling=(
        settling(("nstorm-fig13-decline", "nstorm-fig13-last-worse"), _ALL, 10, KEPT),
        settling(("nstorm-fig13-decline", "nstorm-fig13-last-worse"), _ALL, 10, _POLLED),
        settling(("nstorm-fig14-order",), _ALL, 20, KEPT, metrics=_TABLES),
        # Five seeds have no standstill at all, by chance; others do.
        settling(
            ("nstorm-fig13-best-100",),
            (moving(16).variant, "nstorm-plus2-1-0.3-m16"),
            reading=UNHURRIED,
        ),
        settling(("nstorm-fig13-decline",), _PLUS[:3], reading=UNHURRIED),
        settling(
            ("nstorm-fig13-best-60", "nstorm-plus-82"),
            (moving(16).variant, "nstorm-plus2-1-0.3-m16"),
            reading=BRIEF,
        ),
        settling(("nstorm-fig13-best",), _PLUS, reading=UNHURRIED),
        settling(("nstorm-fig13-decline", "nstorm-fig13-best"), _PLUS, reading=BRIEF),
        settling(("nstorm-fig13-decline", "nstorm-fig13-last-worse", "nstorm-fig13-best"), _PLUS),
    ),
)
