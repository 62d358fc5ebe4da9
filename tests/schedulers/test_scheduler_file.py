"""Finding a scheduler: by the name of its policy, in a file, or in a module of the working folder."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from storm_lab.errors import UserError
from storm_lab.schedulers.cases.commands import explain, schedule
from storm_lab.schedulers.scheduler_file import scheduler_of

_FILE = """
from dataclasses import dataclass
from storm_lab.schedulers.baselines.random_placement import RandomScheduler
from storm_lab.schedulers.contract import Scheduler, SchedulingResult

@dataclass(frozen=True)
class Knobs:
    size: int = 3

class Mine(Scheduler[Knobs]):
    name = "mine"
    version = "1"
    Parameters = Knobs

    def schedule(self, view):
        return SchedulingResult(view.present, {})

class Dice(RandomScheduler):
    name = "dice"

class Other:
    pass
"""

CASE = json.dumps(
    {
        "name": "one",
        "input": {
            "supervisors": [{"id": "n1", "host": "h1", "ports": [6700]}],
            "topologies": [{"id": "t-1-1", "workers": 1, "ackers": 0, "components": [{"id": "a", "par": 1}]}],
        },
    }
)


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "own_idea.py"
    path.write_text(_FILE)
    return path


def test_a_policy_is_found_by_its_name() -> None:
    assert scheduler_of("tstorm", ["gamma=2"]).parameters.gamma == 2
    assert scheduler_of("tstorm:gamma=3").parameters.gamma == 3


def test_a_class_is_found_in_a_file(file: Path) -> None:
    assert scheduler_of(f"{file}:Mine", ["size=5"]).parameters.size == 5
    assert scheduler_of(f"{file}:Mine:size=6").parameters.size == 6


def test_a_class_is_found_in_a_module_of_the_working_folder(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    assert scheduler_of("own_idea:Mine").name == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing-of-the-kind", "no such scheduler"),
        ("{file}", "does not have exactly one scheduler; name one after a colon: .*Mine"),
        ("{file}:Nobody", "has no scheduler Nobody"),
        ("{file}:Other", "has no scheduler Other"),
        ("{file}:Mine:depth=1", "depth"),
        ("/nowhere/at/all.py:Mine", "no such file.*storm-lab new scheduler"),
        ("no_such_module_at_all:Mine", "cannot be imported"),
        ("tstorm:gamma", "the parameter has no value; write tstorm:gamma=VALUE"),
        ("tstorm:gama", "write tstorm:gama=VALUE"),
    ],
)
def test_a_scheduler_that_cannot_be_found_is_refused_in_one_line(file: Path, name: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        scheduler_of(name.format(file=file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class A(:\n  pass", r"it is not valid Python: .*idea\.py, line 1"),
        ("import nowhere_at_all", r"cannot be imported: ModuleNotFoundError.*idea\.py, line 1"),
        ("1/0", r"cannot be imported: ZeroDivisionError.*idea\.py, line 1"),
        ("x = 1", "does not have exactly one scheduler; write a subclass of Scheduler"),
    ],
)
def test_a_file_without_a_scheduler_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / "idea.py").write_text(text)
    with pytest.raises(UserError, match=message):
        scheduler_of(f"{folder}/idea.py")


@pytest.mark.parametrize("module", ["json", "__main__"])
def test_a_file_named_like_another_module_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    # As in a program that is started by its path.
    monkeypatch.setattr("__main__.__spec__", None)
    (folder / f"{module}.py").write_text("")
    with pytest.raises(UserError, match=r"another module has the name of the file: .*; rename the file"):
        scheduler_of(f"{folder}/{module}.py")


def test_schedule_and_explain_accept_a_users_own_scheduler(file: Path) -> None:
    for command in (schedule, explain):
        done = CliRunner().invoke(command, ["-", "--scheduler", f"{file}:Dice"], input=CASE)
        assert done.exit_code == 0, done.output
        assert "n1:6700" in done.output


@pytest.mark.parametrize(
    ("command", "options"), [(schedule, ()), (explain, ("--json",)), (explain, ("--csv",))]
)
def test_the_output_of_a_scheduler_stays_out_of_the_answers(
    file: Path, command: click.Command, options: tuple[str, ...]
) -> None:
    quiet = CliRunner().invoke(command, ["-", "--scheduler", f"{file}:Dice", *options], input=CASE)
    loud = file.with_name("loud_idea.py")
    loud.write_text(
        "from storm_lab.schedulers.baselines.random_placement import RandomScheduler\n"
        "print('said on import')\n"
        "class Dice(RandomScheduler):\n"
        "    name = 'dice'\n"
        "    def __init__(self, parameters):\n"
        "        print('said when made')\n"
        "        super().__init__(parameters)\n"
        "    def schedule(self, view):\n"
        "        print('said when asked')\n"
        "        return super().schedule(view)\n"
    )
    done = CliRunner().invoke(command, ["-", "--scheduler", f"{loud}:Dice", *options], input=CASE)
    assert (done.exit_code, done.stdout) == (0, quiet.stdout)
    assert done.stderr.splitlines() == ["said on import", "said when made", "said when asked"]


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ("decisions=None", "decisions is None, not a sequence"),
        ("decisions=[('a', 'b')]", r"\('a', 'b'\) is not a Decision"),
        ("decisions=[Decision(None, None, ('n1',))]", "'n1' is not a Candidate"),
        ("decisions=[Decision(None, None, (Candidate(None, 'high'),))]", "the score 'high' is not a number"),
        ("notes=None", "notes is None, not a mapping"),
    ],
)
def test_reasons_of_the_wrong_type_are_refused_in_one_line(folder: Path, reasons: str, said: str) -> None:
    (folder / "odd_reasons.py").write_text(
        "from dataclasses import replace\n"
        "from storm_lab.schedulers import Candidate, Decision\n"
        "from storm_lab.schedulers.baselines.random_placement import RandomScheduler\n\n\n"
        "class Odd(RandomScheduler):\n"
        "    def schedule(self, view):\n"
        f"        return replace(super().schedule(view), {reasons})\n"
    )
    answered = CliRunner().invoke(explain, ["-", "--scheduler", f"{folder}/odd_reasons.py:Odd"], input=CASE)
    assert isinstance(answered.exception, UserError)
    with pytest.raises(UserError, match=f"cannot be explained: {said}"):
        raise answered.exception
