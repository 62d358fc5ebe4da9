"""Readings that MF-Storm's experiments share: throughput, nodes and quotients, one value per seed.

Throughput is tuples executed by all bolts per second (the paper says only "tuples processed"). Claims on one
topology are judged by the paper's equation 2, all tuples divided by the total time since submission
(`since_submission`); claims that compare topologies, and tables in the notebooks, by the level after the
warm-up. Throughput per node is divided by the number of nodes that held an executor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.readings import (
    Samples,
    Tables,
    changes,
    measurement,
    per_seed,
    quotients,
    value_of,
)
from storm_lab.papers.mfstorm.grid import READING_S, variant
from storm_lab.papers.mfstorm.placement import DEFAULT, ISOLATION, MF_STORM, comparable, playable_cells
from storm_lab.papers.mfstorm.testbed import SCENARIOS

PER_NODE = "executed_per_s_per_node"
THROUGHPUT = "executed_per_s"
NODES = "nodes_mean"
WORKERS = "workers_mean"

LEVEL_TOLERANCE = 0.02
"""Readings within this share of the last ones' mean are "the same": the scatter of the paper's own ratios."""

CONSTANT_FROM_S = 300.0
"""According to the paper, throughput is constant after five minutes."""
INDEPENDENT_RUNS = "single runs, each with a start of its own, after five minutes"

SYSTEM = "__"
"""Prefix of Storm's own components, whose executions do not count as the topology's."""

Cells = Mapping[tuple[str, str], Samples]
"""A reading by scenario and scheduler."""


def grid_values(
    tables: Tables, slug: str, kind: str, column: str, seeds: Sequence[int], prefix: str = ""
) -> Cells:
    """A column of the table ``steady`` for every cell (scenario, scheduler) that has a run."""
    own = tables.steady[tables.steady["experiment"] == slug]
    return {cell: value_of(own, column, prefix + variant(*cell), seeds) for cell in playable_cells(kind)}


def since_submission(
    tables: Tables, slug: str, kind: str, seeds: Sequence[int], until_s: float = math.inf
) -> Cells:
    """Equation 2 for every cell that has a run, up to ``until_s`` and per node."""
    rows = tables.component_throughput_60s
    rows = rows[(rows["experiment"] == slug) & ~rows["component"].str.startswith(SYSTEM)]
    rows = rows[rows["t_s"] + rows["width_s"] <= until_s]
    run = [rows["variant"], rows["seed"]]
    tuples = (rows["executed_per_s"] * rows["width_s"]).groupby(run).sum()
    rates = (tuples / (rows["t_s"] + rows["width_s"]).groupby(run).max()).to_dict()
    return {
        cell: quotients([rates.get((variant(*cell), seed)) for seed in seeds], nodes)
        for cell, nodes in grid_values(tables, slug, kind, NODES, seeds).items()
    }


def grid_rows(
    tables: Tables, slug: str, kind: str, columns: Mapping[str, str], seeds: Sequence[int], prefix: str = ""
) -> pd.DataFrame:
    """One row per run: scenario, variant (the scheduler), seed and ``columns`` (of steady -> new name)."""
    read = [grid_values(tables, slug, kind, column, seeds, prefix) for column in columns]
    rows = [
        (*cell, seed, *values)
        for cell in playable_cells(kind)
        for seed, *values in zip(seeds, *(found[cell] for found in read), strict=True)
    ]
    return pd.DataFrame(rows, columns=["scenario", "variant", "seed", *columns.values()])


def share(cells: Cells, kind: str, baseline: str) -> Samples:
    """Mean of MF-Storm over a baseline in percent, where the baseline uses the slots that were asked for."""
    chosen = [scenario for scenario in SCENARIOS if comparable(baseline, kind, scenario)]
    return averaged([quotients(cells[name, MF_STORM], cells[name, baseline]) for name in chosen], 100.0)


def averaged(parts: Sequence[Samples], factor: float = 1.0) -> Samples:
    """Mean of several readings, seed by seed, times ``factor``; None if one of them is None."""
    return per_seed(lambda *values: factor * sum(values) / len(values), *parts)


def quotients_and_improvements(cells: Cells, kind: str, baselines: Sequence[str]) -> pd.DataFrame:
    """MF-Storm over each baseline, as means over seeds: the mean quotients that the paper calls improvements.

    Columns: every scenario (NaN if the baseline does not use the slots asked for), then the mean quotient and
    the actual mean improvement in percent.
    """
    rows = {}
    for baseline in baselines:
        ratios = {
            scenario: _mean(quotients(cells[scenario, MF_STORM], cells[scenario, baseline]))
            for scenario in SCENARIOS
            if comparable(baseline, kind, scenario)
        }
        mean = _mean(share(cells, kind, baseline))
        rows[baseline] = {**ratios, "mean quotient %": mean, "mean improvement %": mean - 100}
    columns = [*SCENARIOS, "mean quotient %", "mean improvement %"]
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=columns).rename_axis("MF-Storm over")


def mean_quotient_over_baselines(cells: Cells, kind: str, baselines: Sequence[str]) -> Samples:
    """Mean of `share` over baselines."""
    return averaged([share(cells, kind, baseline) for baseline in baselines])


def s6_claim(claim: str, cells: Cells, baseline: str) -> Measurement:
    """Measure the claim on scenario 6 against one baseline."""
    of = "tuples executed by all bolts since submission, per s and node (equation 2), scenario 6"
    how = f"100 * (MF-Storm / {baseline} - 1), {of}"
    return measurement(claim, changes(cells["S6", MF_STORM], cells["S6", baseline]), how=how)


def independent_runs_claim(claim: str, cells: Cells, baseline: str) -> tuple[Measurement, ...]:
    """Measure the same after five minutes, against the baseline's run with the next seed, if there is one.

    Runs of one seed are not independent: they start at the same moment of Nimbus's round.
    """
    new, old = cells["S6", MF_STORM], cells["S6", baseline]
    if len(new) < 2:
        return ()
    how = f"as in its own setting, but up to {CONSTANT_FROM_S:g} s and against {baseline} with the next seed"
    found = measurement(claim, changes(new, [*old[1:], old[0]]), how=how)
    return (replace(found, reading=INDEPENDENT_RUNS, basis=Basis.PREDICTED),)


def mean_quotient_claim(claim: str, samples: Samples, baselines: Sequence[str]) -> Measurement:
    """Measure the claim on a mean over scenarios (and baselines), which the paper calls an improvement."""
    mean = f"mean of 100 * MF-Storm / {' and '.join(baselines)} over scenarios"
    how = f"{mean}, tuples since submission, per s and node (equation 2); a mean quotient, no improvement"
    return measurement(claim, samples, how=how)


def grid_claims(figure: str, cells: Cells, kind: str, baselines: Sequence[str]) -> tuple[Measurement, ...]:
    """Measure every topology's three claims: scenario 6 against default and isolation, and the mean."""
    return (
        s6_claim(f"mfstorm-{figure}-s6-default", cells, DEFAULT),
        s6_claim(f"mfstorm-{figure}-s6-isolation", cells, ISOLATION),
        mean_quotient_claim(
            f"mfstorm-{figure}-avg", mean_quotient_over_baselines(cells, kind, baselines), baselines
        ),
    )


def minutes(tables: Tables, slug: str, name: str, seed: int) -> pd.Series[float]:
    """Tuples executed by all bolts per second in each reading of 60 s of a run, by the reading's start."""
    rows = tables.component_throughput_60s
    rows = rows[
        (rows["experiment"] == slug)
        & (rows["variant"] == name)
        & (rows["seed"] == seed)
        & ~rows["component"].str.startswith(SYSTEM)
        & (rows["width_s"] >= READING_S)
    ]
    return rows.groupby("t_s")["executed_per_s"].sum()


def settled_min(series: pd.Series[float]) -> float | None:
    """Minutes from submission until all readings are within `LEVEL_TOLERANCE` of their final level.

    The level is the mean of the last third of the readings. None if they never stay there.
    """
    if len(series) < 3:
        return None
    level = float(series.iloc[-(len(series) // 3) :].mean())
    start_s = _start_after((series - level).abs() > LEVEL_TOLERANCE * level)
    return None if start_s is None else start_s / 60


def running_mean(series: pd.Series[float]) -> pd.Series[float]:
    """All tuples since submission divided by the time since submission, as in the paper's equation 2."""
    return series.expanding().mean()


def constant_min(series: pd.Series[float]) -> float | None:
    """Minutes from submission until the running mean no longer changes; None if it never stops changing.

    It is read at the end of its minute, and changes as long as it differs from its predecessor by
    `LEVEL_TOLERANCE`.
    """
    mean = running_mean(series)
    start_s = _start_after(~(mean.diff().abs() / mean.shift() < LEVEL_TOLERANCE))
    return None if start_s is None else (start_s + READING_S) / 60


def _start_after(far: pd.Series[bool]) -> float | None:
    """Start of the first reading after all that are ``far``; None if there is none."""
    later = far.index[~(far.index <= far.index[far].max())]
    return float(later[0]) if len(later) else None


def _mean(samples: Samples) -> float:
    return float(np.mean(np.array(samples, dtype=float)))
