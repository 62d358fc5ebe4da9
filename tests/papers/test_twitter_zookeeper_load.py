"""ZooKeeper under load: what the paper's numbers imply, and a small cluster below and above its capacity."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.emulation import Emulation
from storm_lab.papers.algorithms.trees import Rows
from storm_lab.papers.registry import experiment
from storm_lab.papers.twitter.zookeeper_load import (
    CAPTURE,
    DATABASE,
    DEDICATED,
    ELSEWHERE,
    SLUG,
    WAITING,
    describe,
    limit,
    limit_passed,
    offset_writes_per_s,
    restarted_workers,
    runs,
    topologies,
    workers_variant,
    writes,
)
from tests.papers.twitter_tables import control, tables

LOAD = experiment(SLUG)


def _small(plan: ZooKeeperPlan, tag: str = "") -> tuple[int, dict[str, int]]:
    """Workers started in eight minutes of a cluster of forty, and the last minute's writes by origin."""
    specs = runs(LOAD.checked({"seeds": [1], "dedicated_workers": [40], "duration_s": 480.0}))
    (spec,) = [spec for spec in specs if spec.variant == workers_variant(DEDICATED, 40) + tag]
    rows = Rows()
    Emulation(replace(describe(spec), zookeeper=plan)).run(rows)
    events = rows.table("control")
    counted = events[events["action"] == "writes"]
    # Later minutes replace earlier ones.
    written = {s: json.loads(d)["writes"] for s, d in zip(counted["subject"], counted["detail"], strict=True)}
    return int((events["action"] == "start-worker").sum()), written


def test_captured_offsets_are_about_twenty_thousand_writes_a_minute() -> None:
    assert 60 * offset_writes_per_s(LOAD.checked().integer("partitions")) == pytest.approx(19956, rel=0.01)


def test_topologies_share_the_workers_evenly() -> None:
    sizes = [plan.topology.workers for plan in topologies(472)]
    assert (len(sizes), sum(sizes)) == (20, 472)
    assert max(sizes) - min(sizes) == 1


def test_below_capacity_every_worker_is_started_once() -> None:
    started, written = _small(ZooKeeperPlan(writes_per_s=100.0, offset_writes_per_s=80.0))
    assert started == 40
    # Each worker beats every 3 s, each of the four supervisors every 5 s.
    assert [written[name] for name in ("task-beat", "supervisor-beat", "offsets")] == [800, 48, 4800]


def test_above_capacity_late_heartbeats_kill_workers() -> None:
    assert _small(ZooKeeperPlan(writes_per_s=100.0, offset_writes_per_s=95.0))[0] > 40


def test_above_capacity_waiting_writers_slow_down_and_lose_no_worker() -> None:
    """By hand: 5 writes/s are left for 40 workers, so each beats every 8 s instead of every 3 s."""
    started, written = _small(ZooKeeperPlan(writes_per_s=100.0, offset_writes_per_s=95.0), WAITING)
    assert started == 40
    assert 60 * 5 * 0.7 <= written["task-beat"] <= 60 * 5


def test_heartbeat_daemons_and_offsets_elsewhere_relieve_the_disk() -> None:
    moved = {"heartbeat_daemons": True, "offsets_elsewhere": True}
    started, written = _small(ZooKeeperPlan(writes_per_s=100.0, offset_writes_per_s=95.0, **moved))
    assert (started, written["task-beat"]) == (40, 0)


def test_large_clusters_are_played_with_the_first_seeds_only() -> None:
    specs = runs(LOAD.checked({"seeds": [3, 4, 5], "large_seeds": 2}))
    seeds = {
        name: {spec.seed for spec in specs if spec.variant.startswith(name)}
        for name in (DEDICATED, DATABASE, ELSEWHERE, CAPTURE)
    }
    assert seeds == {DEDICATED: {3, 4, 5}, DATABASE: {3, 4}, ELSEWHERE: {3, 4}, CAPTURE: {3, 4, 5}}


def _events(variant: str, starts: int) -> Any:
    rows: list[tuple[float, str, str, str, dict[str, object]]] = [
        (float(place), "supervisor:machine01", "start-worker", f"machine01:{6700 + place % 3}", {})
        for place in range(starts)
    ]
    rows += [(time_s, "capture", "writes", "offsets", {"writes": time_s}) for time_s in (60, 120)]
    return control(variant, 1, rows)


def test_worker_starts_beyond_the_first_count_as_restarts() -> None:
    assert restarted_workers(tables(control=_events("dedicated-3", 3)), DEDICATED, 3, 1) == 0
    assert restarted_workers(tables(control=_events("dedicated-3", 5)), DEDICATED, 3, 1) == 2


def test_writes_are_read_from_the_last_minute_of_a_capture() -> None:
    assert writes(tables(control=_events("x", 3)), "x", 1) == {"offsets": 120}


def test_the_limit_is_the_largest_worker_count_below_the_first_that_fails() -> None:
    starts = ((10, 10), (20, 20), (30, 31), (40, 40))
    found = tables(control=pd.concat([_events(workers_variant(DATABASE, n), made) for n, made in starts]))
    assert limit(found, DATABASE, (40, 10, 30, 20), (1,)) == [20.0]
    assert limit(found, DATABASE, (30, 40), (1,)) == [None]


def test_a_limit_that_no_worker_count_exceeds_is_unknown() -> None:
    starts = ((10, 10), (20, 20), (30, 31))
    found = tables(control=pd.concat([_events(workers_variant(DATABASE, n), made) for n, made in starts]))
    assert limit_passed(found, DATABASE, (10, 20), (1,)) == [None]
    assert limit_passed(found, DATABASE, (10, 20, 30), (1,)) == [20.0]
    measured = LOAD.measure(
        tables(control=pd.concat([found.control, _all_alive(DEDICATED), _all_alive(ELSEWHERE)])),
        LOAD.checked(
            {"seeds": [1], "database_workers": [20], "dedicated_workers": [20], "elsewhere_workers": [20]}
        ),
    )
    by = {each.claim_id: each for each in measured}
    assert by["twitter-zk-limit-db-hw"].value().value is None, "it may be far above twenty"
    assert by["twitter-zk-fix"].value("workers").value == 20.0, "a lower bound is what this claim needs"


def _all_alive(configuration: str) -> Any:
    return _events(workers_variant(configuration, 20), 20)
