"""The page on importing shows what the command prints."""

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from storm_lab.league.imported_site import imported_site
from storm_lab.model.machines import MACHINE_TYPES, TESTBEDS
from storm_lab.workloads.importers import import_topology
from storm_lab.workloads.importers.command import import_command
from storm_lab.workloads.importers.figures import Defaults

PAGE = (Path(__file__).parents[2] / "docs" / "importing.md").read_text(encoding="utf-8")
FILES = re.findall(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)```", PAGE, flags=re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"```console\n\$ storm-lab import (.*?)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page."""
    for name, text in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_format_has_an_example() -> None:
    assert len(COMMANDS) >= 6


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(folder: Path, command: str, output: str) -> None:
    result = CliRunner().invoke(import_command, shlex.split(command))
    assert result.exit_code == 0
    assert result.output == output


def test_the_python_of_the_page_works(folder: Path) -> None:
    imported = import_topology("crawl.yaml", overlay="crawl-figures.yaml", machines="tstorm-section-v")
    assert imported_site(imported).cluster == TESTBEDS["tstorm-section-v"].cluster


def test_names_and_defaults_of_the_page_are_those_of_the_code() -> None:
    defaults = Defaults()
    for figure in (
        f"{defaults.cost_us:g} us on a 2.0 GHz",
        f"| {defaults.bytes} bytes |",
        f"| {defaults.keys.distinct}, all alike |",
        f"| {defaults.rate_per_s:g} records/s |",
    ):
        assert figure in PAGE
    for name in TESTBEDS:
        assert f"`{name}`" in PAGE
    named = PAGE[PAGE.index("Types by name") :]
    for name in MACHINE_TYPES:
        assert name in named or name.startswith("mfstorm-") or name == "m5.xlarge" or name == "m5.2xlarge"


def test_json_of_the_page_is_valid() -> None:
    for name, text in FILES:
        if name.endswith(".json"):
            json.loads(text)
