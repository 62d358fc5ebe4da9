"""What a run of a user's scheduler leaves in its classes and modules does not reach the next run."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant, fresh_copy
from storm_lab.league.field import entrant_of
from storm_lab.league.stage import stage_runs
from storm_lab.papers.tstorm.word_count_stage import STAGE
from storm_lab.schedulers import NoParameters, Scheduler, SchedulingResult, SchedulingView, make_scheduler
from storm_lab.schedulers.contract import SchedulingView as View

LEAKS = """
from helper_of_leaks import SEEN
from storm_lab.schedulers import NoParameters, Scheduler

COUNT = 0


class Leaks(Scheduler[NoParameters]):
    name, version = "leaks", "1"
    used = []

    def schedule(self, view, kept=[]):
        global COUNT
        COUNT += 1
        for place in (self.used, kept, SEEN):
            place.append(1)
        return COUNT, len(self.used), len(kept), len(SEEN)
"""


@pytest.fixture
def leaks(folder: Path) -> Scheduler[NoParameters]:
    (folder / "leaks.py").write_text(LEAKS)
    (folder / "helper_of_leaks.py").write_text("SEEN = []\n")
    return entrant_of(f"{folder}/leaks.py:Leaks").scheduler


def described(entrant: Entrant) -> Scheduler[NoParameters]:
    (spec,) = stage_runs(STAGE, [entrant], {"seeds": [1]})
    return spec.describe(spec).scheduler


@pytest.mark.parametrize("in_worker", [False, True])
def test_every_run_finds_class_attributes_globals_and_defaults_as_imported(
    leaks: Scheduler[NoParameters], in_worker: bool, monkeypatch: pytest.MonkeyPatch, view: View
) -> None:
    if in_worker:
        monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    leaks.kept = "mine"  # type: ignore[attr-defined]
    entrant = Entrant("leaks", leaks)
    task = pickle.dumps(entrant)
    for _ in range(3):
        copy = described(pickle.loads(task) if in_worker else entrant)
        assert copy.kept == "mine"  # type: ignore[attr-defined]
        assert [copy.schedule(view) for _ in range(2)] == [(1, 1, 1, 1), (2, 2, 2, 2)]
    assert (sys.modules["leaks"].Leaks is type(leaks)) == (not in_worker)


@pytest.fixture
def view() -> View:
    (spec,) = stage_runs(STAGE, [Entrant("even", make_scheduler("even"))], {"seeds": [1]})
    run = spec.describe(spec)
    return View(tuple(plan.topology for plan in run.topologies), run.cluster, run.version)


def test_a_file_that_changes_between_two_runs_is_refused(
    leaks: Scheduler[NoParameters], folder: Path
) -> None:
    fresh_copy(leaks)
    (folder / "helper_of_leaks.py").write_text("SEEN = [1]\n")
    with pytest.raises(UserError, match=r"'leaks': helper_of_leaks\.py has changed while .*; start again"):
        fresh_copy(leaks)


def test_a_module_that_cannot_be_imported_twice_is_refused_with_its_line(folder: Path) -> None:
    once = "import builtins\nassert not hasattr(builtins, 'was_here')\nbuiltins.was_here = True\n"
    (folder / "helper_of_leaks.py").write_text(once + "SEEN = []\n")
    (folder / "leaks.py").write_text(LEAKS)
    try:
        mine = entrant_of(f"{folder}/leaks.py").scheduler
        with pytest.raises(UserError, match=r"a second time.*AssertionError.*helper_of_leaks\.py, line 2"):
            fresh_copy(mine)
    finally:
        vars(__import__("builtins")).pop("was_here", None)
    assert sys.modules["leaks"].Leaks is type(mine), "it is put back"


def test_the_projects_own_schedulers_and_local_classes_are_only_copied() -> None:
    class Local(Scheduler[NoParameters]):
        name, version = "local", "1"

        def schedule(self, view: SchedulingView) -> SchedulingResult:
            raise NotImplementedError

    for scheduler in (make_scheduler("rstorm"), Local()):
        copy = fresh_copy(scheduler)
        assert type(copy) is type(scheduler) and copy is not scheduler


def test_a_scheduler_of_a_notebook_whose_class_a_run_has_changed_is_refused() -> None:
    space: dict[str, object] = {"__name__": "__main__"}
    exec(LEAKS.replace("from helper_of_leaks import SEEN", "SEEN = []"), space)
    make: Callable[[], Scheduler[NoParameters]] = space["Leaks"]  # type: ignore[assignment]
    entrant = Entrant("leaks", make())
    described(entrant)
    space["Leaks"].used.append(1)  # type: ignore[attr-defined]
    with pytest.raises(UserError, match=r"'leaks': its class, .* keep state in self"):
        described(entrant)
    described(Entrant("leaks", make()))
