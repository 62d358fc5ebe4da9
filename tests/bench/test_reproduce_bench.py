"""The bench of the notebooks starts from nothing, leaves nothing, and its parts add up."""

import os
from pathlib import Path

import pytest

from storm_lab.bench import reproduce as bench
from storm_lab.machine.places import DATA_VARIABLE, reports_folder, runs_folder
from storm_lab.runs.expected import Cost
from storm_lab.runs.reproduce import Reproduced
from storm_lab.runs.study import Study


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where the experiments would have gone; nothing is played."""
    seen: list[Path] = []

    def reproduced(studies: list[Study], **_: object) -> tuple[Reproduced, ...]:
        seen.extend((runs_folder(), reports_folder()))
        cost = Cost(emulation_s=10.0, metrics_s=4.0, notebook_s=3.0, disk_mb=1.0)
        return tuple(Reproduced(study, Path("n"), Path("v"), False, cost, 2.0) for study in studies)

    monkeypatch.setattr(bench, "reproduce", reproduced)
    return seen


def test_parts_add_up_with_the_emulation_on_all_processes(places: list[Path]) -> None:
    figures = bench.measure([Study.of("tstorm-word-count"), Study.of("algorithms")], jobs=2)
    row = figures["notebooks"][0]
    assert [row[name] for name in bench._PARTS] == [10.0, 4.0, 2.0, 1.0]
    assert row["total_s"] == 12.0
    assert figures["papers"]["T-Storm"] == 12.0
    assert len(places) == 2, "all in one session"


def test_every_experiment_can_be_timed_by_itself_in_a_folder_of_its_own(places: list[Path]) -> None:
    figures = bench.measure([Study.of("tstorm-word-count"), Study.of("algorithms")], alone=True)
    assert len(set(places)) == 4
    assert all(row["total_s"] < 10.0 for row in figures["notebooks"]), "wall time, not the sum"


def test_the_checkouts_own_runs_and_reports_are_not_touched(places: list[Path]) -> None:
    before = runs_folder(), reports_folder(), os.environ.get(DATA_VARIABLE)
    bench.measure([Study.of("tstorm-word-count")])
    assert (runs_folder(), reports_folder(), os.environ.get(DATA_VARIABLE)) == before
    assert not set(before) & set(places)
    assert not any(place.exists() for place in places)
