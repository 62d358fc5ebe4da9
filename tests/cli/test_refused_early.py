"""What a command cannot do is refused in one line before its work begins."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from storm_lab.advice.command import advise_command
from storm_lab.calibration.command import calibrate
from storm_lab.cli import cli, main
from storm_lab.errors import UserError
from storm_lab.runs.figures_command import figures
from storm_lab.runs.live_command import live
from storm_lab.tournament.commands import compare, league
from storm_lab.tournament.tournament import Tournament
from tests.cli.test_command_line import commands


def _plays(*given: object, **options: object) -> None:
    raise AssertionError("it plays")


def test_a_scheduler_is_not_compared_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tournament, "play", _plays)
    said = CliRunner().invoke(compare, ["tstorm", "tstorm"])
    assert isinstance(said.exception, UserError)
    assert str(said.exception).startswith("B = 'tstorm': A and B are the same scheduler; give another one")


@pytest.mark.parametrize(
    ("command", "arguments", "told", "playing"),
    [
        (figures, "tstorm-word-count --to /proc/mine", "to = '/proc/mine'", "runs.figures_command.prepare"),
        (calibrate, "--live --out /proc/mine.json", "--out = '/proc'", "calibration.live.record_plays"),
        (live, "run light-1w --runs /proc/mine", "--runs = '/proc/mine'", "runs.live_command.open_stage"),
        (live, "record calibration --folder /proc/mine", "--folder = '/proc/mine'",
         "runs.live_command.record_plays"),
        (live, "up --logs /proc/mine", "--logs = '/proc/mine'", "live.commands.LiveStorm"),
    ],
)  # fmt: skip
def test_a_folder_that_takes_no_results_is_refused_before_anything_plays(
    command: click.Command, arguments: str, told: str, playing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"storm_lab.{playing}", _plays)
    said = CliRunner().invoke(command, arguments.split())
    assert isinstance(said.exception, UserError)
    assert f"{told}: the results cannot be written" in str(said.exception)


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_no_option_that_takes_a_range_of_numbers_takes_one_that_is_not_finite(text: str) -> None:
    options = [option for _, command in commands(cli) for option in command.params]
    ranges = [option for option in options if isinstance(option.type, click.FloatRange)]
    assert "--load" in [option.opts[0] for option in ranges]
    for option in ranges:
        with pytest.raises(click.BadParameter, match=r"not finite; give a finite number|not in the range"):
            option.type.convert(text, option, None)


@pytest.mark.parametrize("empty", ["", " , "])
@pytest.mark.parametrize(
    ("command", "arguments"), [(league, []), (advise_command, ["mine.yaml", "two.yaml"])]
)
def test_an_empty_list_of_policies_is_refused(
    command: click.Command, arguments: list[str], empty: str
) -> None:
    said = CliRunner().invoke(command, [*arguments, "--policies", empty])
    assert isinstance(said.exception, UserError)
    assert str(said.exception).startswith(f"--policies = {empty!r}: is empty; give names")


@pytest.mark.parametrize("typed", ["list twitter-semantics --runs", "new scheduler my-idea", "init ."])
def test_a_current_folder_that_was_deleted_is_named(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(SystemExit) as end:
        main(typed.split())
    said = "storm-lab: the current folder no longer exists; change to another one\n"
    assert (end.value.code, *capsys.readouterr()) == (1, "", said)


def test_a_league_of_schedulers_of_ones_own_needs_no_policies() -> None:
    own = ["--scheduler", "default", "--policies", "", "--suite", "generated", "--dry-run"]
    assert "entrants 1 " in CliRunner().invoke(league, own, catch_exceptions=False).output
