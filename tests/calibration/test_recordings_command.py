"""``storm-lab recordings``: what the emulator predicts for recorded runs, as a list."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from storm_lab.calibration import command
from storm_lab.calibration.command import recordings
from storm_lab.calibration.evaluation import steady_rates
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.papers.rstorm import recording
from storm_lab.papers.rstorm.recording import load_recordings

PACKAGE_FILE = Path(recording.__file__).with_name("recordings.json")


@pytest.fixture
def _halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulator that predicts half of what each component did."""

    def half(run, cost, seed, known):  # type: ignore[no-untyped-def]
        rates = {c.id: (0.0, 0.0) for c in known.topology(run.topology).topology.components}
        rates |= {name: (rate / 2, 0.0) for name, rate in run.executed.items()}
        sinks = known.topology(run.topology).sinks
        return rates | {name: ((run.sink or 0) / 2 / len(sinks), 0.0) for name in sinks}

    monkeypatch.setattr(command, "steady_rates", half)


@pytest.mark.usefixtures("_halved")
def test_every_recorded_run_has_its_row() -> None:
    done = CliRunner().invoke(recordings, ["--json"])
    rows = json.loads(done.stdout)
    known = load_recordings()
    assert [(row["topology"], row["run"]) for row in rows] == [(r.topology, r.scheduler) for r in known.runs]
    for row in rows:
        assert list(row) == [
            "topology", "run", "sink_recorded", "sink_predicted", "delivered_recorded", "delivered_predicted",
        ]  # fmt: skip
        if row["sink_recorded"] is not None:
            assert row["sink_predicted"] == pytest.approx(row["sink_recorded"] / 2, abs=0.1)
            assert row["delivered_predicted"] == pytest.approx(row["delivered_recorded"] / 2, abs=0.1)


@pytest.mark.usefixtures("_halved")
def test_linears_tuples_are_those_of_two_bolts_and_the_sink() -> None:
    rows = json.loads(CliRunner().invoke(recordings, ["--json"]).stdout)
    even = next(row for row in rows if (row["topology"], row["run"]) == ("linear", "even"))
    assert even["sink_recorded"] == 26823
    assert even["delivered_recorded"] == 26823 + 49081 + 38981


@pytest.mark.usefixtures("_halved")
def test_without_json_there_is_a_table() -> None:
    lines = CliRunner().invoke(recordings, []).stdout.splitlines()
    assert len(lines) == 1 + len(load_recordings().runs)


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """The package's recordings of Linear alone, with a change."""
    document = json.loads(PACKAGE_FILE.read_text(encoding="utf-8"))
    document["topologies"] = {"linear": document["topologies"]["linear"]}
    change(document)
    path = folder / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "kept", [(), ("spout_head", "bolt_linear_0", "bolt_linear_1")], ids=["none", "no sink"]
)
def test_a_placement_that_is_not_whole_is_refused_by_topology_and_run(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    def leave_out(document: dict[str, Any]) -> None:
        run = document["topologies"]["linear"]["runs"]["rstorm"]
        run["placement"] = [row for row in run["placement"] if row[0] in kept]

    known = load_recordings(changed(tmp_path, leave_out))
    with pytest.raises(
        UserError, match=r"linear\.runs\.rstorm\.placement: executor .* has no slot .*; place every"
    ):
        steady_rates(known.topology("linear").runs["rstorm"], CostModel(), 1, known)


@pytest.mark.usefixtures("_halved")
def test_runs_of_an_unknown_topology_are_reported_and_skipped(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda document: document.update(extra_runs={"Ring": {}}))
    done = CliRunner().invoke(recordings, [path, "--json"])
    assert len(json.loads(done.stdout)) == 2
    assert "extra run Ring is skipped" in done.stderr


def test_a_file_that_holds_no_recordings_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text("{}", encoding="utf-8")
    done = CliRunner().invoke(recordings, [str(path)])
    assert "schema" in str(done.exception)


@pytest.mark.parametrize(
    ("file", "said"),
    [("deep.json", "the recordings cannot be read: .*recursion"), ("/dev/null", "is not a regular file")],
)
def test_a_file_that_cannot_be_recordings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.json").write_text("[" * 100_000)
    refused = CliRunner().invoke(recordings, [file])
    assert isinstance(refused.exception, UserError)
    assert re.fullmatch(f"recordings = '{file}': {said}.*; give a JSON file", str(refused.exception))
