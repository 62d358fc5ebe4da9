"""The distance from the least inter-node traffic, on matrices that can be worked out by hand."""

import pandas as pd
import pytest

from storm_lab.papers.mfstorm.gap import averaged_by_role, gaps, load_of, rank_traffic
from storm_lab.papers.mfstorm.placement import scheduling_result
from storm_lab.papers.mfstorm.starter import starter
from storm_lab.papers.mfstorm.testbed import SCENARIOS
from storm_lab.schedulers.graph.traffic import inter_node_traffic

SHUFFLED = {
    **{(("word", i), ("exclaim1", j)): 100 / 30 for i in range(10) for j in range(3)},
    **{(("exclaim1", j), ("exclaim2", k)): 100 / 6 for j in range(3) for k in range(2)},
}
"""Exclamation with 100 words per second, spread evenly: 200 tuples per second in all."""


def test_executors_are_identified_by_component_and_rank_and_not_by_task_number() -> None:
    rows = [("word", 9, "exclaim1", 3, 1.0), ("word", 8, "exclaim1", 4, 2.0), ("word", 8, "__acker", 1, 5.0)]
    columns = ["source_component", "source_task", "target_component", "target_task", "tuples_per_s"]
    assert rank_traffic(pd.DataFrame(rows, columns=columns)) == {
        (("word", 1), ("exclaim1", 0)): 1.0,
        (("word", 0), ("exclaim1", 1)): 2.0,
    }


def test_averaged_traffic_keeps_sums_and_the_shares_of_a_fields_grouping() -> None:
    measured = {
        (("split", 0), ("count", 0)): 30.0,
        (("split", 1), ("count", 1)): 10.0,
        (("spout", 0), ("split", 3)): 8.0,
    }
    made = averaged_by_role("word-count", measured)
    assert sum(made.values()) == pytest.approx(48)
    assert made[("split", 7), ("count", 0)] == pytest.approx(30 / 8)
    assert made[("split", 7), ("count", 1)] == pytest.approx(10 / 8)
    assert made[("spout", 4), ("split", 0)] == pytest.approx(8 / 40)


def test_the_default_scheduler_sends_half_of_exclamations_traffic_between_nodes() -> None:
    load = load_of(starter("exclamation", 2), SHUFFLED)
    placed = scheduling_result("default", "exclamation", SCENARIOS["S2"]).assignment
    # Dealt out in turn: every component is cut in about half, and a shuffle crosses half of the time.
    assert inter_node_traffic(placed.slots, load.traffic) == pytest.approx(100, rel=0.02)


def test_no_scheduler_beats_the_least_traffic_and_mf_storm_is_closer_than_default() -> None:
    table = gaps("exclamation", SHUFFLED, 1).set_index(["scenario", "scheduler"])
    assert (table["above least"] > -1e-9).all()
    assert (table["proven"] == "yes").all()
    # Two nodes of 8 or 9 executors: one has all five bolts and 3 or 4 spouts; only the others' words cross.
    least = table.loc[("S2", "default"), "least %"]
    assert least == pytest.approx(100 * 60 / 200, abs=6)
    assert table.loc[("S2", "mf-storm"), "above least"] < table.loc[("S2", "default"), "above least"]


def test_placements_on_one_node_are_left_out() -> None:
    table = gaps("exclamation", SHUFFLED, 1)
    assert ("S6", "mf-storm") not in set(zip(table["scenario"], table["scheduler"], strict=True))
    assert (table["nodes"] > 1).all()
