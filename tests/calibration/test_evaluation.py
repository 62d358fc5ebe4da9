"""Sets of constants that were played once are not played again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from storm_lab.calibration.evaluation import Evaluation, loaded_runs
from storm_lab.errors import UserError
from storm_lab.papers.rstorm.recording import load_recordings
from tests.runs.test_pool import all_end_with, started

PARENT = """
import sys
from pathlib import Path
from storm_lab.calibration.evaluation import Evaluation
if __name__ == "__main__":
    with Evaluation(7, 2, lambda: None, Path(sys.argv[1])) as evaluation:
        evaluation.residuals([{"read_us": float(us)} for us in range(30, 60)])
"""


class Here:
    """A pool that plays nothing, and notes what it was asked for."""

    def __init__(self, jobs: int, context: object, begin: object) -> None:
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


def test_what_was_played_is_kept_in_the_folder_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storm_lab.calibration.evaluation.ProcessPoolExecutor", Here)
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path / "data"))
    with Evaluation(7, 1, lambda: None) as evaluation:
        evaluation.rates({"ht_gain": 0.2})
    assert len(list((tmp_path / "data" / "cache" / "calibration").glob("*.json"))) == 1
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Evaluation(7, 1, lambda: None, tmp_path / "taken")


def test_processes_that_play_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "sets"
    home.mkdir()
    with started(PARENT, tmp_path, home) as parent:
        # Once a set is played its successor is being played.
        while not list(home.iterdir()):
            assert parent.poll() is None
            time.sleep(0.05)
        told = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text()
        children = [int(child) for child in told.split()]
        assert len(children) >= 2
        assert all_end_with(parent, children)
