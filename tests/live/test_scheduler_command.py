"""Finding a scheduler for a reader's own cluster."""

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.live.scheduler_command import find_scheduler

_FILE = """
from dataclasses import dataclass
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

class Other:
    pass
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bridge_test_idea.py"
    path.write_text(_FILE)
    return path


def test_a_policy_is_found_by_its_name():
    assert find_scheduler("tstorm", ["gamma=2"]).parameters.gamma == 2


def test_a_class_is_found_in_a_file(file: Path):
    assert find_scheduler(f"{file}:Mine", ["size=5"]).parameters.size == 5


def test_a_class_is_found_in_a_module_of_the_working_folder(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(file.parent)
    assert find_scheduler("bridge_test_idea:Mine").name == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing-of-the-kind", "no such scheduler"),
        ("{file}:Nobody", "has no such class"),
        ("{file}:Other", "not a subclass"),
        ("/nowhere/at/all.py:Mine", "no such file"),
        ("no_such_module_at_all:Mine", "cannot be imported"),
    ],
)
def test_what_cannot_be_found_is_said_in_one_line(file: Path, name: str, said: str):
    with pytest.raises(UserError, match=said) as caught:
        find_scheduler(name.format(file=file))
    assert "\n" not in str(caught.value)


def test_a_file_that_does_not_run_is_said_in_one_line(tmp_path: Path):
    (tmp_path / "broken_idea.py").write_text("1/0\n")
    with pytest.raises(UserError, match="ZeroDivisionError"):
        find_scheduler(f"{tmp_path / 'broken_idea.py'}:Mine")
