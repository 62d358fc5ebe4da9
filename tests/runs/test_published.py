"""A finished notebook counts as current once its results have reached the reports folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from storm_lab.runs import reproduce as reproducing
from storm_lab.runs.reproduce import reproduce
from storm_lab.runs.study import Study

SLUG = "nstorm-worst-case"


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of data and reports of their own, in which the experiment's results were not published."""
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("STORM_LAB_REPORTS", str(tmp_path / "reports"))

    def fail(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reproducing, "_publish", fail)
        with pytest.raises(KeyboardInterrupt):
            reproduce([Study.of(SLUG)], jobs=1)
    return tmp_path / "reports"


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
