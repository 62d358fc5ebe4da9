"""Folders for results are checked before the long work whose results they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import check_folder


def test_a_missing_folder_is_created_and_left_empty(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "b", field="out")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (Path("/proc/nothere"), tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=r"out = .*cannot be written .*name a folder"):
            check_folder(place, field="out")
