"""What the runs with a loaded ZooKeeper say about the claims of section 3.3.1.

Everything is read from the control events: workers that Nimbus gave up, and captured writes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from storm_lab.experiments.measurement import Basis, Measurement
from storm_lab.experiments.parameter import Parameters
from storm_lab.experiments.readings import Tables, measured, measurement, of_run

DEDICATED = "dedicated"
DATABASE = "database"
ELSEWHERE = "elsewhere"
CAPTURE = "capture"
MINUTE_S = 60.0

CLAIMS = (
    "twitter-zk-limit-dedicated",
    "twitter-zk-limit-db-hw",
    "twitter-zk-churn",
    "twitter-zk-fix",
)
METRICS = ("control",)
"""The metric tables that the notebook and `measure` read."""


class ControlTables(Tables, Protocol):
    """The metric tables that are read here."""

    @property
    def control(self) -> pd.DataFrame: ...


def seeds_of(parameters: Parameters, configuration: str) -> tuple[int, ...]:
    """Seeds with which a configuration is played: all where clusters are small, the first ones elsewhere."""
    seeds = tuple(dict.fromkeys(parameters.integers("seeds")))
    return seeds if configuration in (DEDICATED, CAPTURE) else seeds[: parameters.integer("large_seeds")]


def workers_variant(configuration: str, workers: int) -> str:
    """Variant of the runs of a configuration with so many workers."""
    return f"{configuration}-{workers}"


def given_up(tables: ControlTables, configuration: str, workers: int, seed: int) -> int:
    """Worker processes started beyond the first of each worker: killed, and started again somewhere."""
    rows = of_run(tables.control, workers_variant(configuration, workers), seed)
    return int((rows["action"] == "start-worker").sum()) - workers


def limit(
    tables: ControlTables, configuration: str, tried: Sequence[int], seeds: Sequence[int]
) -> list[float | None]:
    """Most workers of those tried that all kept their heartbeats, with every smaller number too; by seed."""
    found: list[float | None] = []
    for seed in seeds:
        best: float | None = None
        for workers in sorted(set(tried)):
            if given_up(tables, configuration, workers, seed):
                break
            best = float(workers)
        found.append(best)
    return found


def writes(tables: ControlTables, variant: str, seed: int) -> dict[str, int]:
    """Captured writes of the run's last whole minute, by origin."""
    rows = of_run(tables.control, variant, seed)
    rows = rows[(rows["actor"] == "capture") & (rows["action"] == "writes")]
    last = rows[rows["time_s"] == rows["time_s"].max()]
    return {
        str(row.subject): int(json.loads(str(row.detail))["writes"]) for row in last.itertuples(index=False)
    }


def measure(tables: ControlTables, parameters: Parameters) -> tuple[Measurement, ...]:
    """The claims of section 3.3.1."""
    seeds = {name: seeds_of(parameters, name) for name in (DEDICATED, DATABASE, ELSEWHERE)}
    tried = {
        DEDICATED: parameters.integers("dedicated_workers"),
        DATABASE: parameters.integers("database_workers"),
        ELSEWHERE: parameters.integers("elsewhere_workers"),
    }
    limits = {name: limit(tables, name, counts, seeds[name]) for name, counts in tried.items()}
    how = (
        "most workers of those tried of which none was taken for dead in "
        f"{parameters.number('duration_s'):g} s, nor with fewer workers"
    )
    return (
        measurement(
            "twitter-zk-limit-dedicated", limits[DEDICATED], unit="workers", how=how, basis=Basis.FITTED
        ),
        measurement("twitter-zk-limit-db-hw", limits[DATABASE], unit="workers", how=how, basis=Basis.FITTED),
        _churn(tables, tried, seeds),
        _fix(tables, tried, limits[ELSEWHERE], seeds[ELSEWHERE]),
    )


def _churn(
    tables: ControlTables, tried: dict[str, tuple[int, ...]], seeds: dict[str, tuple[int, ...]]
) -> Measurement:
    """Restarts with the fewest and the most workers tried; the worse of the kinds of hardware played."""
    below, above = [], []
    for seed in seeds[DEDICATED]:
        restarts = [
            (
                given_up(tables, name, min(tried[name]), seed),
                given_up(tables, name, max(tried[name]), seed),
            )
            for name in (DEDICATED, DATABASE)
            if seed in seeds[name]
        ]
        below.append(float(max(few for few, _ in restarts)))
        above.append(float(min(many for _, many in restarts)))
    return Measurement(
        "twitter-zk-churn",
        (measured(below, label="below"), measured(above, label="above")),
        "workers",
        "worker processes started again, with the fewest and with the most workers tried, the worse of the "
        "two kinds of hardware",
    )


def _fix(
    tables: ControlTables,
    tried: dict[str, tuple[int, ...]],
    limits: Sequence[float | None],
    seeds: Sequence[int],
) -> Measurement:
    left = []
    for seed in seeds:
        before = writes(tables, workers_variant(DATABASE, min(tried[DATABASE])), seed)
        after = writes(tables, workers_variant(ELSEWHERE, min(tried[ELSEWHERE])), seed)
        left.append(100 * sum(after.values()) / sum(before.values()))
    return Measurement(
        "twitter-zk-fix",
        (measured(left, label="writes-left"), measured(limits, label="workers")),
        "mixed",
        "writes that reach ZooKeeper's disk in the last minute, against the third configuration's; most "
        "workers of those tried of which none was taken for dead",
    )
