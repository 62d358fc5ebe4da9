"""A damaged folder of a run is reported, and its run is left out or played again, never partly read."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from storm_lab.experiments.experiment import RunSpec
from storm_lab.machine.places import DATA_VARIABLE, runs_folder
from storm_lab.reporting.report import render_report
from storm_lab.runs.execute import PlannedRun, play_all
from storm_lab.runs.prepare import prepare
from storm_lab.tuplelog import Problem, RunRefused, find_runs
from tests.runs import tiny_runs
from tests.runs.test_prepare import study
from tests.runs.tiny_runs import spec
from tests.tuplelog.tiny import edit_manifest


def cut_log(run: Path) -> None:
    log = run / "roots.parquet"
    log.write_bytes(log.read_bytes()[:-9])


def cut_manifest(run: Path) -> None:
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text()[:300])


def lose_log(run: Path) -> None:
    (run / "roots.parquet").unlink()


def empty_log(run: Path) -> None:
    (run / "roots.parquet").write_bytes(b"")


def other_columns(run: Path) -> None:
    log = run / "roots.parquet"
    pq.write_table(pq.read_table(log).drop_columns(["attempt"]), log)
    update_manifest(run)


def other_version(run: Path) -> None:
    edit_manifest(run, schema_version=99)


def log_of_another_run(run: Path) -> None:
    (other,) = (folder for folder in run.parent.iterdir() if folder != run)
    shutil.copy(other / "roots.parquet", run / "roots.parquet")
    update_manifest(run)


def copied_log(run: Path) -> None:
    shutil.copy(run / "roots.parquet", run / "roots (copy).parquet")


def changed_byte(run: Path) -> None:
    log = run / "roots.parquet"
    data = bytearray(log.read_bytes())
    # In the data of the first column, because damage to the footer would be found without reading all data.
    data[20] ^= 0xFF
    log.write_bytes(data)


def update_manifest(run: Path) -> None:
    """Make the manifest agree with the log's size and rows, so that only the contents reveal the damage."""
    log = run / "roots.parquet"
    tables = json.loads((run / "manifest.json").read_text())["tables"]
    tables["roots"] |= {"bytes": log.stat().st_size, "rows": pq.read_metadata(log).num_rows}
    edit_manifest(run, tables=tables)


def changed_digit(run: Path) -> None:
    manifest = run / "manifest.json"
    text = manifest.read_text()
    assert '"duration_ns": 1000000000' in text
    manifest.write_text(text.replace('"duration_ns": 1000000000', '"duration_ns": 1100000000'))


SPOILT: list[tuple[Callable[[Path], None], str]] = [
    (cut_log, "truncated (roots.parquet has "),
    (cut_manifest, "incomplete (its manifest is broken"),
    (changed_digit, "incomplete (its manifest is broken: its checksum does not follow"),
    (lose_log, "incomplete (roots.parquet is missing)"),
    (empty_log, "empty (roots.parquet is empty)"),
    (other_columns, "foreign schema (roots.parquet has other columns: attempt)"),
    (other_version, "foreign schema (it has schema version 99"),
    (log_of_another_run, "duplicated (roots.parquet belongs to another run)"),
    (copied_log, "duplicated (roots (copy).parquet is not a table of a run"),
    (changed_byte, "truncated (roots.parquet was changed after it was written)"),
]

specs: tuple[RunSpec, ...] = (spec("a", tiny_runs.quick, 7), spec("a", tiny_runs.quick, 8))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[PlannedRun, ...]:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    return play_all(specs, jobs=0)


def damaged_runs(root: Path) -> list[RunRefused]:
    return find_runs(root, verify=True)[1]


def logs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("spoil", "words"), SPOILT, ids=[spoil.__name__ for spoil, _ in SPOILT])
def test_a_damaged_run_is_reported_unlike_its_neighbour_and_played_again_to_the_same_bytes(
    runs: tuple[PlannedRun, ...], spoil: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    folder = runs[0].folder
    before = logs(folder)
    assert damaged_runs(runs_folder()) == []
    spoil(folder)
    (damaged,) = damaged_runs(runs_folder())
    assert damaged.folder == folder
    assert f"{damaged.problem} ({damaged.detail})".startswith(words)
    page = render_report(tmp_path / "none", damaged=[damaged])
    assert "Left out (1)" in page and "1 folder of the runs on this machine is damaged" in page
    assert f"<code>tiny/{folder.name}</code>: {words}" in page
    said: list[str] = []
    (own,) = prepare([study("tiny", 7, 8)], jobs=0, side_tasks={}, say=said.append).runs
    assert [run.reused for run in own] == [False, True]
    assert said[0].startswith(f"tiny/{folder.name}: ") and " run, played again (" in said[0]
    assert said[1:] == ["tiny: 2 runs, 1 of them new"]
    assert logs(folder) == before


def test_a_copy_of_a_complete_run_is_left_out(runs: tuple[PlannedRun, ...]) -> None:
    folder = runs[0].folder
    shutil.copytree(folder, folder.with_name("copy"))
    (damaged,) = damaged_runs(runs_folder())
    assert damaged.folder.name == "copy"
    assert damaged.problem is Problem.DUPLICATED
    assert damaged.detail == f"the same run is in {folder.name}"


def test_a_missing_folder_has_no_damaged_runs(tmp_path: Path) -> None:
    assert damaged_runs(tmp_path / "none") == []
