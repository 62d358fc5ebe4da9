"""The XOR ledger reaches zero exactly when the tree is complete: acks against the log of all executions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from storm_lab.emulator.control.clock import SECOND, ns
from storm_lab.emulator.control.faults import FaultPlan
from storm_lab.model import StormVersion
from storm_lab.model.version import V0_8_2, V0_9_7, V1_0_0, V2_0_0
from tests.control.real_world import Played, copies_of, play, spec
from tests.control.world import fault

VERSIONS = (V0_8_2, V0_9_7, V1_0_0, V2_0_0)
TRAVEL_NS = ns(0.1)
"""More than an ack needs to its acker and on to the spout, on links without extra delay."""


def _trees(played: Played) -> pd.DataFrame:
    """Roots with ``whole``: the end of the last execution of their tree, or infinity if one is missing.

    Only roots emitted after 20 s: until then 0.8 emits to workers that do not listen yet.
    """
    roots = played.rows.table("roots").set_index("root_id")
    executions = played.rows.table("executions")
    sizes = 1 + roots["line"].map(lambda line: copies_of(int(line)))
    ends = executions.groupby("root_id")["end_ns"].agg(["size", "max"]).reindex(roots.index)
    assert (ends["size"].fillna(0) <= sizes).all()
    roots["whole"] = np.where(ends["size"] == sizes, ends["max"], np.inf)
    return roots[roots["emit_ns"] > 20 * SECOND]


def _until(roots: pd.DataFrame, end_ns: int) -> pd.Series:
    """Instant at which each root's fate was known: its completion, or the end of the run."""
    return roots["complete_ns"].where(roots["outcome"] != "pending", end_ns)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_undisturbed_links_a_root_is_acked_if_and_only_if_its_tree_was_executed(
    version: StormVersion, seed: int
) -> None:
    # The source stops at 50 s, so that nothing is in progress at the end.
    faults = FaultPlan.of_rows([fault("set-load", 50, topology="tree", spout="lines", rate_per_s=0)])
    played = play(spec(duration_s=100.0, version=version, seed=seed, rate_per_s=40.0, faults=faults))
    roots = _trees(played)
    acked = roots["outcome"] == "acked"
    assert len(roots) > 1100
    assert (acked == np.isfinite(roots["whole"])).all()
    late = (roots["complete_ns"] - roots["whole"])[acked]
    assert (late > 0).all()
    # From 0.9.4 on an acker may begin 11 s after its worker is up. A sleeping spout looks once a millisecond.
    all_run = roots["emit_ns"] > 30 * SECOND
    assert all_run.sum() > 700
    assert (late[all_run] < TRAVEL_NS).all()


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("extra_s", [1.5, 3.0, 4.5, 6.0])
def test_on_slow_links_a_root_is_acked_if_and_only_if_its_acks_came_before_the_timeout(
    version: StormVersion, extra_s: float
) -> None:
    rows: list[dict[str, object]] = [
        fault("delay-link", 1, node_a=a, node_b=b, extra_ms=1000 * extra_s)
        for a, b in combinations([f"node{i + 1:02}" for i in range(4)], 2)
    ]
    played = play(spec(duration_s=90.0, version=version, faults=FaultPlan.of_rows(rows), rate_per_s=20.0))
    roots = _trees(played)
    acked = roots["outcome"] == "acked"
    known = _until(roots, 90 * SECOND)
    # Not before the tree is complete ...
    assert (roots.loc[acked, "whole"] < roots.loc[acked, "complete_ns"]).all()
    # ... and at most two link delays later; roots that were given up were not complete so early.
    assert (known <= roots["whole"] + 2 * ns(extra_s) + TRAVEL_NS).all()
    if extra_s >= 4.5:
        assert (roots["outcome"] == "failed").any()
    assert acked.any()
