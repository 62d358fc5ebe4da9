"""Kept metrics of a run are read again only as they were written, by the same code, for the same log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from storm_lab.identity.closure import Code
from storm_lab.pipeline import metric_cache
from storm_lab.pipeline.metric_cache import (
    TABLES_FILE,
    code_digest,
    load_tables,
    metrics_folder,
    store_tables,
    stored_names,
)
from storm_lab.pipeline.metric_tables import TABLE_NAMES, MetricTables
from storm_lab.tuplelog.reader import Run, open_run
from tests.tuplelog.tiny import write_run

pytestmark = pytest.mark.spark


def test_metrics_of_another_code_or_another_log_are_not_taken(
    scenario_folders: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = open_run(scenario_folders[0])
    place = metrics_folder(run, None)
    write_run(tmp_path / "data" / "runs" / "tiny" / "latency", variant="latency")
    other = open_run(tmp_path / "data" / "runs" / "tiny" / "latency")
    assert other.run == run.run
    assert metrics_folder(other, None).name != place.name
    monkeypatch.setattr(metric_cache, "code_digest", lambda: "changed")
    assert metrics_folder(run, None) != place


def test_metrics_stay_in_the_data_folder_if_a_folder_of_runs_is_a_link(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_run(tmp_path / "disk" / "run", variant="latency")
    (data / "runs").mkdir(parents=True)
    (data / "runs" / "tiny").symlink_to(tmp_path / "disk")
    (folder,) = (data / "runs" / "tiny").iterdir()
    assert metrics_folder(open_run(folder), None).parent == data / "metrics"


def test_a_run_near_the_root_of_the_disk_has_a_folder_of_metrics(tmp_path: Path) -> None:
    run = Run(Path("/one-run"), write_run(tmp_path / "run"))
    assert metrics_folder(run, None).parent == Path("/metrics")


Edit = Callable[[str, str, str], Code]


@pytest.mark.parametrize(
    ("counts", "file", "old", "new"),
    [
        (True, "pipeline/events.py", r"otherwise\(0\)", "otherwise(1)"),
        (True, "pipeline/session.py", r'"UTC"', '"Europe/Rome"'),
        (True, "tuplelog/schema.py", r"^SCHEMA_VERSION = ", "SCHEMA_VERSION = 1 + "),
        (False, "pipeline/throughput.py", r"^from __future__", "# A remark.\nfrom __future__"),
        (False, "pipeline/summary.py", r"show_progress: bool = False", "show_progress: bool = True"),
        (False, "machine/progress.py", r"^_LINE_S = 30", "_LINE_S = 60"),
    ],
)
def test_code_counts_that_makes_a_metric_and_no_other(
    edited: Edit, monkeypatch: pytest.MonkeyPatch, counts: bool, file: str, old: str, new: str
) -> None:
    before = code_digest()
    monkeypatch.setattr(metric_cache, "own_code", lambda: edited(file, old, new))
    assert (code_digest.__wrapped__() != before) == counts


def test_kept_metrics_that_are_not_what_was_written_count_as_absent(
    metrics: MetricTables, scenario_folders: list[Path], tmp_path: Path
) -> None:
    place = metrics_folder(open_run(scenario_folders[0]), None)
    copy = tmp_path / place.name
    shutil.copytree(place, copy)
    assert load_tables(copy, TABLE_NAMES).keys() == set(TABLE_NAMES)
    content = (copy / TABLES_FILE).read_bytes()
    changed = bytearray(content)
    # The name of a column, inside a table: not every byte of a ZIP file's own records is read.
    changed[content.index(b"experiment")] ^= 1
    for damaged in (content[: len(content) // 2], bytes(changed), b""):
        copy.mkdir(exist_ok=True)
        (copy / TABLES_FILE).write_bytes(damaged)
        assert load_tables(copy, TABLE_NAMES) == {}
        assert not copy.exists()


def test_no_changed_byte_of_an_archive_is_an_error(tmp_path: Path) -> None:
    place = tmp_path / "aaaa-1"
    store_tables(place, {"nodes": pa.table({"cores": [4]})})
    content = (place / TABLES_FILE).read_bytes()
    for position in range(len(content)):
        for mask in (1, 8, 255):
            changed = bytearray(content)
            changed[position] ^= mask
            place.mkdir(exist_ok=True)
            (place / TABLES_FILE).write_bytes(changed)
            stored_names(place)
            assert load_tables(place).get("nodes", pa.table({"cores": [4]}))["cores"].to_pylist() == [4]


def test_further_tables_of_a_run_are_kept_beside_those_that_are_there(tmp_path: Path) -> None:
    place = tmp_path / "aaaa-1"
    assert (stored_names(place), load_tables(place)) == ((), {})
    store_tables(place, {"events": pa.table({"run": ["a"]}), "nodes": pa.table({"run": ["a"], "cores": [4]})})
    store_tables(place, {"stays": pa.table({"run": ["b"]}), "events": pa.table({"run": ["c"]})})
    assert stored_names(place) == ("events", "nodes", "stays")
    assert {name: table["run"].to_pylist() for name, table in load_tables(place).items()} == {
        "events": ["c"],
        "nodes": ["a"],
        "stays": ["b"],
    }
    assert load_tables(place, ["nodes", "steady"])["nodes"]["cores"].to_pylist() == [4]
    assert load_tables(place, ["nodes", "steady"]).keys() == {"nodes"}


def test_what_older_code_left_of_a_run_goes(tmp_path: Path) -> None:
    tables = dict.fromkeys(TABLE_NAMES, pa.table({"run": ["a"]}))
    for name in ("aaaa-1", "bbbb-1", "aaaa-2"):
        store_tables(tmp_path / name, tables)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aaaa-2", "bbbb-1"]
