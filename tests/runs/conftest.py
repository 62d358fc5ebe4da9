"""What several tests of runs ask for."""

from pathlib import Path

import pytest


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder that gets one file for each run that was really played."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("TINY_RUNS_MARKS", str(folder))
    return folder
