"""An executed notebook is stale when code has changed that its cells, its claims or its page use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from storm_lab.identity.closure import PACKAGE, Code
from storm_lab.papers.registry import experiments
from storm_lab.runs.notebook import notebook_digest, notebooks_folder

Edit = Callable[[str, str, str], Code]
ROOT = ("storm_lab.papers.twitter.semantics", "EXPERIMENT")


def digest(code: Code | None = None) -> str:
    with pytest.MonkeyPatch.context() as patch:
        if code is not None:
            patch.setattr("storm_lab.runs.notebook.own_code", lambda: code)
        return notebook_digest(notebooks_folder() / "twitter" / "semantics.ipynb", "study", ROOT)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("papers/twitter/semantics.py", r"^def measure\(.*$", r"\g<0>\n    print()"),
        ("papers/twitter/semantics.py", r"^def delivery\(", r"X = 1\ndef delivery(*, "),
        ("reporting/figures/style.py", r"^def house_style\(", r"@cache\n\g<0>"),
        ("pipeline/latency.py", r"^def after_warm_up\(", r"@cache\n\g<0>"),
        ("reporting/notebook_page.py", r"^LONG = 20", "LONG = 21"),
    ],
)
def test_code_that_a_notebook_uses_makes_it_stale(edited: Edit, file: str, old: str, new: str) -> None:
    assert digest(edited(file, old, new)) != digest()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("runs/sweep_command.py", r"^import click", "# A word.\nimport click"),
        ("runs/sweep_command.py", "Set a parameter.", "One parameter."),
        ("runs/study.py", r"^_CELL = 44", "# A word.\n_CELL = 44"),
        ("runs/reproduce_command.py", r"^import click", "import click\nX = 1"),
        ("papers/rstorm/yahoo.py", r"^def runs\(", "def runs(*, "),
        ("reporting/report.py", r"^def write_report\(", "def write_report(*, "),
        ("schedulers/cases/commands.py", "Name of the policy.", "The policy."),
    ],
)
def test_code_that_a_notebook_does_not_use_leaves_it_current(
    edited: Edit, file: str, old: str, new: str
) -> None:
    assert digest(edited(file, old, new)) == digest()


@pytest.mark.parametrize("name", ["notebook.html.j2", "notebook.css"])
def test_a_change_of_the_pages_template_or_style_makes_a_notebook_stale(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = digest(Code())
    read = Path.read_bytes
    place = PACKAGE / "reporting" / "templates" / name
    assert place.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"\n" * (path == place))
    assert digest(Code()) != before


def test_every_template_has_a_digest() -> None:
    for found in experiments():
        assert notebook_digest(notebooks_folder() / found.notebook, "study")
