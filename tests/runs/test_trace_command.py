"""`storm-lab trace` finds a run by its folder and by its name."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from storm_lab.errors import UserError
from storm_lab.league.example_site import example_site
from storm_lab.runs.trace_command import trace
from storm_lab.teaching.journey import played
from tests.tuplelog.tiny import S, write_run


def test_a_run_is_found_by_folder_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    run = played(example_site(5.0), duration_s=60.0)
    for given in (str(run.folder), run.run):
        file = tmp_path / "trace.json"
        assert CliRunner().invoke(trace, [given, str(file)], catch_exceptions=False).exit_code == 0
        events = json.loads(file.read_text())["traceEvents"]
        assert {"X", "M", "i"} <= {event["ph"] for event in events}
        file.unlink()


@pytest.mark.parametrize("run", ["nope", "*", "[0-9]"])
def test_an_unknown_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path))
    (tmp_path / "runs" / "tiny" / "0").mkdir(parents=True)
    result = CliRunner().invoke(trace, [run, "trace.json"])
    assert isinstance(result.exception, UserError)
    assert "neither a folder nor the name of a run" in str(result.exception)


def test_a_run_with_a_damaged_table_is_refused(tmp_path: Path) -> None:
    execution = {"start_ns": S, "end_ns": 2 * S, "component": "split"}
    write_run(tmp_path / "run", {"executions": [execution] * 100})
    table = tmp_path / "run" / "executions.parquet"
    content = bytearray(table.read_bytes())
    content[20] ^= 0xFF
    table.write_bytes(content)
    result = CliRunner().invoke(trace, [str(tmp_path / "run"), str(tmp_path / "trace.json")])
    assert isinstance(result.exception, UserError)
    assert "executions.parquet was changed after it was written" in str(result.exception)
    assert not (tmp_path / "trace.json").exists()
