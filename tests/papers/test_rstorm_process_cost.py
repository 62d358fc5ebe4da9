"""The cost of a further worker process on a recorded host, in the cost model and in the recordings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.model.cluster import Node
from storm_lab.papers.rstorm.process_cost import REGRESSED_S, cost_table, implied_penalty

SMALL = Node("small", cores=1, core_mhz=2000.0, memory_mb=2048.0)
LARGE = Node("large", cores=1, core_mhz=2000.0, memory_mb=65536.0)


def test_with_enough_memory_only_crowding_slows_processes_down() -> None:
    found = cost_table(replace(CostModel(), process_penalty=0.25), LARGE).set_index("processes")
    assert found["memory"].tolist() == [1.0] * 4
    assert found["slowdown"].tolist() == [1.0, 1.25, 1.25, 1.25]
    assert found.loc[2, "lost_s"] == pytest.approx(2.0)
    # 2 s of 10 lost is a slow-down of 10 / 8.
    assert implied_penalty(CostModel(), LARGE, 2.0) == pytest.approx(0.25)


def test_the_recorded_slow_down_of_two_processes_equals_the_regressed_one() -> None:
    two = cost_table(CostModel(), SMALL).set_index("processes").loc[2]
    slow = two[["recorded_low", "recorded", "recorded_high"]]
    assert slow.tolist() == pytest.approx([10 / (10 - lost) for lost in REGRESSED_S])


def test_the_modelled_slow_down_is_only_part_of_the_recorded_cost_of_a_second_process() -> None:
    # The rest is the cost of timers, connections and smaller batches, which are played explicitly.
    two = cost_table(CostModel(), SMALL).set_index("processes").loc[2]
    assert two["slowdown"] == pytest.approx(two["crowding"] * two["memory"])
    assert 1.0 < two["slowdown"] < two["recorded_low"]
