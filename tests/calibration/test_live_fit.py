"""Fitting a machine's constants to recorded runs of real Storm."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storm_lab.calibration import live
from storm_lab.calibration.live import LiveFit, fit_live, prior_residuals, show_fit, softened
from storm_lab.errors import UserError
from storm_lab.live.processes import is_zombie
from storm_lab.live.suite.scene import C1_ONLY
from storm_lab.runs.live_constants import FILE_NAME, read_constants
from storm_lab.runs.live_trust import recorded_runs

STORM_LAB = Path(sys.executable).with_name("storm-lab")
RECORDS = Path(__file__).parents[2] / "data" / "live" / "amd-epyc"


@given(st.floats(-1.0, 1.0))
@example(8e-8)
def test_small_errors_count_as_they_are_and_large_ones_less(error: float) -> None:
    residual = softened(error)
    assert abs(residual) <= abs(error)
    assert residual == pytest.approx(error, rel=0.03) or abs(error) > 0.1


def test_the_square_of_a_large_residual_grows_with_the_error_only() -> None:
    # Twice the error, about twice the loss: four times would let one scene decide for all.
    assert softened(1.0) ** 2 / softened(0.5) ** 2 == pytest.approx(2.4, abs=0.1)
    assert softened(-0.7) == -softened(0.7)


def test_a_constant_twice_what_its_prior_counts_as_much_as_an_error_of_a_tenth() -> None:
    prior = {"consumer_wake_us": 19.0, "code_factor": 0.5}
    assert prior_residuals({**prior, "other": 7.0}, prior) == [0.0, 0.0]
    assert prior_residuals({"consumer_wake_us": 38.0, "code_factor": 0.25}, prior) == pytest.approx(
        [0.1, -0.1]
    )


@pytest.mark.parametrize(
    ("machine", "generation"), [("amd-epyc", "0.9"), ("amd-epyc", "2.8"), ("amd-epyc-2445", "0.9")]
)
def test_the_first_compiler_alone_takes_a_small_part_of_what_both_take(machine: str, generation: str) -> None:
    """Where it is not measured, a fit keeps the value of both, and emulated workers compile for too long."""
    constants = read_constants(RECORDS.parent / machine / FILE_NAME).constants
    alone, both = constants[f"{generation}{C1_ONLY}"]["compile_s"], constants[generation]["compile_s"]
    assert 0 < alone < 0.2 * both


def test_a_constant_that_no_run_measures_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    show_fit(LiveFit("Storm 2.8", {}, {"compile_s": 9.2, "wake_us": 10.0}, (), (), ("compile_s",)))
    _, compiled, wake = capsys.readouterr().out.splitlines()
    assert compiled.endswith("(was 12; no run has a measurement, so it keeps the value from before)")
    assert wake.endswith("(was 30)")


def test_a_fitted_constant_at_the_limit_of_its_range_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    # Costs of a log's lines are fitted with the first compiler alone only.
    ranges = {"log_emit_us": (1.0, 500.0), "write_us": (1.0, 400.0)}
    show_fit(LiveFit("Storm 0.9-c1", ranges, {"log_emit_us": 500.0, "write_us": 30.0}, (), ()))
    _, emit, write = capsys.readouterr().out.splitlines()
    assert emit.endswith(", at the limit of its range)")
    assert "limit" not in write


def test_records_of_other_versions_alone_are_refused() -> None:
    recorded = [each for each in recorded_runs(RECORDS) if each.label == "0.9"]
    with pytest.raises(UserError, match=r"records = '2\.8': no recorded scene is usable for calibration"):
        fit_live(recorded[:1], "2.8")


@pytest.mark.slow
def test_a_fit_that_is_asked_to_end_does_so_at_once_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "machine.json"
    options = ["calibrate", "--live", "--version", "2.8", "--records", RECORDS, "--out", out]
    fit = subprocess.Popen([STORM_LAB, *options], stderr=subprocess.DEVNULL)
    children = Path(f"/proc/{fit.pid}/task/{fit.pid}/children")
    for _ in range(600):
        players = children.read_text().split()
        # One of multiprocessing's own, and two that play.
        if len(players) == 3:
            break
        time.sleep(0.1)
    time.sleep(5.0)
    fit.terminate()
    assert fit.wait(timeout=15.0) == 128 + signal.SIGTERM
    assert not out.exists()
    for _ in range(50):
        if all(is_zombie(int(player)) for player in players):
            return
        time.sleep(0.1)
    pytest.fail("a process that played is still there after five seconds")


@pytest.mark.slow
def test_a_fit_is_better_than_where_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ROUNDS", 1)
    recorded = [each for each in recorded_runs(RECORDS) if (each.sitting.name, each.label) == ("bare", "0.9")]
    begin = {**read_constants(RECORDS / FILE_NAME).constants["0.9"], "code_factor": 1.5}
    fit = fit_live(recorded, "0.9", begin)

    def off(rows) -> float:
        factors = [each.factor for row in rows for each in row.compared if each.factor]
        return sum(math.log(factor) for factor in factors)

    assert fit.scenes == ("bare-acked@0.9", "bare-unacked@0.9")
    assert off(fit.after) < 0.5 * off(fit.before)
    assert fit.constants["code_factor"] < 0.5 * begin["code_factor"]
