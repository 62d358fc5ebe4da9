"""The monitors' moving average."""

from __future__ import annotations

import pytest

from storm_lab.errors import UserError
from storm_lab.monitoring.monitor import MovingAverages


def test_the_average_starts_with_the_first_sample_and_weighs_the_past_with_alpha() -> None:
    averages: MovingAverages[str] = MovingAverages(0.5)
    averages.add({"a": 100.0})
    assert averages.values["a"] == 100.0
    averages.add({"a": 0.0})
    averages.add({"a": 50.0})
    assert averages.values["a"] == 50.0


def test_a_smaller_alpha_is_more_reactive() -> None:
    slow: MovingAverages[str] = MovingAverages(0.9)
    fast: MovingAverages[str] = MovingAverages(0.1)
    for averages in (slow, fast):
        averages.add({"a": 0.0})
        averages.add({"a": 100.0})
    assert fast.values["a"] == pytest.approx(90.0)
    assert slow.values["a"] == pytest.approx(10.0)


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
