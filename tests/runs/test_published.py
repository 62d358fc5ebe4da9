"""A finished notebook counts as current once its results have reached the reports folder undamaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.reporting.record import VerdictFile, write_verdicts
from storm_lab.reporting.report import _figures
from storm_lab.runs import reproduce as reproducing
from storm_lab.runs.prepare import Prepared
from storm_lab.runs.publish import has_own_verdicts, is_published, publish
from storm_lab.runs.reproduce import reproduce
from storm_lab.runs.study import Study

SLUG = "nstorm-worst-case"


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of reports, which like that of data belongs to the test."""
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STORM_LAB_REPORTS", str(tmp_path / "reports"))
    return tmp_path / "reports"


@pytest.fixture
def played(reports: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of reports, in which the experiment's results were not published."""

    def fail(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reproducing, "publish", fail)
        with pytest.raises(KeyboardInterrupt):
            reproduce([Study.of(SLUG)], jobs=1)
    return reports


@pytest.mark.slow
@pytest.mark.spark
def test_results_that_were_not_published_or_are_gone_are_made_again(played: Path) -> None:
    assert not (played / "verdicts").exists()
    (done,) = reproduce([Study.of(SLUG)], jobs=1)
    assert not done.reused and done.verdicts.is_file()
    (again,) = reproduce([Study.of(SLUG)], jobs=1)
    assert again.reused
    shutil.rmtree(played / "figures" / SLUG)
    (restored,) = reproduce([Study.of(SLUG)], jobs=1)
    assert not restored.reused and list((played / "figures" / SLUG).iterdir())


@pytest.mark.parametrize(
    "damaged", [f"verdicts/{SLUG}.json", f"documents/{SLUG}.json", f"figures/{SLUG}/figure.svg"]
)
@pytest.mark.parametrize("content", [None, "{", "{}"])
def test_published_files_that_are_damaged_or_gone_do_not_count(
    reports: Path, damaged: str, content: str | None
) -> None:
    study = Study.of(SLUG)
    for name in (f"verdicts/{SLUG}.json", f"documents/{SLUG}.json", f"figures/{SLUG}/figure.svg"):
        write_atomic(study.workspace / name, '{"code_digest": "a", "seeds": []}')
        write_atomic(reports / name, '{"code_digest": "a", "seeds": []}')
    write_atomic(study.workspace / "published", "stamp")
    # Equal verdicts are not published again if only the code that measured them is another.
    write_atomic(reports / f"verdicts/{SLUG}.json", '{"code_digest": "b", "seeds": []}')
    assert is_published(study, "stamp")
    assert not is_published(study, "another stamp")
    (reports / damaged).unlink() if content is None else (reports / damaged).write_text(content)
    assert not is_published(study, "stamp")


def test_damaged_verdicts_of_a_study_are_made_again(reports: Path) -> None:
    study = Study.of(SLUG)
    assert not has_own_verdicts(study)
    write_verdicts(study.workspace / "verdicts", VerdictFile(SLUG, {}, (), "", ()))
    assert has_own_verdicts(study)
    write_atomic(study.workspace / f"verdicts/{SLUG}.json", "{")
    assert not has_own_verdicts(study)


def test_figures_that_a_killed_process_was_publishing_stay_out_of_the_report_and_are_removed(
    reports: Path,
) -> None:
    study = Study.of(SLUG)
    write_verdicts(study.workspace / "verdicts", VerdictFile(SLUG, {}, (), "", ()))
    write_atomic(study.workspace / f"figures/{SLUG}/figure.svg", "<svg/>")
    leftover = reports / "figures" / f".{SLUG}.1.part"
    write_atomic(leftover / "figure.svg", "<svg")
    assert _figures(reports / "figures") == []
    publish(study, "stamp")
    assert [path.name for path in (reports / "figures").iterdir()] == [SLUG]


def test_a_notebook_that_leaves_no_verdicts_does_not_keep_others_from_being_published(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies = [Study.of("algorithms"), Study.of(SLUG)]

    def execute_both(
        *given: object, on_side_progress: Callable[[int, float], None], **more: object
    ) -> Prepared:
        write_verdicts(studies[1].workspace / "verdicts", VerdictFile(SLUG, {}, (), "", ()))
        for place in (0, 1):
            on_side_progress(place, 1.0)
        return Prepared(((), ()), 0.0, {})

    monkeypatch.setattr(reproducing, "prepare", execute_both)
    with pytest.raises(UserError, match="algorithms: the notebook left no verdicts"):
        reproduce(studies)
    assert [path.stem for path in (reports / "verdicts").iterdir()] == [SLUG]
