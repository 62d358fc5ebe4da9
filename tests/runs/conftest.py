"""Fixtures that several tests of runs use."""

from pathlib import Path

import pytest


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that gets one file for each run that was actually played."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("TINY_RUNS_MARKS", str(folder))
    return folder
