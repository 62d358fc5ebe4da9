"""The search for constants: finds what it should, stays inside the ranges, gives the same answer twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from storm_lab.calibration.search import search, steps_of

RANGES = {"a": (1.0, 100.0), "b": (1.0, 100.0)}
START = {"a": 20.0, "b": 20.0, "fixed": 3.0}


def toward(a: float, b: float):
    """Residuals of two products of the constants, zero at (a, b)."""

    def evaluate(sets: Sequence[Mapping[str, float]]) -> list[np.ndarray]:
        return [np.array([np.log(s["a"] * s["b"] / (a * b)), np.log(s["a"] / s["b"] * b / a)]) for s in sets]

    return evaluate


def test_it_finds_the_constants_that_explain_the_targets() -> None:
    found = search(START, RANGES, toward(30.0, 12.0), rounds=12)
    assert found.values["a"] == pytest.approx(30, rel=0.05)
    assert found.values["b"] == pytest.approx(12, rel=0.05)
    assert found.values["fixed"] == 3.0
    assert found.loss < 5e-3


def test_it_stays_inside_the_physical_ranges() -> None:
    found = search(START, RANGES, toward(300.0, 0.5), rounds=12)
    assert found.values["a"] == 100
    assert found.values["b"] == 1


def test_no_rounds_only_check_the_start() -> None:
    found = search(START, RANGES, toward(30.0, 12.0), rounds=0)
    assert found.values == START
    assert found.loss > 0.1


def test_the_same_search_twice_takes_the_same_way() -> None:
    seen: list[list[Mapping[str, float]]] = [[], []]
    for way in seen:
        evaluate = toward(30.0, 12.0)

        def watched(values, way=way, evaluate=evaluate):
            way.extend(values)
            return evaluate(values)

        search(START, RANGES, watched, rounds=3)
    assert seen[0] == seen[1]
    assert len(seen[0]) <= steps_of(RANGES, 3)


def test_a_constant_at_the_end_of_its_range_is_moved_inwards() -> None:
    found = search({"a": 100.0, "b": 1.0}, RANGES, toward(50.0, 4.0), rounds=12)
    assert found.values["a"] == pytest.approx(50, rel=0.05)
    assert found.values["b"] == pytest.approx(4, rel=0.05)


def test_it_gets_down_a_staircase() -> None:
    # Whole numbers have no slope.
    tried = 0

    def stairs(sets: Sequence[Mapping[str, float]]) -> list[np.ndarray]:
        nonlocal tried
        tried += len(sets)
        return [np.array([np.floor(s["a"] / 4) - 2, np.floor(s["b"] / 4) - 15]) for s in sets]

    found = search(START, RANGES, stairs, rounds=6)
    assert found.loss <= 1
    assert found.values["fixed"] == 3.0
    assert tried == steps_of(RANGES, 6)


def test_constants_that_act_together_are_found_together() -> None:
    # A narrow valley: a alone, or b alone, makes nearly everything worse.
    def valley(sets: Sequence[Mapping[str, float]]) -> list[np.ndarray]:
        return [np.array([20 * np.log(s["a"] * s["b"] / 400), np.log(s["a"] / s["b"] / 9)]) for s in sets]

    found = search(START, RANGES, valley, rounds=6)
    assert found.values["a"] == pytest.approx(60, rel=0.05)
    assert found.values["b"] == pytest.approx(400 / 60, rel=0.05)


def test_a_constant_that_may_be_nothing_is_moved_from_there() -> None:
    ranges = {"a": (0.0, 100.0), "b": (1.0, 100.0)}
    found = search({"a": 0.5, "b": 20.0}, ranges, toward(0.01, 12.0), rounds=12)
    assert found.values["a"] == pytest.approx(0.01, rel=0.1)
