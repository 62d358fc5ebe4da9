"""The documentation's Python examples: what they import exists, and their schedulers keep the contract."""

from __future__ import annotations

import ast
import json
import re
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from storm_lab.league.contract_check import CASES, ContractCase, check
from storm_lab.schedulers import Scheduler

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


def schedulers() -> list[type[Scheduler[Any]]]:
    """Return the schedulers that the pages and the notebook on one's own scheduler show in full."""
    notebook = json.loads((ROOT / "notebooks" / "your_own_scheduler.ipynb").read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        sources += re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found: list[type[Scheduler[Any]]] = []
    for source in sources:
        if re.search(r"^class \w+\(Scheduler\b", source, re.MULTILINE):
            names: dict[str, object] = {}
            exec(compile(source, "example", "exec", dont_inherit=True), names)
            found += [
                item for item in names.values() if isinstance(item, type) and issubclass(item, Scheduler)
            ]
    return [item for item in found if item is not Scheduler]


SCHEDULERS = schedulers()


def test_pages_have_schedulers() -> None:
    assert {item.name for item in SCHEDULERS} >= {"fewest-nodes", "first-slots", "few-nodes", "one-worker"}


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kind", SCHEDULERS, ids=[item.name for item in SCHEDULERS])
def test_a_scheduler_that_a_page_shows_keeps_the_contract(
    kind: type[Scheduler[Any]], case: ContractCase
) -> None:
    check(kind(), case)
