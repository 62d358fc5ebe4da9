"""What the loss of a node costs, from tables that are worked out by hand."""

import math
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from storm_lab.advice.measure import _loss


def tables(acked_at_s: list[float]) -> Any:
    """Return the tables of a run of 480 s in which a node is lost at 120 s, by times of completed records."""
    bins = pd.DataFrame({"t_s": [10.0 * number for number in range(48)]})
    bins["acked"] = [sum(start <= at < start + 10 for at in acked_at_s) for start in bins["t_s"]]
    return SimpleNamespace(
        throughput_10s=bins.assign(acked_per_s=bins["acked"] / 10.0),
        failures_10s=bins.assign(failed=0, lost=0),
        latency_10s=bins[bins["acked"] > 0].assign(complete_mean_ms=5.0),
    )


@pytest.mark.parametrize("rate_per_s", [0.05, 0.1, 0.5, 4.0])
def test_a_node_whose_loss_ends_everything_is_not_recovered_from(rate_per_s: float) -> None:
    before = [number / rate_per_s for number in range(int(120 * rate_per_s))]
    found = _loss("n1", rate_per_s, tables(before))
    assert not found.recovers
    assert found.down_s >= 330.0
    assert math.isnan(found.latency_after_ms)


@pytest.mark.parametrize("rate_per_s", [0.05, 0.1, 0.5, 4.0])
def test_a_node_whose_loss_is_not_felt_costs_nothing(rate_per_s: float) -> None:
    found = _loss("n1", rate_per_s, tables([number / rate_per_s for number in range(int(480 * rate_per_s))]))
    assert (found.recovers, found.down_s, found.latency_after_ms) == (True, 0.0, 5.0)


def test_service_is_back_after_the_last_bin_that_lacks_records() -> None:
    at_s = [number / 4.0 for number in range(480 * 4)]
    found = _loss("n1", 4.0, tables([at for at in at_s if not 120.0 <= at < 155.0]))
    # Half of the bin from 150 s is missing.
    assert (found.recovers, found.down_s) == (True, 40.0)
