"""A reader's own scheduler: the starter file, how it is found, and the contract that it must keep."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.league.contract_check import CASES, ContractCase, check
from storm_lab.league.entrant import Entrant
from storm_lab.league.field import RUNS_ON_MEASURED_LOAD, entrant_of, field
from storm_lab.league.stage import stage_runs
from storm_lab.league.starter import starter_files, write_starter
from storm_lab.model import Assignment
from storm_lab.papers.tstorm.word_count_stage import STAGE
from storm_lab.runs.digest import identity_of
from storm_lab.schedulers import SchedulingResult, SchedulingView, TopologyStatus, make_scheduler
from storm_lab.schedulers.scheduler_file import scheduler_of
from tests.machine.full_disk import full_disk
from tests.schedulers.clusters import OWN
from tests.schedulers.test_ask import Mine


def test_the_starter_keeps_the_contract_and_is_found(folder: Path) -> None:
    write_starter("first-idea", folder)
    for given, nodes in (("", 4), (":nodes=2", 2)):
        policy = scheduler_of(f"{folder}/first_idea.py:FirstIdea{given}")
        assert (policy.name, policy.parameters.nodes) == ("first-idea", nodes)
        for case in CASES:
            check(policy, case)
    assert scheduler_of(f"{folder}/first_idea.py").name == "first-idea"


@pytest.mark.slow
def test_the_starters_own_test_passes_with_pytest(folder: Path) -> None:
    write_starter("my-idea", folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_idea.py"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(CASES)} passed" in done.stdout


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("mine")
    written = write_starter("my-idea", tmp_path)
    assert [path.name for path in written] == ["my_idea.py", "test_my_idea.py"]
    assert (tmp_path / "pyproject.toml").read_text() == "mine"
    with pytest.raises(UserError, match="already exists"):
        write_starter("my-idea", tmp_path)


def test_files_that_do_not_fit_on_the_disk_leave_nothing_behind(tmp_path: Path) -> None:
    room = len(starter_files("my-idea")["my_idea.py"]) - 1
    with full_disk(room), pytest.raises(OSError, match="File too large"):
        write_starter("my-idea", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["", "My", "9lives", "a b", "class", "../x"], "not a valid name for a scheduler"),
        (["json", "storm-lab", "pytest", "numpy"], "another module has this name"),
        (["default", "tstorm-initial", "tstorm_initial"], "another scheduler has this name"),
    ],
)
def test_names_that_the_module_cannot_have_are_refused(names: list[str], said: str) -> None:
    for name in names:
        with pytest.raises(UserError, match=said):
            starter_files(name)


@pytest.mark.parametrize("name", [name for name in sorted(RUNS_ON_MEASURED_LOAD) if name != "optimal"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_built_in_policies_keep_the_contract(name: str, case: ContractCase) -> None:
    check(make_scheduler(name), case)


def place_nothing(view: SchedulingView) -> SchedulingResult:
    return SchedulingResult(Assignment(), {t.id: TopologyStatus(False, "so") for t in view.topologies})


def place_by_chance(view: SchedulingView) -> SchedulingResult:
    slots = random.sample(view.usable_slots, len(view.usable_slots))
    executors = [e for own in view.executors.values() for e in own]
    placed = Assignment.of((e, slots[n % len(slots)]) for n, e in enumerate(executors))
    return SchedulingResult(placed, {t.id: TopologyStatus(True, "so") for t in view.topologies})


def change_the_view(view: SchedulingView) -> SchedulingResult:
    view.executors.clear()  # type: ignore[attr-defined]
    return place_nothing(view)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (place_nothing, r"it placed nothing \(so\), a topology that is new"),
        (place_by_chance, "two answers"),
        (change_the_view, "the view is read-only"),
    ],
)
def test_a_scheduler_that_breaks_the_contract_fails_the_check(
    answer: Callable[[SchedulingView], SchedulingResult], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        check(Mine(answer), CASES[0])


def test_built_in_policies_run_online_only_if_they_need_measured_load() -> None:
    assert set(RUNS_ON_MEASURED_LOAD) == set(OWN)
    assert entrant_of("tstorm").online and not entrant_of("rstorm").online
    entrants = field(["online:tstorm:gamma=1.2"], ["default"])
    assert [(e.name, e.online) for e in entrants] == [("tstorm-gamma1.2-online", True), ("default", False)]


def test_editing_the_readers_file_or_a_module_that_it_imports_gives_another_run(folder: Path) -> None:
    write_starter("my-idea", folder)
    (folder / "helpers.py").write_text("FACTOR = 2\n")
    source = folder / "my_idea.py"
    text = source.read_text()
    source.write_text(text.replace("from storm_lab.model", "import helpers\nfrom storm_lab.model", 1))

    def run_of(entrant: Entrant) -> str:
        (spec,) = stage_runs(STAGE, [entrant], {"seeds": [1]})
        return identity_of(spec).run

    entrant = entrant_of(f"{source}:MyIdea")
    before = run_of(entrant)
    assert run_of(entrant) == before
    (folder / "helpers.py").write_text("FACTOR = 3\n")
    after_helper = run_of(entrant)
    source.write_text(source.read_text().replace("no free slot", "no room"))
    assert len({before, after_helper, run_of(entrant)}) == 3


_MINE = """
import threading

from storm_lab.schedulers import NoParameters, Scheduler


class Mine(Scheduler[NoParameters]):
    name, version = "mine", "1"

    def __init__(self, parameters=None):
        super().__init__(parameters)
        self.kept = None

    def schedule(self, view):
        return None
"""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("self.kept = None", "self.kept = threading.Lock()", "cannot be copied for each run (TypeError"),
        ("self.kept = None", "self.kept = lambda x: x", "cannot be copied for each run"),
        ("self.kept = None", "raise SystemExit(4)", "it cannot be created: SystemExit: 4"),
        ("import threading", "raise SystemExit(4)", "it cannot be imported: SystemExit: 4"),
        ('name, version = "mine"', 'name, version = "../mine"', "'../mine' cannot be used as a file name"),
    ],
)
def test_a_scheduler_that_cannot_be_imported_created_named_or_copied_is_refused(
    folder: Path, before: str, after: str, said: str
) -> None:
    assert before in _MINE
    (folder / "odd_one.py").write_text(_MINE.replace(before, after))
    with pytest.raises(UserError) as refused:
        entrant_of(f"{folder}/odd_one.py:Mine")
    assert said in str(refused.value)


def test_a_parameter_that_is_a_path_does_not_put_files_elsewhere(folder: Path) -> None:
    knobs = "@dataclass(frozen=True)\nclass Knobs:\n    table: str = ''\n\n"
    text = _MINE.replace("class Mine", f"{knobs}class Mine").replace(
        "    def __init__", "    Parameters = Knobs\n\n    def __init__"
    )
    (folder / "with_table.py").write_text(f"from dataclasses import dataclass\n{text}")
    assert entrant_of(f"{folder}/with_table.py:Mine:table=../a/b").name == "mine-table..-a-b"
    with pytest.raises(UserError, match="more than 200 bytes; shorten"):
        entrant_of(f"{folder}/with_table.py:Mine:table={'a' * 200}")


def test_a_built_in_policy_that_is_given_twice_plays_once() -> None:
    assert [entrant.name for entrant in field(["tstorm"], ["default", "tstorm"])] == ["tstorm", "default"]
