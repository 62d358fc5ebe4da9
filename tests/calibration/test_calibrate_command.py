"""`storm-lab calibrate` writes where data lies, only after a search, and says early that it cannot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from storm_lab.calibration.command import calibrate
from storm_lab.calibration.constants_file import calibrated_cost, shipped_constants
from storm_lab.calibration.evaluation import targets
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.papers.rstorm.recording import load_recordings

Values = Mapping[str, float]


class Exact:
    """An evaluation that plays nothing: every set of constants meets every target."""

    def __init__(self, *given: object) -> None:
        self.measured = {each.name: each.measured for each in targets(load_recordings())}

    def __enter__(self) -> Exact:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def predicted(self, values: Values) -> dict[str, float]:
        return self.measured

    def residuals(self, sets: Sequence[Values]) -> list[NDArray[np.float64]]:
        return [np.zeros(len(self.measured)) for _ in sets]


class Played:
    """An evaluation that must not be begun."""

    def __init__(self, *given: object) -> None:
        raise AssertionError("it plays")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("storm_lab.calibration.command.Evaluation", Exact)
    return tmp_path / "data"


def test_the_constants_land_in_the_folder_of_data(data: Path) -> None:
    before = shipped_constants().read_bytes()
    said = CliRunner().invoke(calibrate, ["--rounds", "1"], catch_exceptions=False)
    place = data / "calibration" / "constants.json"
    assert f"written: {place}" in said.output
    assert all(each["residual_percent"] == 0.0 for each in json.loads(place.read_text())["targets"])
    assert shipped_constants().read_bytes() == before


def test_a_check_without_rounds_writes_no_constants(data: Path) -> None:
    before = shipped_constants().read_bytes()
    said = CliRunner().invoke(calibrate, ["--rounds", "0"], catch_exceptions=False)
    assert "look_us" in said.output and "written" not in said.output
    assert not list(data.rglob("*.json"))
    assert shipped_constants().read_bytes() == before


def test_a_folder_that_takes_no_constants_is_refused_before_anything_is_played(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storm_lab.calibration.command.Evaluation", Played)
    data.mkdir()
    (data / "calibration").write_text("", encoding="utf-8")
    said = CliRunner().invoke(calibrate, ["--rounds", "1"])
    assert isinstance(said.exception, UserError)
    assert f"data = '{data / 'calibration'}': the results cannot be written" in str(said.exception)
    assert "name a folder" in str(said.exception)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--out mine.json", "--out = 'mine.json': has no effect without --live; add --live, or leave it out"),
        ("--records .", "--records = '.': has no effect without --live"),
        ("--version 2.8 --version 0.9", "--version = '2.8, 0.9': has no effect without --live"),
        ("--live --rounds 3", "--rounds = '3': has no effect with --live; leave it out"),
        ("--live --seed 2", "--seed = '2': has no effect with --live"),
    ],
)
def test_options_of_the_other_kind_of_calibration_are_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch, given: str, said: str
) -> None:
    monkeypatch.setattr("storm_lab.calibration.command.Evaluation", Played)
    monkeypatch.setattr("storm_lab.calibration.live.calibrate_live", Played)
    refused = CliRunner().invoke(calibrate, given.split())
    assert isinstance(refused.exception, UserError)
    assert str(refused.exception).startswith(said)


def test_the_calibrated_cost_is_of_the_last_calibration_else_of_the_packages(data: Path) -> None:
    assert calibrated_cost() == calibrated_cost(shipped_constants())
    place = data / "calibration" / "constants.json"
    place.parent.mkdir()
    place.write_text('{"schema": "calibration/1", "constants": {"read_us": {"value": 50.0}}}')
    assert calibrated_cost().read_us == 50.0 != CostModel().read_us


@pytest.mark.parametrize("rest", ["", ', "constants": [1]', ', "constants": {"read_us": {"value": "x"}}'])
def test_a_calibration_whose_constants_cannot_be_read_is_refused(tmp_path: Path, rest: str) -> None:
    file = tmp_path / "constants.json"
    file.write_text(f'{{"schema": "calibration/1"{rest}}}')
    with pytest.raises(UserError, match="does not give the value of each constant; run storm-lab calibrate"):
        calibrated_cost(file)
