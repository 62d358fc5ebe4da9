"""Readings of the runs of figures 9 and 10: when an overload is noticed, and what relieving it brings."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from storm_lab.experiments.readings import Tables, mean_over, of_run

RELIEVED = "tstorm"
"""Variant of the runs that the claims are judged with."""
NOTICED = "time at which the generator says that the cluster is overloaded"

BEFORE_S = 60.0
"""The level under overload is taken over so long before the re-assignment."""
SETTLED_S = 500.0
"""The level after it is taken from here on, as in the other figures of section V."""
LOST_AT_MOST = 0.01
"""Part of the tuples that may fail where a topology is said to have recovered."""


def noticed_s(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """When the generator first says that the cluster is overloaded."""
    return [_first(of_run(tables.control, variant, seed), "detect-overload") for seed in seeds]


def moved_s(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """When Nimbus first writes an assignment that moves executors."""
    found: list[float | None] = []
    for seed in seeds:
        rows = of_run(tables.events, variant, seed)
        times = rows[rows["kind"] == "re-assignment"]["time_s"]
        found.append(float(times.min()) if len(times) else None)
    return found


def before_ms(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Mean processing time in the minute before the first re-assignment."""
    return [
        None
        if at is None
        else mean_over(
            tables.latency_10s, "processing_mean_ms", variant, (seed,), from_s=at - BEFORE_S, to_s=at
        )[0]
        for seed, at in zip(seeds, moved_s(tables, variant, seeds), strict=True)
    ]


def after_ms(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Mean processing time of the tuples that complete from `SETTLED_S` on.

    None for a seed in which more than `LOST_AT_MOST` of all tuples fail then: the few that complete are no
    sample of what the topology does.
    """
    levels = mean_over(tables.latency_10s, "processing_mean_ms", variant, seeds, from_s=SETTLED_S)
    lost = failed_share(tables, variant, seeds)
    return [
        None if share is None or share > LOST_AT_MOST else level
        for level, share in zip(levels, lost, strict=True)
    ]


def failed_share(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Part of the tuples that end from `SETTLED_S` on which fail; None where none ends."""
    found: list[float | None] = []
    for seed in seeds:
        counts = [
            int(rows.loc[rows["t_s"] >= SETTLED_S, column].sum())
            for table, column in ((tables.latency_10s, "tuples"), (tables.failures_10s, "failed"))
            for rows in (of_run(table, variant, seed),)
        ]
        found.append(counts[1] / sum(counts) if sum(counts) else None)
    return found


def nodes_at(
    tables: Tables, variant: str, seeds: Sequence[int], times_s: Sequence[float | None]
) -> list[float | None]:
    """Nodes with an executor at each seed's time."""
    found: list[float | None] = []
    for seed, at in zip(seeds, times_s, strict=True):
        rows = of_run(tables.occupancy, variant, seed)
        inside = rows[(rows["from_s"] <= at) & (rows["to_s"] > at)] if at is not None else rows[:0]
        found.append(float(inside["nodes"].iloc[0]) if len(inside) else None)
    return found


def first_schedule_nodes(tables: Tables, variant: str, seeds: Sequence[int]) -> list[float | None]:
    """Nodes of the first schedule that the generator makes."""
    found: list[float | None] = []
    for seed in seeds:
        rows = of_run(tables.control, variant, seed)
        made = rows[rows["action"] == "generate-schedule"].sort_values("time_s")
        nodes = made["detail"].map(_nodes)
        found.append(float(nodes.iloc[0]) if len(nodes) else None)
    return found


def quotients(over: Sequence[float | None], under: Sequence[float | None]) -> list[float | None]:
    """Seed by seed; None where either is missing."""
    return [
        a / b if a is not None and b is not None and b > 0 else None for a, b in zip(over, under, strict=True)
    ]


def _first(rows: pd.DataFrame, action: str) -> float | None:
    times = rows[rows["action"] == action]["time_s"]
    return float(times.min()) if len(times) else None


def _nodes(detail: str) -> int:
    return int(json.loads(detail)["nodes"])
