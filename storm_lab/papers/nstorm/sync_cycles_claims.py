"""What runs with four pairs of cycles say about the claims of N-Storm's figures 13 and 14."""

from __future__ import annotations

from storm_lab.experiments.measurement import Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import measurement, reductions
from storm_lab.papers.nstorm.delayed_kill_claims import plus
from storm_lab.papers.nstorm.durations_claims import Tables, degraded_s, labelled, total
from storm_lab.papers.nstorm.multi_migration_claims import moving

CLAIMS = (
    "nstorm-fig13-decline",
    "nstorm-fig13-last-worse",
    "nstorm-fig13-best",
    "nstorm-fig13-best-60",
    "nstorm-fig13-best-100",
    "nstorm-fig14-order",
    "nstorm-plus-82",
)
METRICS = ("throughput_1s", "throughput_10s", "failures_60s", "degradation", "stays", "control")
"""The metric tables that the notebook and `measure` read."""

PAPERS_CYCLES = ((10.0, 3.0), (3.0, 1.0), (1.0, 0.3), (0.3, 0.1))
BEST = (1.0, 0.3)
"""The pair that the paper recommends."""


def cycles(parameters: Parameters) -> tuple[tuple[float, float], ...]:
    """The pairs of T_s and T_w, each once."""
    pairs = zip(parameters.numbers("syncs_s"), parameters.numbers("polls_s"), strict=False)
    return tuple(dict.fromkeys(pairs))


def label_of(pair: tuple[float, float]) -> str:
    """A pair as the ledger writes it: ``1/0.3``."""
    return f"{pair[0]:g}/{pair[1]:g}"


def measure(tables: Tables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims that runs with these cycles answer; all need sixteen executors and a delay of 2 s."""
    chosen = cycles(parameters)
    if parameters.integer("moved") != 16 or parameters.number("kill_delay_s") != 2.0 or BEST not in chosen:
        return ()
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    seconds = "seconds of the run with throughput at least {} % below the smooth mean of the same run"
    variant = {pair: plus(parameters, *pair).variant for pair in chosen}
    low = {pair: degraded_s(tables, variant[pair], seeds, 60) for pair in chosen}
    found = [
        measurement("nstorm-fig13-best-60", low[BEST], unit="s", how=seconds.format(60)),
        measurement(
            "nstorm-fig13-best-100",
            degraded_s(tables, variant[BEST], seeds, 100),
            unit="s",
            how=seconds.format(100),
        ),
        measurement(
            "nstorm-plus-82",
            reductions(low[BEST], degraded_s(tables, moving(16).variant, seeds, 60)),
            unit="%",
            how="100 * (1 - N-Storm+ at 1 s and 300 ms / N-Storm at 10 s and 3 s), " + seconds.format(60),
        ),
    ]
    if set(PAPERS_CYCLES) <= set(chosen):
        by_label = {label_of(pair): low[pair] for pair in PAPERS_CYCLES}
        parts = {
            "nstorm-fig13-decline": PAPERS_CYCLES[:3],
            "nstorm-fig13-last-worse": PAPERS_CYCLES[1:],
            "nstorm-fig13-best": PAPERS_CYCLES,
        }
        for claim, pairs in parts.items():
            values = {label_of(pair): by_label[label_of(pair)] for pair in pairs}
            found.append(labelled(claim, values, unit="s", how=seconds.format(60)))
        found.append(
            labelled(
                "nstorm-fig14-order",
                {label_of(pair): total(tables, variant[pair], seeds) for pair in PAPERS_CYCLES},
                unit="tuples",
                how="calls answered in the whole run",
            )
        )
    return tuple(found)
