"""Metrics are computed once, kept per run, and never from a run that was refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from storm_lab.errors import UserError
from storm_lab.pipeline import batches
from storm_lab.pipeline.metric_tables import TABLE_NAMES, MetricTables
from storm_lab.pipeline.summary import metrics_of, missing_metrics, store_metrics
from storm_lab.tuplelog import Problem, RunRefused

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def computed(*_: object) -> None:
        raise AssertionError("Spark was asked for metrics that are kept already")

    monkeypatch.setattr(batches, "_computed_tables", computed)
    yield


def _same(one: MetricTables, other: MetricTables) -> None:
    for name in ("runs", *TABLE_NAMES):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True, obj=name)


def test_kept_metrics_equal_computed_ones(
    metrics: MetricTables, scenario_folders: list[Path], no_spark: None
) -> None:
    _same(metrics_of(list(reversed(scenario_folders))), metrics)


@pytest.mark.slow
def test_large_logs_take_another_way_to_the_same_bits(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storm_lab.pipeline.tables.SMALL_ROWS", 0)
    monkeypatch.setattr(batches, "_BATCH_RUNS", (len(scenario_folders) + 1) // 2)
    _same(metrics_of(scenario_folders, cache=tmp_path), metrics)


def test_some_of_the_runs_can_be_asked_for_later(
    metrics: MetricTables, scenario_folders: list[Path], no_spark: None
) -> None:
    stop = next(folder for folder in scenario_folders if folder.name == "stop")
    alone = metrics_of([stop])
    everything = metrics.throughput_1s
    expected = everything[everything["variant"] == "stop"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.throughput_1s, expected, check_exact=True)


def test_a_notebook_with_kept_metrics_does_not_even_load_pyspark(
    metrics: MetricTables, scenario_folders: list[Path]
) -> None:
    script = (
        "import sys; from pathlib import Path; from storm_lab.pipeline.summary import metrics_of\n"
        "print(len(metrics_of([Path(sys.argv[1])]).runs), 'pyspark' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(scenario_folders[0])]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["1", "False"]


def test_metrics_are_kept_beside_the_folder_of_all_runs(
    metrics: MetricTables, scenario_folders: list[Path]
) -> None:
    home = scenario_folders[0].parents[2] / "metrics"
    assert len(list(home.iterdir())) == len(scenario_folders)
    assert {path.name.split("-")[0] for path in home.iterdir()} == set(metrics.runs["run"])


def test_tables_that_were_not_asked_for_are_computed_when_they_are_looked_at(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = scenario_folders[:2]
    tables = metrics_of(some, cache=tmp_path, names=("events", "nodes"))
    assert missing_metrics(dict.fromkeys(some, ("events", "stays")), cache=tmp_path) == dict.fromkeys(
        some, ("stays",)
    )
    assert capsys.readouterr().err == ""
    expected = metrics.occupancy[metrics.occupancy["run"].isin(tables.runs["run"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(tables.occupancy, expected, check_exact=True)
    assert "occupancy was not requested" in capsys.readouterr().err
    assert missing_metrics(dict.fromkeys(some, ("events", "occupancy")), cache=tmp_path) == {}


def test_each_run_gets_the_tables_that_it_is_wanted_for(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path
) -> None:
    one, two, three = scenario_folders[:3]
    shares: list[float] = []
    wanted = {one: ("events",), two: ("events", "stays"), three: ("events",)}
    assert store_metrics(wanted, cache=tmp_path, advance=shares.append) == 3
    # Four tables in all: those that both runs lack come together, then each of the third run's.
    assert shares == [0.5, 0.75, 1.0]
    assert missing_metrics(dict.fromkeys(wanted, ("events", "stays")), cache=tmp_path) == {
        one: ("stays",),
        three: ("stays",),
    }
    assert store_metrics(wanted, cache=tmp_path) == 0


def test_runs_of_which_fewer_tables_are_wanted_have_rows_in_these_alone(
    metrics: MetricTables, scenario_folders: list[Path], no_spark: None
) -> None:
    some = scenario_folders[:2]
    tables = metrics_of(some, names=("stays", "occupancy"), fewer={some[1]: ("occupancy",)})
    assert set(tables.occupancy["run"]) == set(tables.runs["run"])
    assert set(tables.stays["run"]) == set(metrics_of(some[:1], names=()).runs["run"])


def test_a_metric_that_does_not_exist_is_named(scenario_folders: list[Path], no_spark: None) -> None:
    with pytest.raises(UserError, match=r"names.*latency_5s"):
        metrics_of(scenario_folders, names=("latency_5s",))


def test_a_run_that_is_not_whole_or_is_there_twice_is_refused(
    scenario_folders: list[Path], tmp_path: Path, no_spark: None
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(scenario_folders[0], broken)
    (broken / "roots.parquet").write_bytes(b"PAR1")
    copied = tmp_path / "z copied"
    shutil.copytree(scenario_folders[1], copied)
    for folder, problem in ((broken, Problem.TRUNCATED), (copied, Problem.DUPLICATED)):
        with pytest.raises(RunRefused) as refused:
            metrics_of([*scenario_folders, folder])
        assert (refused.value.folder, refused.value.problem) == (folder, problem)


def test_a_log_whose_bytes_were_changed_is_not_averaged_in(
    scenario_folders: list[Path], tmp_path: Path, no_spark: None
) -> None:
    folder = tmp_path / "runs" / "bench" / "changed"
    shutil.copytree(scenario_folders[0], folder)
    content = bytearray((folder / "roots.parquet").read_bytes())
    content[10] ^= 255  # in the data, not in the footer that opening reads
    (folder / "roots.parquet").write_bytes(content)
    with pytest.raises(RunRefused, match=r"roots\.parquet was changed"):
        metrics_of([folder])
    with pytest.raises(RunRefused, match=r"roots\.parquet was changed"):
        store_metrics({folder: TABLE_NAMES})


def test_no_run_at_all_is_said() -> None:
    with pytest.raises(UserError, match="no run"):
        metrics_of([])
