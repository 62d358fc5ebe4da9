"""Cost of a further worker process on a recorded host: in the cost model and in the recordings."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from storm_lab.emulator.cost import CostModel
from storm_lab.model.cluster import Node

WINDOW_S = 10.0
REGRESSED_S = (1.9, 2.8, 3.4)
"""CPU of a host that a second process takes in 10 s: 10 % quantile, estimate and 90 % quantile. They come
from a least squares fit of all costs at once to the rates of 39 busy recorded hosts, resampled by run. No
host had a third process.
"""


def cost_table(cost: CostModel, host: Node, processes: Sequence[int] = (1, 2, 3, 4)) -> pd.DataFrame:
    """One row per number of worker processes on a host.

    Columns: processes; crowding and memory, the two factors of the slow-down; slowdown, their product;
    lost_s, the CPU of the host that the slow-down takes in 10 s; and recorded_low, recorded and
    recorded_high, the slow-down if each further process cost what the regression over the recorded hosts
    gives, including timers, connections and smaller batches, which the emulator plays besides.
    """
    one = cost.slowdown(host, 1)
    table = pd.DataFrame({"processes": processes})
    table["crowding"] = [cost.cache_sharing_factor(host, count) for count in processes]
    slowdown = pd.Series([cost.slowdown(host, count) / one for count in processes])
    table["memory"] = slowdown / table["crowding"]
    table["slowdown"] = slowdown
    table["lost_s"] = WINDOW_S * (1 - 1 / slowdown)
    for name, lost_s in zip(("recorded_low", "recorded", "recorded_high"), REGRESSED_S, strict=True):
        table[name] = table["memory"] * (1.0 + implied_penalty(cost, host, lost_s) * (table["processes"] - 1))
    return table


def implied_penalty(cost: CostModel, host: Node, lost_s: float) -> float:
    """The penalty of a further process with which two lose ``lost_s`` of 10 s; memory is unchanged."""
    memory = cost.slowdown(host, 2) / cost.slowdown(host, 1) / cost.cache_sharing_factor(host, 2)
    return WINDOW_S / (WINDOW_S - lost_s) / memory - 1.0
