"""A run is written completely or not at all, and the same rows give the same bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from storm_lab.errors import UserError
from storm_lab.tuplelog import TABLES, Coded, RunWriter, Status, open_run
from storm_lab.tuplelog.buffer import ROW_GROUP_ROWS
from tests.tuplelog.tiny import columns, identity, root, write_run

ROOT = Path(__file__).resolve().parents[2]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _executions(rows: int) -> dict[str, object]:
    count = np.arange(rows, dtype=np.int64)
    half = Coded((count % 2).astype(np.int8), ["split", "count"])
    one = Coded(np.zeros(rows, np.int8), ["x"])
    return {
        "root_id": count, "topology": one, "component": half, "task": (count % 7).astype(np.int32),
        "source_task": count % 3, "worker": count % 2, "node": one, "locality": one,
        "enqueue_ns": count * 10, "start_ns": count * 10 + 1, "end_ns": count * 10 + 2,
    }  # fmt: skip


def test_a_finished_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    manifest = write_run(tmp_path / "run", {"roots": [root(1, 10), root(2, None, "pending")]})
    run = open_run(tmp_path / "run", verify=True)
    assert run.manifest == manifest
    rows = run.table("roots").to_pylist()
    assert [row["complete_ns"] for row in rows] == [1_010_000_000, None]
    assert [row["latency_ns"] for row in rows] == [10_000_000, None]
    assert [row["outcome"] for row in rows] == ["acked", "pending"]
    assert {row["run"] for row in rows} == {manifest.identity.run_key}


def test_a_manifest_has_a_line_for_each_list_and_keeps_texts_as_they_are(tmp_path: Path) -> None:
    odd = {"hosts": {"n1": [0.5, 1, None]}, "note": "a [\n  1,\n  2\n]", "notes": ["b,\n c", "d [ 1 ]"]}
    written = write_run(tmp_path / "run", conditions=odd)
    text = (tmp_path / "run" / "manifest.json").read_text()
    assert '"n1": [0.5, 1, null]\n' in text
    assert open_run(tmp_path / "run").manifest == written
    assert written.conditions == odd


def test_every_table_exists_even_without_rows(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    assert {path.stem for path in (tmp_path / "run").glob("*.parquet")} == set(TABLES)


def test_the_same_rows_give_the_same_bytes_in_any_folder(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "one")
    write_run(tmp_path / "b" / "two")
    assert _bytes(tmp_path / "a" / "one") == _bytes(tmp_path / "b" / "two")


def test_bytes_do_not_depend_on_how_rows_are_split_into_appends(tmp_path: Path) -> None:
    rows = ROW_GROUP_ROWS + 1000
    whole = _executions(rows)
    with RunWriter(tmp_path / "whole", identity()) as log:
        log.append("executions", whole)
        log.finish(duration_ns=1)
    with RunWriter(tmp_path / "pieces", identity()) as log:
        for low in range(0, rows, 300_000):
            piece = {}
            for name, column in whole.items():
                if isinstance(column, Coded):
                    # Names in another order, and one that never occurs.
                    names = ["never", *reversed(column.names)]
                    codes = len(column.names) - column.codes[low : low + 300_000]
                    piece[name] = Coded(codes, names)
                else:
                    piece[name] = column[low : low + 300_000]
            log.append("executions", piece)
        log.finish(duration_ns=1)
    assert _bytes(tmp_path / "whole") == _bytes(tmp_path / "pieces")
    footer = pq.read_metadata(tmp_path / "whole" / "executions.parquet")
    assert [footer.row_group(i).num_rows for i in range(footer.num_row_groups)] == [ROW_GROUP_ROWS, 1000]


def test_appended_arrays_may_be_reused_by_the_caller(tmp_path: Path) -> None:
    rows = columns("roots", [root(1, 10)])
    with RunWriter(tmp_path / "run", identity()) as log:
        log.append("roots", rows)
        rows["emit_ns"][:] = 0  # type: ignore[index]
        log.finish(duration_ns=1)
    assert open_run(tmp_path / "run").table("roots")["emit_ns"].to_pylist() == [1_000_000_000]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"emit_ns": np.zeros(2, np.int64)}, "differ in length"),
        ({"emit_ns": np.zeros(1)}, "float64 is not int64"),
        ({"attempt": np.array([40_000])}, "does not fit"),
        ({"line": np.array([2**63], np.uint64)}, "does not fit"),
        ({"surprise": np.zeros(1)}, "surprise"),
        ({"topology": Coded(np.array([3]), ["wc"])}, "without a name"),
        ({"topology": np.array(["wc"])}, "list of strings"),
    ],
)
def test_columns_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message), RunWriter(tmp_path / "run", identity()) as log:
        log.append("roots", columns("roots", [root(1, 10)]) | change)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_or_ctrl_c_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), RunWriter(tmp_path / "run", identity()) as log:
        log.append("executions", _executions(ROW_GROUP_ROWS + 5))  # type: ignore[arg-type]
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_block_left_without_finish_leaves_nothing(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", identity()) as log:
        log.append("roots", columns("roots", [root(1, 10)]))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_no_run_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from tests.tuplelog.tiny import *\n"
        "with RunWriter(Path(sys.argv[1]), identity()) as log:\n"
        "    log.append('roots', columns('roots', [root(1, 10)])); os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], cwd=ROOT, check=False)
    assert [path.name.startswith(".partial-run-") for path in tmp_path.iterdir()] == [True]
    write_run(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_clean_up_leaves_alone_what_belongs_to_a_run_with_a_longer_name(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run-999999999", identity()) as log:
        write_run(tmp_path / "run")
        log.append("roots", columns("roots", [root(1, 10)]))
        log.finish(duration_ns=1)
    assert open_run(tmp_path / "run-999999999").manifest.tables["roots"].rows == 1


def test_a_second_writer_replaces_the_run_of_the_first(tmp_path: Path) -> None:
    write_run(tmp_path / "run", seed=1)
    write_run(tmp_path / "run", seed=2)
    assert open_run(tmp_path / "run").manifest.identity.seed == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("exists", [False, True])
def test_two_processes_that_publish_a_run_at_the_same_moment_keep_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    folder, rename = tmp_path / "run", Path.rename
    if exists:
        write_run(folder)

    def after_the_other(source: Path, target: Path) -> Path:
        """Once, the other process takes the existing run away, or publishes its own, immediately before."""
        if (source == folder) == exists:
            monkeypatch.setattr(Path, "rename", rename)
            if exists:
                folder.rename(tmp_path / "taken")
            else:
                shutil.copytree(source, folder)
        return rename(source, target)

    with RunWriter(folder, identity()) as log:
        log.append("roots", columns("roots", [root(1, 10), root(2, 10)]))
        monkeypatch.setattr(Path, "rename", after_the_other)
        log.finish(duration_ns=1)
    assert open_run(folder, verify=True).table("roots").num_rows == 2
    assert {path.name for path in tmp_path.iterdir()} - {"taken"} == {"run"}


def test_a_full_disk_is_reported_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    full = pytest.raises(UserError, match="no space left on the disk")
    with full as caught, RunWriter(tmp_path / "run", identity()) as log:
        (partial,) = tmp_path.iterdir()
        (partial / "executions.parquet").symlink_to("/dev/full")
        log.append("executions", _executions(ROW_GROUP_ROWS))  # type: ignore[arg-type]
        log.finish(duration_ns=1)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_run_must_give_its_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="reason"):
        write_run(tmp_path / "run", status=Status.STOPPED)
    write_run(tmp_path / "run", status=Status.STOPPED, reason="queue limit of 1 GB reached")
    assert open_run(tmp_path / "run").manifest.reason == "queue limit of 1 GB reached"
