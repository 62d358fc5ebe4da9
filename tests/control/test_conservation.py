"""Nothing appears or vanishes: properties of whole runs under random faults and re-assignments.

Every run ends long after its last fault, with Storm's timers made brisk. What a source promises is checked
against the log: at-least-once sources get every line through, at-most-once sources never emit a line twice,
and a root is acked exactly when its whole tree was executed.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pandas as pd
import pytest

from storm_lab.emulator.control.clock import SECOND, Rank, ns
from storm_lab.emulator.control.control_plane import ControlPlane
from storm_lab.emulator.control.faults import FaultPlan, PlannedWorld
from storm_lab.emulator.control.migration.method import MigrationMethod
from storm_lab.emulator.control.migration.nstorm import NStorm
from storm_lab.emulator.control.migration.rebalance import Rebalance
from storm_lab.emulator.control.migration.restart import Restart
from storm_lab.emulator.control.migration.tstorm import Smooth
from storm_lab.emulator.control.service import Sampler
from storm_lab.emulator.source import FailurePolicy
from storm_lab.errors import UserError
from storm_lab.model import Assignment
from tests.control.real_world import TOPOLOGY, Played, copies_of, play, spec

FAULTS_END_S = 50.0
RUN_S = 170.0
METHODS: tuple[MigrationMethod, ...] = (
    Restart(),
    Smooth(),
    NStorm(poll_s=2.0),
    NStorm(poll_s=2.0, kill_delay_s=2.0),
    Rebalance(wait_s=5.0),
)


@dataclass(frozen=True)
class RandomMoves:
    """Hands Nimbus random assignments at random times, as a restless scheduler would."""

    times_s: tuple[float, ...]

    def start(self, control: ControlPlane, sampler: Sampler) -> None:
        rng = control.random("random-moves")
        slots = list(control.cluster.slots())

        def move() -> None:
            present = control.nimbus.present.slots
            chosen = rng.sample(slots, 4)
            drawn = {executor: rng.choice(chosen) for executor in sorted(present)}
            if present:
                control.nimbus.install(Assignment(drawn), "a restless scheduler")

        for time_s in self.times_s:
            control.clock.at(ns(time_s), Rank.MONITOR, "restless", move)


def _plan(rng: random.Random) -> FaultPlan:
    """A valid random plan whose disturbances all end by FAULTS_END_S."""
    rows: list[dict[str, object]] = []
    nodes = [f"node{i + 1:02}" for i in range(4)]
    for _ in range(rng.randrange(0, 5)):
        at = round(rng.uniform(5.0, FAULTS_END_S - 5), 3)
        back = round(rng.uniform(at, FAULTS_END_S), 3)
        node, other = rng.sample(nodes, 2)
        kinds: list[list[dict[str, object]]] = [
            [
                {"fault": "kill-node", "at_s": at, "node": node},
                {"fault": "revive-node", "at_s": back, "node": node},
            ],
            [
                {
                    "fault": "kill-worker",
                    "at_s": at,
                    "node": node,
                    "port": rng.choice((6700, 6701, 6702, 6703)),
                }
            ],
            [{"fault": "kill-executor", "at_s": at, "topology": "tree", "task": rng.randrange(1, 11)}],
            [{"fault": "kill-nimbus", "at_s": at}, {"fault": "revive-nimbus", "at_s": back}],
            [{"fault": "kill-zookeeper", "at_s": at}, {"fault": "revive-zookeeper", "at_s": back}],
            [
                {"fault": "cut-link", "at_s": at, "node_a": node, "node_b": other},
                {"fault": "restore-link", "at_s": back, "node_a": node, "node_b": other},
            ],
            [
                {"fault": "slow-node", "at_s": at, "node": node, "factor": round(rng.uniform(0.1, 0.9), 2)},
                {"fault": "slow-node", "at_s": back, "node": node, "factor": 1.0},
            ],
        ]
        rows.extend(rng.choice(kinds))
    return FaultPlan.of_rows(rows)


def _played(seed: int, on_fail: FailurePolicy, anchored: bool = True) -> Played | None:
    """One random run, or None when its plan is refused."""
    rng = random.Random(seed)
    plan = _plan(rng)
    moves = RandomMoves(
        tuple(sorted(round(rng.uniform(20, FAULTS_END_S), 3) for _ in range(rng.randrange(3))))
    )
    run = spec(
        duration_s=RUN_S,
        on_fail=on_fail,
        anchored=anchored,
        migration=rng.choice(METHODS),
        faults=plan,
        services=(moves,),
        seed=seed,
        rate_per_s=5.0,
    )
    try:
        plan.check(PlannedWorld(run.cluster, (TOPOLOGY,), run.version, RUN_S))
    except UserError:
        return None
    return play(run)


def _check_roots(roots: pd.DataFrame) -> Counter[str]:
    """Every root has one row and one outcome, and times that make sense."""
    assert sorted(roots["root_id"]) == list(range(len(roots)))
    tally = Counter(roots["outcome"])
    assert set(tally) <= {"acked", "failed", "lost", "pending"}
    ended = roots[roots["outcome"].isin(["acked", "failed"])]
    assert (ended["complete_ns"] >= ended["emit_ns"]).all()
    return tally


def _check_trees(played: Played) -> None:
    """An acked root's tree was executed as a whole; no tree is ever executed beyond its size."""
    roots = played.rows.table("roots").set_index("root_id")
    executions = played.rows.table("executions")
    done = executions.groupby(["root_id", "component"]).size().unstack(fill_value=0)
    done = done.reindex(roots.index, fill_value=0)
    size = roots["line"].map(lambda line: copies_of(int(line)))
    acked = roots["outcome"] == "acked"
    assert (done.loc[acked, "fan"] == 1).all()
    assert (done.loc[acked, "sink"] == size[acked]).all()
    assert (done["fan"] <= 1).all()
    assert (done["sink"] <= size).all()


def _check_at_least_once(roots: pd.DataFrame) -> None:
    """Each line taken long enough before the end has been acked; attempts are numbered without a gap."""
    for _, tries in roots.groupby("line"):
        ordered = tries.sort_values("root_id")
        assert list(ordered["attempt"]) == list(range(len(ordered)))
        settled = ordered["emit_ns"].iloc[0] < (RUN_S - 60) * SECOND
        if settled:
            assert (ordered["outcome"] == "acked").sum() == 1, (
                f"line {ordered['line'].iloc[0]} was lost for good"
            )


def _check_at_most_once(roots: pd.DataFrame) -> None:
    assert (roots["attempt"] == 0).all()
    assert roots["line"].is_unique


def conserved(seed: int) -> Counter[str] | None:
    """Play a random run of either kind of source and check all that must hold; the tally of its roots."""
    at_least_once = seed % 2 == 0
    played = _played(seed, FailurePolicy.REPLAY if at_least_once else FailurePolicy.FORGET)
    if played is None:
        return None
    assert played.outcome.stopped == ""
    roots = played.rows.table("roots")
    tally = _check_roots(roots)
    _check_trees(played)
    if at_least_once:
        _check_at_least_once(roots)
    else:
        _check_at_most_once(roots)
    return tally


@pytest.mark.parametrize("seed", range(12))
def test_random_faults_and_moves_conserve_every_root(seed: int) -> None:
    conserved(seed)


@pytest.mark.slow
def test_a_thousand_random_runs_conserve_every_root() -> None:
    total: Counter[str] = Counter()
    runs = refused = 0
    seed = 10_000
    while runs < 1000:
        tally = conserved(seed)
        seed += 1
        if tally is None:
            refused += 1
            continue
        runs += 1
        total.update(tally)
    print(f"{runs} random runs ({refused} plans refused): {dict(sorted(total.items()))}")
    assert total["acked"] > 0
    assert total["failed"] > 0
    assert total["lost"] > 0


def test_unanchored_tuples_are_never_failed_nor_replayed() -> None:
    played = _played(4, FailurePolicy.REPLAY, anchored=False)
    assert played is not None
    roots = played.rows.table("roots")
    if len(roots):
        _check_at_most_once(roots)
        assert not (roots["outcome"] == "failed").any()


def test_the_same_spec_gives_the_same_rows_and_the_same_decisions() -> None:
    first, second = _played(7, FailurePolicy.REPLAY), _played(7, FailurePolicy.REPLAY)
    assert first is not None and second is not None
    assert first.outcome.decisions == second.outcome.decisions
    for table in ("roots", "executions", "traffic", "cpu", "counts", "placements", "control"):
        pd.testing.assert_frame_equal(first.rows.table(table), second.rows.table(table))
