"""The names that the documentation's Python examples import exist."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def imported(page: Path) -> list[tuple[str, str]]:
    """Return the names that the Python blocks of a page import, each after its module of the package."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [
        (node.module, alias.name)
        for block in blocks
        if "from storm_lab" in block
        for node in ast.walk(ast.parse(dedent(block)))
        if isinstance(node, ast.ImportFrom) and node.module is not None
        if node.module.split(".")[0] == "storm_lab"
        for alias in node.names
    ]


EXAMPLES = sorted({(page.name, *each) for page in PAGES for each in imported(page)})


def test_pages_have_examples() -> None:
    assert {page for page, *_ in EXAMPLES} >= {"live.md", "live-suite.md", "sweeps.md"}


@pytest.mark.parametrize(("page", "module", "name"), EXAMPLES, ids=[".".join(each) for each in EXAMPLES])
def test_a_name_that_an_example_imports_exists(page: str, module: str, name: str) -> None:
    assert hasattr(import_module(module), name), f"{page} imports {name} from {module}"
