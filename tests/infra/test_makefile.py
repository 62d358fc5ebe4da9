"""The Makefile works in every folder, whatever its name."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def stamp(folder: Path) -> str:
    """Name of the file by which make knows that the environment in this folder is ready."""
    # The tests may run below another make, whose jobs this one cannot share.
    env = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS"}}
    command = ["make", "-n", "venv"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = re.search(r"--stamp (ready-\d+)$", done.stdout, re.MULTILINE)
    assert found is not None
    return found.group(1)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / 'it\'s a "$new" #1 -clone'
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("requirements.lock", "pyproject.toml"):
        (folder / name).touch()
    return folder


def test_the_stamp_belongs_to_the_folder_whatever_its_name(checkout: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkout)
    before = stamp(checkout)
    assert stamp(link) == before
    assert stamp(checkout.rename(tmp_path / "moved")) != before
