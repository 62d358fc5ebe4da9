"""Runs are played once, kept when complete, and never left incomplete."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import RunSpec
from storm_lab.runs.execute import PlannedRun, _timed, is_complete_run, play_all, run_folder
from storm_lab.runs.pool import TaskFailed
from storm_lab.runs.spark_play import _error
from storm_lab.tuplelog import open_run
from tests.runs import tiny_runs
from tests.runs.tiny_runs import spec


def left_behind(home: Path) -> list[str]:
    return [path.name for path in (home / "tiny").glob(".*")] if (home / "tiny").is_dir() else []


@pytest.mark.parametrize("jobs", [0, 2])
def test_every_run_gets_its_own_folder(tmp_path: Path, jobs: int) -> None:
    specs = [spec("a", tiny_runs.quick, seed) for seed in (1, 2, 3)]
    played = play_all(specs, home=tmp_path, jobs=jobs)
    assert [run.spec for run in played] == specs
    assert [open_run(run.folder).manifest.tables["roots"].rows for run in played] == [1, 2, 3]
    assert left_behind(tmp_path) == []


def test_complete_runs_are_reused(tmp_path: Path, marks: Path) -> None:
    specs = [spec("a", tiny_runs.quick, seed) for seed in (1, 2)]
    assert [run.reused for run in play_all(specs[:1], home=tmp_path, jobs=0)] == [False]
    assert [run.reused for run in play_all(specs, home=tmp_path, jobs=0)] == [True, False]
    assert len(list(marks.iterdir())) == 2
    play_all(specs, home=tmp_path, jobs=0, fresh=True)
    assert len(list(marks.iterdir())) == 4


def test_equal_runs_of_one_experiment_are_played_once(tmp_path: Path, marks: Path) -> None:
    played = play_all([spec("a", tiny_runs.quick)] * 3, home=tmp_path, jobs=2)
    assert len({run.folder for run in played}) == 1
    assert len(list(marks.iterdir())) == 1


def test_an_incomplete_run_is_played_again(tmp_path: Path, marks: Path) -> None:
    (run,) = play_all([spec("a", tiny_runs.quick)], home=tmp_path, jobs=0)
    (run.folder / "manifest.json").unlink()
    assert not is_complete_run(run.folder)
    (again,) = play_all([spec("a", tiny_runs.quick)], home=tmp_path, jobs=0)
    assert (again.folder, again.reused) == (run.folder, False)
    assert is_complete_run(again.folder)


def test_runs_differ_by_variant_seed_parameters_and_code(tmp_path: Path) -> None:
    base = spec("a", tiny_runs.quick, 1, rate=1)
    others: list[RunSpec] = [
        spec("b", tiny_runs.quick, 1, rate=1),
        spec("a", tiny_runs.quick, 2, rate=1),
        spec("a", tiny_runs.quick, 1, rate=2),
    ]
    folders = {run_folder(each, tmp_path) for each in [base, *others]}
    assert len(folders) == 4
    assert run_folder(spec("a", tiny_runs.quick, 1, rate=1), tmp_path) == run_folder(base, tmp_path)


def test_the_same_run_has_the_same_bytes(tmp_path: Path) -> None:
    one, two = (
        play_all([spec("a", tiny_runs.quick, 7)], home=tmp_path / name, jobs=jobs)[0].folder
        for name, jobs in (("one", 0), ("two", 2))
    )
    for file in one.iterdir():
        assert file.read_bytes() == (two / file.name).read_bytes(), file.name


@pytest.mark.parametrize("jobs", [0, 2])
def test_a_mistake_of_the_user_is_raised_as_a_one_line_error(tmp_path: Path, jobs: int) -> None:
    with pytest.raises(UserError, match=re.escape("rate = 9: is too high; lower it")):
        play_all([spec("a", tiny_runs.refusing)], home=tmp_path, jobs=jobs)
    assert left_behind(tmp_path) == []


def test_a_limit_that_is_reached_on_another_machine_is_the_error_of_the_run(tmp_path: Path) -> None:
    told = _error(PlannedRun.of(spec("a", tiny_runs.outgrowing), tmp_path))
    assert "ulimit -f unlimited" in told and "\n" not in told


def test_complete_runs_survive_the_failure_of_another(tmp_path: Path) -> None:
    good, bad = spec("good", tiny_runs.quick), spec("bad", tiny_runs.broken)
    with pytest.raises(TaskFailed, match=r"tiny/bad(.|\n)*ZeroDivisionError: a defect"):
        play_all([good, bad], home=tmp_path, jobs=1)
    assert is_complete_run(run_folder(good, tmp_path))
    assert left_behind(tmp_path) == []


def test_an_unfinished_run_is_reported_as_a_failure(tmp_path: Path) -> None:
    with pytest.raises(TaskFailed, match=r"the log of tiny/a, seed 1 is incomplete"):
        play_all([spec("a", tiny_runs.unfinished)], home=tmp_path, jobs=0)
    assert left_behind(tmp_path) == []


def test_a_run_whose_process_dies_is_reported_and_is_not_complete(tmp_path: Path) -> None:
    with pytest.raises(
        TaskFailed, match=r"tiny/a, seed 1 was ended by a signal \(SIGKILL, perhaps out of memory\)"
    ):
        play_all([spec("a", tiny_runs.dying)], home=tmp_path, jobs=1)
    assert not is_complete_run(run_folder(spec("a", tiny_runs.dying), tmp_path))


INTERRUPTED = """
import signal
import sys
# A shell's background job ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {here!r})
from tests.runs import tiny_runs
from pathlib import Path
from storm_lab.runs.execute import play_all
if __name__ == "__main__":
    specs = [tiny_runs.spec("quick", tiny_runs.quick), tiny_runs.spec("slow", tiny_runs.slow)]
    try:
        play_all(specs, home=Path({home!r}), jobs=1)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize("whole_group", [False, True], ids=["parent only", "as a terminal does"])
def test_an_interruption_leaves_complete_runs_and_no_incomplete_ones(
    tmp_path: Path, marks: Path, whole_group: bool
) -> None:
    script = tmp_path / "play.py"
    script.write_text(INTERRUPTED.format(here=str(Path(__file__).parents[2]), home=str(tmp_path)))
    process = subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while len(list(marks.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_behind(tmp_path) != [], "the slow run is being written"
    if whole_group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    assert left_behind(tmp_path) == []
    assert is_complete_run(run_folder(spec("quick", tiny_runs.quick), tmp_path))
    assert not run_folder(spec("slow", tiny_runs.slow), tmp_path).exists()


def test_a_run_whose_code_was_changed_after_it_was_planned_is_not_stored(tmp_path: Path, marks: Path) -> None:
    planned = PlannedRun.of(spec("a", tiny_runs.quick), tmp_path)
    planned.identity = replace(planned.identity, code_digest="that of the code before")
    with pytest.raises(
        TaskFailed, match=r"tiny/a, seed 1: its code or inputs were changed .* start it again"
    ):
        _timed(planned, lambda share: None)
    assert not list(marks.iterdir()) and not (tmp_path / "tiny").exists()
