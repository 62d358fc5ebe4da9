"""Verdict files: written atomically, read back equal, refused by name when damaged."""

import json
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.cause import load_causes
from storm_lab.experiments.ledger import load_claims
from storm_lab.experiments.measurement import Measured, Measurement
from storm_lab.reporting.record import (
    VerdictFile,
    claim_rows,
    collect_verdicts,
    read_verdicts,
    write_verdicts,
)

WORD_COUNT = VerdictFile(
    experiment="tstorm-word-count",
    parameters={"gamma": [1, 1.8, 2.2], "duration_s": 1000, "text": "generated"},
    seeds=(1, 2, 3),
    code_digest="abc",
    measurements=(
        Measurement("tstorm-fig6b-speedup", (Measured(20, 18, 22),), "%", "mean of minutes"),
        Measurement("tstorm-fig6a-tstorm-ms", (Measured(16),), "ms", "minute average"),
        Measurement("tstorm-fig6b-spike", (Measured(None),), "s", "highest minute"),
    ),
)


def test_a_verdict_file_is_read_back_equal_but_in_ledger_order(tmp_path):
    record = read_verdicts(write_verdicts(tmp_path, WORD_COUNT))
    assert set(record.measurements) == set(WORD_COUNT.measurements)
    assert record.measurements[0].claim_id == "tstorm-fig6a-tstorm-ms"
    assert (record.seeds, record.parameters) == (WORD_COUNT.seeds, dict(WORD_COUNT.parameters))


def test_the_same_record_gives_the_same_bytes_and_leaves_no_part_file(tmp_path):
    first = write_verdicts(tmp_path / "a", WORD_COUNT).read_bytes()
    path = write_verdicts(tmp_path / "a", WORD_COUNT)
    assert path.read_bytes() == first
    assert [item.name for item in path.parent.iterdir()] == ["tstorm-word-count.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_verdicts(tmp_path, WORD_COUNT)
    before = path.read_bytes()

    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_verdicts(tmp_path, VerdictFile("tstorm-word-count", {}, (), "", ()))
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_claims_without_a_measurement_are_not_run(tmp_path):
    write_verdicts(tmp_path, WORD_COUNT)
    outcomes = {verdict.claim.id: verdict.outcome.value for verdict in collect_verdicts(tmp_path)}
    assert len(outcomes) == len(load_claims().claims)
    assert outcomes["tstorm-fig6a-tstorm-ms"] == "reproduced"
    assert outcomes["tstorm-fig6b-speedup"] == "direction only"
    assert outcomes["tstorm-fig6b-spike"] == "not reproduced"
    assert outcomes["tstorm-fig6c-speedup"] == "not run"
    assert outcomes["twitter-p99"] == "not testable"


def test_no_folder_means_that_nothing_has_been_run(tmp_path):
    outcomes = {verdict.outcome.value for verdict in collect_verdicts(tmp_path / "none")}
    assert outcomes == {"not run", "not testable"}


def test_verdicts_are_judged_again_from_the_measurements(tmp_path):
    path = write_verdicts(tmp_path, WORD_COUNT)
    path.write_text(
        path.read_text(encoding="utf-8").replace("not reproduced", "reproduced"), encoding="utf-8"
    )
    outcomes = {verdict.claim.id: verdict.outcome.value for verdict in collect_verdicts(tmp_path)}
    assert outcomes["tstorm-fig6b-spike"] == "not reproduced"


def test_rows_have_the_keys_that_programs_read(tmp_path):
    write_verdicts(tmp_path, WORD_COUNT)
    rows = {row["id"]: row for row in claim_rows(collect_verdicts(tmp_path))}
    cause = load_causes()["tstorm-fig6b-speedup"]
    assert rows["tstorm-fig6b-speedup"] == {
        "id": "tstorm-fig6b-speedup",
        "paper": "T-Storm",
        "experiment": "tstorm-word-count",
        "expected": "42 %",
        "band": "37 to 47 %",
        "measured": "20 [18, 22] %",
        "verdict": "direction only",
        "basis": "predicted",
        "reason": "20 [18, 22] is outside the band, 37 to 47 %, but on the right side of 0 %",
        "standing": "open",
        "cause": cause.why,
        "class": "input not printed",
        "trial": f"-p {cause.parameter}={cause.value}",
        "reading": "",
    }
    assert rows["tstorm-fig6a-tstorm-ms"]["basis"] == "fitted"


def test_a_claim_of_another_experiment_is_refused(tmp_path):
    stray = VerdictFile("tstorm-log-stream", {}, (1,), "abc", WORD_COUNT.measurements)
    with pytest.raises(UserError, match="belongs to tstorm-word-count"):
        write_verdicts(tmp_path, stray)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "not a verdict file"),
        (lambda text: "[]", "schema version None"),
        (lambda text: text.replace('"schema": 1', '"schema": 99'), "schema version 99"),
        (lambda text: json.dumps({"schema": 1, "experiment": "x"}), "incomplete"),
        (lambda text: json.dumps(json.loads(text) | {"claims": ["tstorm-fig6b-speedup"]}), "incomplete"),
        (lambda text: text.replace('"value": 20', '"value": NaN'), "a measurement must be finite"),
    ],
)
def test_a_damaged_file_is_refused_by_name(tmp_path, damage, message):
    path = write_verdicts(tmp_path, WORD_COUNT)
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught:
        collect_verdicts(tmp_path)
    assert "tstorm-word-count.json" in str(caught.value)


def test_a_file_under_another_experiments_name_is_refused(tmp_path):
    write_verdicts(tmp_path, WORD_COUNT).rename(tmp_path / "tstorm-log-stream.json")
    with pytest.raises(UserError, match="holds the verdicts of tstorm-word-count"):
        collect_verdicts(tmp_path)
