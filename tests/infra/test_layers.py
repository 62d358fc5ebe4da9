"""Imports run downwards only: every package of `storm_lab` imports only the packages below it.

To add a package, add a line to the table. Think twice before you add an import between packages.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "storm_lab"

LEAVES = frozenset({"errors", "identity", "machine", "version"})
"""Every package may import these; they import only each other."""

BELOW_PAPERS = frozenset({"model", "schedulers", "tuplelog", "workloads", "emulator", "monitoring"})
ALL_BUT_CLI = BELOW_PAPERS | {"experiments", "papers", "league", "pipeline", "reporting", "runs", "bench"}

MAY_IMPORT: dict[str, frozenset[str]] = {
    "model": frozenset(),
    "tuplelog": frozenset(),
    "schedulers": frozenset({"model"}),
    "workloads": frozenset({"model"}),
    "emulator": frozenset({"model", "schedulers", "tuplelog", "workloads"}),
    "monitoring": frozenset({"model", "schedulers", "tuplelog", "workloads", "emulator"}),
    "live": BELOW_PAPERS | {"experiments", "league", "papers"},
    "experiments": BELOW_PAPERS,
    "league": BELOW_PAPERS | {"experiments"},
    "papers": BELOW_PAPERS | {"experiments", "league"},
    "pipeline": frozenset({"tuplelog"}),
    "reporting": frozenset({"pipeline", "tuplelog", "experiments", "papers", "schedulers", "model"}),
    "runs": (ALL_BUT_CLI - {"runs", "bench"}) | {"live"},
    "calibration": (ALL_BUT_CLI - {"reporting", "bench"}) | {"live"},
    "tournament": ALL_BUT_CLI - {"bench"},
    "advice": ALL_BUT_CLI - {"bench"},
    "teaching": ALL_BUT_CLI - {"bench"},
    "bench": ALL_BUT_CLI - {"bench"},
    "cli": ALL_BUT_CLI | {"tournament", "advice", "calibration"},
}


@dataclass(frozen=True)
class Arrow:
    """One import of one package by another."""

    source: str
    target: str
    place: str


def package_of(path: Path) -> str:
    """Return the package of a file: a folder or a single file directly under ``storm_lab``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def arrows_of(path: Path, text: str) -> list[Arrow]:
    """Return all imports of other packages in a file, including those inside functions."""
    source = package_of(path)
    # The package of the file, from which relative imports start.
    package = ("storm_lab", *path.relative_to(PACKAGE).parent.parts)
    modules: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.Import):
            modules += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (start, node.module) if part)
            if module == "storm_lab":
                modules += [(f"storm_lab.{alias.name}", node.lineno) for alias in node.names]
            else:
                modules.append((module, node.lineno))
    arrows = []
    for module, line in modules:
        parts = module.split(".")
        if parts[0] == "storm_lab" and len(parts) > 1 and parts[1] != source:
            arrows.append(Arrow(source, parts[1], f"{path.relative_to(PACKAGE.parent)}:{line}"))
    return arrows


def fault(arrow: Arrow) -> str | None:
    """Return why an import is not allowed, or None."""
    if arrow.target in LEAVES or arrow.target == "__version__" or arrow.source == "__init__":
        return None
    if arrow.source in LEAVES:
        return f"{arrow.place}: {arrow.source} is a leaf but imports {arrow.target}"
    allowed = MAY_IMPORT.get(arrow.source)
    if allowed is None:
        return f"{arrow.place}: {arrow.source} is not in the table of {Path(__file__).name}; add it"
    if arrow.target in allowed:
        return None
    packages = ", ".join(sorted(allowed)) or "no package"
    return f"{arrow.place}: {arrow.source} imports {arrow.target}, but may import only: {packages}"


def test_imports_run_downwards() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    arrows = [arrow for path in files for arrow in arrows_of(path, path.read_text(encoding="utf-8"))]
    faults = [text for text in map(fault, arrows) if text]
    assert not faults, "imports must run downwards (see CONTRIBUTING.md):\n" + "\n".join(faults)


def test_every_package_is_in_the_table() -> None:
    packages = {package_of(path) for path in PACKAGE.rglob("*.py")} - LEAVES - {"__init__", "__main__"}
    assert packages <= set(MAY_IMPORT), f"not in the table: {', '.join(sorted(packages - set(MAY_IMPORT)))}"


def test_every_package_is_on_the_map_in_contributing() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    on_map = {name.strip("`/").removesuffix(".py") for row in rows for name in row.replace(",", " ").split()}
    assert on_map == set(MAY_IMPORT) | LEAVES


def test_the_table_has_no_cycle() -> None:
    below = dict(MAY_IMPORT)
    while below:
        ready = {package for package, packages in below.items() if not packages & set(below)}
        assert ready, f"packages that import each other in a circle: {', '.join(sorted(below))}"
        below = {package: packages for package, packages in below.items() if package not in ready}


@pytest.mark.parametrize(
    ("file", "text", "refused"),
    [
        ("model/x.py", "import storm_lab.emulator.kernel", "emulator"),
        ("model/x.py", "from storm_lab.emulator import kernel", "emulator"),
        ("model/x.py", "from storm_lab import papers", "papers"),
        ("model/x.py", "from ..schedulers import even", "schedulers"),
        ("emulator/control/x.py", "from ...monitoring import load", "monitoring"),
        ("pipeline/x.py", "def f():\n    from storm_lab.emulator import kernel", "emulator"),
        ("papers/x.py", "import storm_lab.cli", "cli"),
        ("errors.py", "import storm_lab.model", "model"),
        ("attic/x.py", "import storm_lab.model", "attic"),
        ("schedulers/x.py", "from storm_lab.model import topology", None),
        ("model/x.py", "from storm_lab.errors import UserError", None),
        ("model/x.py", "from . import topology", None),
        ("emulator/control/x.py", "from ..kernel import run", None),
        ("cli.py", "from storm_lab.runs import run", None),
        ("reporting/x.py", "import numpy", None),
    ],
)
def test_the_check_sees_all_forms_of_import(file: str, text: str, refused: str | None) -> None:
    faults = [found for arrow in arrows_of(PACKAGE / file, text) if (found := fault(arrow))]
    assert len(faults) == (0 if refused is None else 1)
    assert all(str(refused) in found for found in faults)
