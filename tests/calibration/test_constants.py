"""The calibration file and the cost model agree, and the targets are those of the recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storm_lab.calibration.command import fitted_ranges
from storm_lab.calibration.constants_file import calibrated_cost, shipped_constants
from storm_lab.calibration.evaluation import loaded_runs, predictions, steady_rates, targets
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.model.constant import constants_of
from storm_lab.papers.rstorm.recording import load_recordings


def test_the_cost_models_fitted_constants_are_those_of_the_file() -> None:
    kept = json.loads(shipped_constants().read_text())["constants"]
    fitted = {c.name: c for c in constants_of(CostModel()) if c.fitted}
    assert set(kept) == set(fitted)
    for name, entry in kept.items():
        assert entry["value"] == fitted[name].value, name
        assert (entry["low"], entry["high"]) == (fitted[name].low, fitted[name].high)
        assert entry["low"] <= entry["value"] <= entry["high"]


def test_the_file_names_every_target_with_what_is_left_over() -> None:
    kept = json.loads(shipped_constants().read_text())["targets"]
    wanted = targets(load_recordings())
    assert [entry["name"] for entry in kept] == [target.name for target in wanted]
    for entry in kept:
        error = 100 * (entry["predicted"] / entry["measured"] - 1)
        assert entry["residual_percent"] == pytest.approx(error, abs=0.1)


def test_light_load_is_no_target() -> None:
    assert not any("paced" in run.topology for run in loaded_runs(load_recordings()))
    assert not any("paced" in target.name for target in targets(load_recordings()))
    assert len([t for t in targets(load_recordings()) if t.name.endswith("ratio")]) == 3


def test_predictions_that_equal_the_recordings_leave_nothing_over() -> None:
    recordings = load_recordings()
    rates = {}
    for run in loaded_runs(recordings):
        sinks = recordings.topology(run.topology).sinks
        rates[run.variant] = {name: (0.0, rate) for name, rate in run.emitted.items()}
        rates[run.variant] |= {sink: (run.sink / len(sinks), 0.0) for sink in sinks}
    predicted = predictions(recordings, rates)
    assert [t.residual(predicted[t.name]) for t in targets(recordings)] == pytest.approx(
        [0.0] * len(targets(recordings)), abs=1e-9
    )


def left_over(kind: str) -> list[float]:
    """What the fit leaves of targets of a kind, in percent, without signs."""
    kept = json.loads(shipped_constants().read_text())["targets"]
    return [abs(target["residual_percent"]) for target in kept if target["name"].endswith(kind)]


def test_the_gains_of_the_recordings_are_met() -> None:
    assert max(left_over("ratio")) <= 7.0


def test_sinks_of_the_recordings_are_met_on_average() -> None:
    sinks = left_over("sink")
    assert sum(sinks) / len(sinks) <= 10.0


def test_the_same_constants_and_seed_give_the_same_rates() -> None:
    run = load_recordings().topology("linear").runs["rstorm"]
    assert steady_rates(run, CostModel(), 1) == steady_rates(run, CostModel(), 1)


def test_what_was_measured_elsewhere_is_not_fitted() -> None:
    assert set(fitted_ranges()) == {"look_us"}


def test_a_file_that_is_no_calibration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "constants.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match="schema"):
        calibrated_cost(path)
    with pytest.raises(UserError, match="storm-lab calibrate"):
        calibrated_cost(tmp_path / "none.json")
