"""Results do not depend on the order in which independent parts are listed that act at equal times."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pandas as pd
import pytest

from storm_lab.emulator.control.control_plane import Service
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.emulator.control.migration.method import MigrationMethod, Restart
from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.model import Assignment, Cluster, Slot, executors_of
from storm_lab.model.version import V0_9_7
from storm_lab.monitoring.online_scheduling import OnlineScheduling
from storm_lab.monitoring.pending_tuner import PendingTuning
from storm_lab.monitoring.random_moves import RandomMoves
from storm_lab.schedulers.papers.tstorm import TStormScheduler
from tests.control.real_world import TOPOLOGY, Played, play, spec
from tests.control.world import build, chain, fault, run_to

TABLES = ("roots", "executions", "traffic", "cpu", "counts", "placements", "control")
METHODS: tuple[MigrationMethod, ...] = (Restart(), Smooth(), NStorm(poll_s=2.0, kill_delay_s=2.0))
FAULTS = FaultPlan.of_rows(
    [
        fault("kill-worker", 30, node="node02", port=6700),
        fault("kill-node", 40, node="node03"),
        fault("revive-node", 50, node="node03"),
    ]
)
PLACEMENT = Assignment.of(
    (executor, Slot(f"node{i % 4 + 1:02}", 6700 + i % 2))
    for i, executor in enumerate(executors_of(TOPOLOGY, V0_9_7))
)


def _same(first: Played, second: Played) -> None:
    """Check that both runs have the same rows, apart from their order."""
    for table in TABLES:
        a, b = (_sorted(played.rows.table(table)) for played in (first, second))
        pd.testing.assert_frame_equal(a, b, obj=table)


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values(list(rows.columns), ignore_index=True) if len(rows) else rows


def test_services_that_act_at_the_same_instants_may_be_listed_in_any_order() -> None:
    # All of them act every 20 s at the same instants: tuner, moves, generator and monitors' windows.
    services: tuple[Service, ...] = (
        OnlineScheduling(TStormScheduler(), period_s=20.0),
        PendingTuning("tree", period_s=20.0),
        RandomMoves("tree", first_s=20.0, period_s=20.0, executors=2),
    )
    first, *others = [
        play(spec(duration_s=90.0, services=order, faults=FAULTS)) for order in permutations(services)
    ]
    assert {"tuner", "generator"} <= {d.actor for d in first.outcome.decisions}
    for other in others:
        assert first.outcome.decisions == other.outcome.decisions
        _same(first, other)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_nodes_may_be_listed_in_any_order(method: MigrationMethod) -> None:
    services = (RandomMoves("tree", first_s=25.0, period_s=20.0, executors=2),)
    run = spec(duration_s=80.0, migration=method, faults=FAULTS, services=services)
    run = replace(run, placement=PLACEMENT)
    first = play(run)
    nodes = list(run.cluster.nodes)
    for seed in range(3):
        random.Random(seed).shuffle(nodes)
        other = play(replace(run, cluster=Cluster(tuple(nodes))))
        assert first.outcome.decisions == other.outcome.decisions
        _same(first, other)


def test_a_given_placement_may_be_listed_in_any_order() -> None:
    run = replace(spec(duration_s=60.0, faults=FAULTS), placement=PLACEMENT)
    turned = Assignment.of(reversed(list(PLACEMENT.slots.items())))
    first, other = play(run), play(replace(run, placement=turned))
    assert first.outcome.decisions == other.outcome.decisions
    _same(first, other)


def test_topologies_that_share_no_slot_may_be_submitted_in_any_order() -> None:
    # Submissions come one after another, so numbers of assignments and milliseconds of ZooKeeper's queue
    # differ; what happens to each topology, where, and in which tenth of a second, does not.
    seen = []
    for order in permutations(["one", "two", "three"]):
        control, _ = build(3)
        for place, name in sorted(enumerate(["one", "two", "three"]), key=lambda pair: order.index(pair[1])):
            topology = chain(topology_id=name)
            slots = [Slot(f"node{i + 1:02}", 6700 + place) for i in range(3)]
            pairs = zip(executors_of(topology, control.version), slots * 3, strict=False)
            control.nimbus.submit(topology, Assignment.of(pairs))
        run_to(control, 60)
        seen.append(
            sorted(
                (round(d.time_ns / 1e8), d.action, d.subject, str(d.detail.get("executors")))
                for d in control.log.entries
                if d.action not in ("download-code", "running")
            )
        )
    assert all(entries == seen[0] for entries in seen)
    assert [action for _, action, _, _ in seen[0]].count("worker-ready") == 9
