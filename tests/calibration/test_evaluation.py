"""Sets of constants that were played once are not played again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from storm_lab.calibration.evaluation import Evaluation
from storm_lab.calibration.target import loaded_runs
from storm_lab.papers.rstorm.recording import load_recordings


class Here:
    """A pool that plays nothing, and notes what it was asked for."""

    def __init__(self, jobs: int, mp_context: object) -> None:
        self.asked: list[tuple[object, ...]] = []

    def map(self, play: Callable[..., object], jobs: Iterable[tuple[object, ...]]) -> Iterator[object]:
        self.asked += jobs
        return iter([{"sink": (float(number), 2.0)} for number, _ in enumerate(self.asked)])

    def shutdown(self, *, wait: bool, cancel_futures: bool) -> None:
        assert wait and cancel_futures


def test_a_set_of_constants_is_played_once_for_every_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storm_lab.calibration.evaluation.ProcessPoolExecutor", Here)
    done: list[None] = []
    with Evaluation(7, 1, lambda: done.append(None), tmp_path) as evaluation:
        first = evaluation.rates({"ht_gain": 0.2})
        assert evaluation.rates({"ht_gain": 0.2}) == first
        pool = evaluation._pool
        assert isinstance(pool, Here)
    variants = [run.variant for run in loaded_runs(load_recordings())]
    assert pool.asked == [(variant, {"ht_gain": 0.2}, 7) for variant in variants]
    assert {variant: rates["sink"][0] for variant, rates in first.items()} == {
        variant: number for number, variant in enumerate(variants)
    }
    assert (len(done), len(list(tmp_path.iterdir()))) == (2, 1)
