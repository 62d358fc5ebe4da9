"""What the benchmarks refuse before they measure for minutes, and folders that they must take."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from storm_lab.bench import _pipeline_engine as engine
from storm_lab.bench import pipeline, schedulers
from storm_lab.errors import UserError
from storm_lab.tuplelog import open_run
from tests.pipeline.scenarios import write_all


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {folder.name: folder for folder in write_all(tmp_path_factory.mktemp("data") / "runs")}


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        (pipeline.command, "--rows nan"),
        (pipeline.command, "--rows 0"),
        (pipeline.command, "--large -1"),
        (pipeline.command, "--rounds 0"),
        (schedulers.bench_schedulers_command, "--most-executors 99"),
    ],
)
def test_a_size_at_which_nothing_can_be_measured_is_refused(command: click.Command, typed: str) -> None:
    done = CliRunner().invoke(command, [*typed.split(), *(["--run", "none"] * (command is pipeline.command))])
    assert done.exit_code == 2
    assert f"Invalid value for '{typed.split()[0]}'" in done.output


def test_a_run_without_tuples_is_refused(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_rows", lambda run: 0)
    with pytest.raises(UserError, match=r"run = .*: has no tuples; give a run in which tuples flow"):
        pipeline.replicate(open_run(runs["latency"]), tmp_path / "log", 30)


def test_duckdb_reads_a_folder_with_an_apostrophe_in_its_name(runs: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    folder = shutil.copytree(runs["latency"], tmp_path / "it's here")
    assert [query() for query in engine._duckdb(folder)] == [
        query() for query in engine._duckdb(runs["latency"])
    ]
