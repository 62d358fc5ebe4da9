"""The monitors' moving average."""

from __future__ import annotations

import pytest

from storm_lab.errors import UserError
from storm_lab.monitoring.monitor import MovingAverages


def test_the_average_starts_with_the_first_sample_and_weighs_the_past_with_alpha() -> None:
    averages: MovingAverages[str] = MovingAverages(0.25)
    found = []
    for sample in (100.0, 0.0, 50.0):
        averages.add({"a": sample})
        found.append(averages.values["a"])
    assert found == [100.0, 25.0, 43.75]


def test_the_average_of_a_key_without_new_samples_decays() -> None:
    averages: MovingAverages[str] = MovingAverages(0.5)
    averages.add({"a": 8.0})
    averages.add({})
    averages.add({"b": 1.0})
    assert averages.values == {"a": 2.0, "b": 1.0}


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 2.0])
def test_a_weight_outside_its_range_is_refused(alpha: float) -> None:
    with pytest.raises(UserError, match="alpha"):
        MovingAverages(alpha)
