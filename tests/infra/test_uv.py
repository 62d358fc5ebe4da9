"""The set-up with uv: when it installs the lock, and when that is left to pip."""

from __future__ import annotations

import subprocess
from pathlib import Path

import bootstrap
import pytest
from process import SetupError

PIP = ("python", "-m", "pip", "install")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of a set-up in which every program succeeds."""
    (tmp_path / "lock").write_text("numpy==2\nuv==1\n")
    commands: list[list[str]] = []

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(bootstrap, "run", run)
    monkeypatch.setattr(bootstrap, "follow", lambda command, log, names: commands.append(command))
    return commands


def test_uv_installs_the_lock(tmp_path: Path, commands: list[list[str]]) -> None:
    assert bootstrap.install_by_uv([*PIP], tmp_path, tmp_path / "lock")
    assert commands[1] == [*PIP, "uv==1"]
    assert commands[2][:3] == [str(tmp_path / "bin" / "uv"), "pip", "install"]


def test_uv_is_not_used_if_pip_has_an_index_of_its_own(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = subprocess.CompletedProcess([], 0, "global.index-url='https://mirror'\n", "")
    monkeypatch.setattr(bootstrap, "run", lambda command: told)
    assert not bootstrap.install_by_uv([*PIP], tmp_path, tmp_path / "lock")
    assert commands == []


def test_failure_of_uv_leaves_the_work_to_pip(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], log: Path, names: set[str]) -> None:
        raise SetupError("no network")

    monkeypatch.setattr(bootstrap, "follow", fail)
    assert not bootstrap.install_by_uv([*PIP], tmp_path, tmp_path / "lock")
