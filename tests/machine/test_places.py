"""Where things lie, and what happens when a folder cannot be had."""

import pytest

from storm_lab.errors import UserError
from storm_lab.machine.places import DATA_VARIABLE, data_folder


def test_the_folder_that_the_environment_names_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "a" / "b"))
    assert data_folder() == tmp_path / "a" / "b"
    assert data_folder().is_dir()


def test_a_folder_that_cannot_be_made_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, "/proc/nothere")
    with pytest.raises(UserError, match=r"STORM_LAB_DATA = '/proc/nothere': .*; name a folder"):
        data_folder()
