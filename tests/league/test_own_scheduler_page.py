"""The commands of the page about writing one's own scheduler work as written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "own-scheduler.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.strip().splitlines()
]
PROGRAMS = {
    "storm-lab": [sys.executable, "-c", "from storm_lab.cli import main; main()"],
    "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
}


def output_of(command: str, folder: Path) -> str:
    """Run a command of the page in a folder and return its output."""
    program, *arguments = shlex.split(command)
    done = subprocess.run(
        [*PROGRAMS[program], *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "STORM_LAB_DATA": str(folder / "data"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_the_commands_of_the_page_lead_to_tables_for_latex(tmp_path: Path) -> None:
    said = {command: output_of(command, tmp_path) for command in COMMANDS}
    by_start = {command.split(" --")[0]: text for command, text in said.items()}
    assert "9 passed" in by_start["pytest -q test_my_idea.py"]
    league = [text for command, text in said.items() if command.startswith("storm-lab league")]
    assert any("my-idea" in text and "mean rank" in text for text in league)
    assert any(re.search(r"my-idea (is|nor)|neither my-idea", text) for text in said.values())
    listed = re.findall(r"`([\w-]+\.(?:csv|tex|svg|txt|ipynb))`", PAGE)
    assert {"standing.tex", "cases.tex", "critical-difference.svg"} <= set(listed)
    for name in listed:
        assert (tmp_path / "first" / name).is_file(), name
    table = (tmp_path / "first" / "standing.tex").read_text()
    assert r"\toprule" in table and "my-idea" in table
    again = output_of(next(command for command in COMMANDS if "--out first" in command), tmp_path)
    assert "6 of 6 runs existed already" in again


def test_every_command_of_the_page_exists() -> None:
    from storm_lab.cli import cli

    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        if program == "storm-lab":
            assert arguments[0] in cli.list_commands(None)  # type: ignore[arg-type]
