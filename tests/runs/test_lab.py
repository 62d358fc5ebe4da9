"""JupyterLab opens on copies of the templates, and copies that a reader changed are kept."""

import os
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from jupyter_server.services.config.manager import ConfigManager
from jupyterlab_server.config import get_static_page_config
from nbformat.sign import NotebookNotary

from storm_lab.errors import UserError
from storm_lab.runs.lab import init, update_copies, without_announcements
from tests.machine.full_disk import full_disk


def _notebook(text: str) -> str:
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text, id="cell")]))


@pytest.fixture(autouse=True)
def _own_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    (folder / "tstorm").mkdir(parents=True)
    (folder / "quickstart.ipynb").write_text(_notebook("one"))
    (folder / "tstorm" / "word_count.ipynb").write_text(_notebook("two"))
    return folder


def test_init_with_an_empty_name_does_not_use_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(init, [""])
    assert isinstance(said.exception, UserError)
    assert str(said.exception).startswith("folder = '': is empty; ")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def lab(templates: Path, tmp_path: Path) -> Path:
    """The folder of copies, up to date."""
    folder = tmp_path / "lab"
    assert update_copies(templates, folder) == []
    return folder


def test_every_notebook_is_copied_with_its_folder(lab: Path) -> None:
    assert (lab / "tstorm" / "word_count.ipynb").read_text() == _notebook("two")


def test_a_copy_is_trusted(lab: Path) -> None:
    assert NotebookNotary().check_signature(nbformat.read(lab / "quickstart.ipynb", as_version=4))


def test_copies_are_made_where_jupyter_cannot_keep_signatures(
    templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "file" / "jupyter"))
    assert update_copies(templates, tmp_path / "lab") == []
    assert (tmp_path / "lab" / "quickstart.ipynb").is_file()


@pytest.mark.parametrize("list_is_lost", [False, True])
def test_an_unchanged_copy_follows_its_template(templates: Path, lab: Path, list_is_lost: bool) -> None:
    if list_is_lost:
        (lab / ".templates.json").unlink()
        update_copies(templates, lab)
    (templates / "quickstart.ipynb").write_text(_notebook("newer"))
    assert update_copies(templates, lab) == []
    assert (lab / "quickstart.ipynb").read_text() == _notebook("newer")


def test_a_changed_copy_is_kept_and_named_once_its_template_is_newer(templates: Path, lab: Path) -> None:
    mine = lab / "quickstart.ipynb"
    mine.write_text("mine")
    assert update_copies(templates, lab) == []
    (templates / "quickstart.ipynb").write_text(_notebook("newer"))
    assert update_copies(templates, lab) == ["quickstart.ipynb"]
    assert mine.read_text() == "mine"
    mine.unlink()
    assert update_copies(templates, lab) == []
    assert mine.read_text() == _notebook("newer")


def test_a_folder_that_cannot_be_written_is_refused(templates: Path, tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("a file")
    with pytest.raises(UserError, match="working copies cannot be written"):
        update_copies(templates, tmp_path / "lab")


def test_a_copy_that_does_not_fit_on_the_disk_is_made_at_the_next_start(
    templates: Path, tmp_path: Path
) -> None:
    with full_disk(100), pytest.raises(UserError, match="working copies cannot be written"):
        update_copies(templates, tmp_path / "lab")
    assert update_copies(templates, tmp_path / "lab") == []
    assert (tmp_path / "lab" / "quickstart.ipynb").read_text() == _notebook("one")


def test_a_workspace_that_does_not_fit_on_the_disk_is_refused_without_naming_a_variable_that_it_ignores(
    tmp_path: Path,
) -> None:
    with full_disk(1000):
        said = CliRunner().invoke(init, [str(tmp_path / "mine")])
    assert isinstance(said.exception, UserError)
    assert str(tmp_path / "mine" / "notebooks") in str(said.exception)
    assert (
        said.exception.remedy == "make the workspace in a folder that you may write to, on a disk with room"
    )


def test_announcements_of_jupyterlab_are_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path / "mine"))
    settings = without_announcements(tmp_path / "settings")["JUPYTER_CONFIG_PATH"]
    assert settings == os.pathsep.join([str(tmp_path / "settings"), str(tmp_path / "mine")])
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", settings)
    config = get_static_page_config(level="all")
    assert config["disabledExtensions"]["@jupyterlab/apputils-extension:announcements"] is True


def test_widgets_keep_their_state_in_a_saved_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", without_announcements(tmp_path)["JUPYTER_CONFIG_PATH"])
    manager = ConfigManager(config_dir_name="labconfig")
    changed = manager.get("default_setting_overrides")
    assert changed["@jupyter-widgets/jupyterlab-manager:plugin"]["saveState"] is True
