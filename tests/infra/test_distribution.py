"""The wheel works without a checkout: it is complete, and results go to the working folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from storm_lab import __version__

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = (
    "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "requirements.lock", "mkdocs.yml",
    "storm_lab", "notebooks", "data/calibration", "reports/figures/tstorm-word-count",
)  # fmt: skip
_BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, "build_" + sys.argv[1])(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that a build reads, because a build leaves files behind in its folder."""
    folder = tmp_path_factory.mktemp("sources")
    for name in _SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(sources: Path) -> Path:
    return _built(sources, "wheel")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's packages, unpacked as pip does it."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def _built(sources: Path, kind: str) -> Path:
    command = [sys.executable, "-c", _BUILD, kind, str(sources / "dist")]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return sources / "dist" / done.stdout.split()[-1]


def storm_lab(installed: Path, folder: Path, *arguments: str) -> str:
    """Run the installed program in a folder and return its output."""
    overriding = ("STORM_LAB_DATA", "STORM_LAB_REPORTS")
    environment = {name: value for name, value in os.environ.items() if name not in overriding}
    program = "import sys; from storm_lab.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_contains_every_file_of_the_package_and_every_notebook(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "storm_lab").rglob("*")
        if path.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts)
        and path.suffix not in (".nbi", ".nbc")
    }  # fmt: skip
    templates = {path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").rglob("*.ipynb")}
    templates = {name for name in templates if ".ipynb_checkpoints" not in name}
    wanted = package | {f"storm_lab/shipped/{name}" for name in templates}
    assert not wanted - names
    assert f"storm_lab-{__version__}" in wheel.name


def test_the_sdist_contains_the_files_that_wheel_and_documentation_are_built_from(sources: Path) -> None:
    with tarfile.open(_built(sources, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("setup.py", "notebooks/quickstart.ipynb", "storm_lab/reporting/templates/report.css"):
        assert wanted in names
    assert {"data/calibration/constants.json", "mkdocs.yml"} <= names
    pictures = re.findall(r"\]\((reports/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert pictures and set(pictures) <= names


def test_init_makes_a_workspace_that_is_found_from_its_subfolders(installed: Path, tmp_path: Path) -> None:
    storm_lab(installed, tmp_path, "init", "mine")
    home = tmp_path / "mine"
    assert (home / "notebooks" / "quickstart.ipynb").is_file()
    (home / "storm-lab.toml").write_text('data = "elsewhere"\n')
    storm_lab(installed, home / "notebooks" / "tstorm", "init", str(home))
    assert (home / "storm-lab.toml").read_text() == 'data = "elsewhere"\n'
    listed = storm_lab(
        installed, home / "notebooks", "list", "twitter-semantics", "--runs", "--json", "-p", "seeds=1"
    )
    assert str(home / "elsewhere" / "runs") in listed


def test_without_a_workspace_results_go_to_the_working_folder(installed: Path, tmp_path: Path) -> None:
    listed = storm_lab(installed, tmp_path, "list", "twitter-semantics", "--runs", "--json")
    assert str(tmp_path / "data" / "runs") in listed


@pytest.mark.slow
def test_an_experiment_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    storm_lab(installed, tmp_path, "reproduce", "nstorm-worst-case")
    assert (tmp_path / "reports" / "index.html").is_file()
    assert (tmp_path / "reports" / "notebooks" / "nstorm-worst-case.html").is_file()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("twine") is None, reason="twine is not there; it comes with make dist")
def test_the_wheel_and_the_sdist_pass_twine(sources: Path, wheel: Path) -> None:
    files = [str(wheel), str(_built(sources, "sdist"))]
    done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=False)
    assert done.returncode == 0
