"""A folder holds a complete run of this schema, or it is refused by name with the reason."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import storm_lab
from storm_lab.errors import UserError
from storm_lab.tuplelog import Problem, RunIdentity, RunRefused, find_runs, open_run
from tests.tuplelog.tiny import edit_manifest, identity, write_run


def _change_digit(folder: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_text()
    assert '"duration_ns": 120000000000' in text
    path.write_text(text.replace('"duration_ns": 120000000000', '"duration_ns": 130000000000'))


def _truncate(folder: Path) -> None:
    path = folder / "roots.parquet"
    path.write_bytes(path.read_bytes()[:-10])


def _scramble(folder: Path) -> None:
    path = folder / "roots.parquet"
    path.write_bytes(bytes(path.stat().st_size))


def _edit_facts(folder: Path, table: str, **changes: int) -> None:
    facts = json.loads((folder / "manifest.json").read_text())["tables"]
    facts[table] |= changes
    edit_manifest(folder, tables=facts)


def _rename_column(folder: Path) -> None:
    path = folder / "cpu.parquet"
    pq.write_table(pq.read_table(path).rename_columns({"node": "host"}), path)
    _edit_facts(folder, "cpu", bytes=path.stat().st_size)


def _other_runs_table(folder: Path) -> None:
    write_run(folder.parent / "other", seed=2)
    shutil.copy(folder.parent / "other" / "roots.parquet", folder / "roots.parquet")
    _edit_facts(folder, "roots", bytes=(folder / "roots.parquet").stat().st_size)


@pytest.mark.parametrize(
    ("damage", "problem", "words"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), Problem.INCOMPLETE, "no manifest"),
        (lambda folder: (folder / "manifest.json").write_text("{"), Problem.INCOMPLETE, "manifest is broken"),
        (lambda folder: edit_manifest(folder, seed=9), Problem.INCOMPLETE, "does not follow"),
        (_change_digit, Problem.INCOMPLETE, "checksum does not follow"),
        (lambda folder: (folder / "cpu.parquet").unlink(), Problem.INCOMPLETE, "cpu.parquet is missing"),
        (
            lambda folder: edit_manifest(folder, schema_version=99),
            Problem.FOREIGN_SCHEMA,
            "schema version 99",
        ),
        (lambda folder: edit_manifest(folder, tables={}), Problem.FOREIGN_SCHEMA, "other tables"),
        (_rename_column, Problem.FOREIGN_SCHEMA, "host, node"),
        (_truncate, Problem.TRUNCATED, "roots.parquet has"),
        (_scramble, Problem.TRUNCATED, "not a readable Parquet"),
        (lambda folder: _edit_facts(folder, "roots", rows=2), Problem.TRUNCATED, "1 rows, not 2"),
        (lambda folder: (folder / "roots.parquet").write_bytes(b""), Problem.EMPTY, "roots.parquet is empty"),
        (_other_runs_table, Problem.DUPLICATED, "belongs to another run"),
        (
            lambda folder: shutil.copy(folder / "roots.parquet", folder / "roots (copy).parquet"),
            Problem.DUPLICATED,
            "roots (copy).parquet",
        ),
    ],
)
def test_a_damaged_run_is_refused_with_folder_and_problem(
    tmp_path: Path, damage: Callable[[Path], object], problem: Problem, words: str
) -> None:
    folder = tmp_path / "run"
    write_run(folder)
    open_run(folder, verify=True)
    damage(folder)
    with pytest.raises(RunRefused) as caught:
        open_run(folder)
    assert (caught.value.folder, caught.value.problem) == (folder, problem)
    assert words in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_run_without_any_tuple_is_empty(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {})
    with pytest.raises(RunRefused, match="empty"):
        open_run(tmp_path / "run")


def test_a_changed_byte_is_found_when_the_files_are_verified(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    write_run(folder)
    data = bytearray((folder / "roots.parquet").read_bytes())
    data[40] ^= 1
    (folder / "roots.parquet").write_bytes(data)
    with pytest.raises(RunRefused, match="changed after it was written"):
        open_run(folder, verify=True)


def test_refused_folders_are_counted_and_never_returned(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_run(tmp_path / "tiny" / f"s{seed}", seed=seed)
    _truncate(tmp_path / "tiny" / "s2")
    (tmp_path / "tiny" / ".partial-s4-1").mkdir()
    runs, refused = find_runs(tmp_path)
    assert [run.folder.name for run in runs] == ["s1", "s3"]
    assert [(refusal.folder.name, refusal.problem) for refusal in refused] == [("s2", Problem.TRUNCATED)]


def test_a_copied_run_counts_once(tmp_path: Path) -> None:
    name = identity().run
    write_run(tmp_path / "tiny" / name)
    shutil.copytree(tmp_path / "tiny" / name, tmp_path / "tiny" / "a copy")
    runs, refused = find_runs(tmp_path)
    assert [run.folder.name for run in runs] == [name]
    assert [(refusal.folder.name, refusal.problem) for refusal in refused] == [("a copy", Problem.DUPLICATED)]


def test_all_experiments_are_found_without_a_name(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "r", experiment="a")
    write_run(tmp_path / "b" / "r", experiment="b")
    runs, refused = find_runs(tmp_path)
    assert ([run.manifest.identity.experiment for run in runs], refused) == (["a", "b"], [])
    assert find_runs(tmp_path / "nowhere") == ([], [])


def test_a_refusal_can_be_pickled(tmp_path: Path) -> None:
    refusal = RunRefused(tmp_path, Problem.EMPTY, "it holds no tuple")
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"variant": "x"},
        {"parameters": {"gamma": 1.8}},
        {"code_digest": "x"},
        {"sample_every": 2},
    ],
)
def test_a_runs_name_depends_on_everything_that_determines_its_bytes(change: dict[str, object]) -> None:
    assert identity().run == identity().run
    assert identity(**change).run != identity().run


def test_the_key_in_the_tables_is_the_name_as_a_number() -> None:
    for seed in range(20):
        key = identity(seed=seed).run_key
        assert f"{key % 2**64:016x}" == identity(seed=seed).run
        assert -(2**63) <= key < 2**63


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], {"a": 1}])
def test_parameters_must_be_finite_scalars(value: object) -> None:
    with pytest.raises(ValueError, match="parameter gamma"):
        RunIdentity("e", "v", {"gamma": value}, 1, "0.8.2", "", "", {})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("some text that is no folder", "there is no such folder"),
        ("x" * 5000, "cannot be read"),
        ("a\0b", "cannot be read"),
        (__file__, "cannot be read"),
        (7, "is not a folder"),
        (None, "is not a folder"),
    ],
)
def test_anything_but_a_folder_is_refused_in_one_line(given: Any, words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        storm_lab.open_run(given)
    assert "\n" not in str(raised.value) and "delete" not in str(raised.value)


def test_a_run_can_be_opened_by_the_path_as_a_string(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    assert storm_lab.open_run(str(tmp_path / "run")) == open_run(tmp_path / "run")
