"""Where data and reports are stored, and what happens when a folder cannot be created."""

from collections.abc import Callable
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.machine import places
from storm_lab.machine.places import DATA_VARIABLE, data_folder


def test_the_folder_named_in_the_environment_is_created(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "a" / "b"))
    assert data_folder() == tmp_path / "a" / "b"
    assert data_folder().is_dir()


def test_a_folder_that_cannot_be_created_is_reported_with_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, "/proc/nothere")
    with pytest.raises(UserError, match=r"STORM_LAB_DATA = '/proc/nothere': .*; name a folder"):
        data_folder()


def test_relative_folders_are_ignored_as_the_xdg_specification_says() -> None:
    assert places.user_cache({"XDG_CACHE_HOME": "here"}) == Path.home() / ".cache" / "storm_lab"
    assert places.user_state({"XDG_STATE_HOME": "here"}) == Path.home() / ".local" / "state" / "storm_lab"


def test_a_user_without_a_home_folder_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(UserError, match="HOME: this user has no home folder; set HOME, or XDG_CACHE_HOME"):
        places.user_cache({})
    with pytest.raises(UserError, match="set HOME, or XDG_STATE_HOME"):
        places.user_state({})
    assert places.user_cache({"XDG_CACHE_HOME": "/caches"}) == Path("/caches/storm_lab")


def test_runs_and_reports_are_stored_in_the_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STORM_LAB_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    root = Path(__file__).resolve().parents[2]
    assert places.project_root() == root
    assert places.runs_folder() == root / "data" / "runs"
    assert places.reports_folder() == root / "reports"


def test_without_a_checkout_the_working_folder_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "PACKAGE", tmp_path / "site-packages" / "storm_lab")
    monkeypatch.chdir(tmp_path)
    assert places.project_root() == tmp_path


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A workspace that is also the working folder."""
    monkeypatch.delenv("STORM_LAB_DATA", raising=False)
    monkeypatch.delenv("STORM_LAB_REPORTS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_workspaces_file_determines_the_folders_of_data_and_reports(home: Path) -> None:
    (home / "storm-lab.toml").write_text('data = "mine/data"\n')
    assert data_folder() == home / "mine" / "data"
    assert data_folder().is_dir()
    assert places.reports_folder() == home / "reports"


@pytest.mark.parametrize("folder", [data_folder, places.reports_folder])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('Data = "x"', "key = 'Data': .*did you mean data[?] there are: data, reports"),
        ('dat = "x"', "key = 'dat': .*did you mean data[?] there are: data, reports"),
        ("[x]", "key = 'x': .*there are: data, reports"),
        ('data = ""', "data = '': is not the path of a folder; write a folder's path"),
        ("reports = 3", "reports = 3: is not the path of a folder; write a folder's path"),
        ("data = ", "cannot be read"),
    ],
)
def test_a_mistake_in_a_workspaces_file_is_reported(
    home: Path, folder: Callable[[], Path], text: str, said: str
) -> None:
    (home / "storm-lab.toml").write_text(text)
    with pytest.raises(UserError, match=f"^{home}/storm-lab.toml.*{said}"):
        folder()


def test_a_folder_that_cannot_be_created_is_reported_with_the_workspaces_file(home: Path) -> None:
    (home / "storm-lab.toml").write_text('data = "/proc/nothere"\n')
    with pytest.raises(UserError, match=r"storm-lab.toml, data = '/proc/nothere': .*; name a folder"):
        data_folder()
