"""The emulator reads from top to bottom: each part uses only the parts before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "storm_lab" / "emulator"

ORDER = (
    *("system_cost", "cost", "document", "unreached", "attempts", "queue_sizes", "source", "plane"),
    *("state", "bundle", "kernel", "control"),
    *("spec", "setup", "emulation"),
)
"""Files and folders of the emulator in reading order; CONTRIBUTING lists the folders in the same order."""


def imported(path: Path, loaded: bool) -> Iterator[str]:
    """Modules in the emulator that a file imports; with ``loaded``, when it is loaded itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # Imports for type checking only are not executed.
    types = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    skipped = {inner for node in types for inner in node.body} if loaded else set()
    for node in ast.walk(tree):
        if (
            node not in skipped
            and isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("storm_lab.emulator")
        ):
            below = (node.module or "").split(".")[2:]
            for alias in node.names:
                whole = [*below, alias.name]
                inside = EMULATOR.joinpath(*whole)
                there = inside.is_dir() or inside.with_suffix(".py").exists()
                yield ".".join(whole if there else below)


def modules(loaded: bool = False) -> dict[str, set[str]]:
    """Return every module of the emulator with the emulator modules that it imports."""
    return {
        ".".join(path.relative_to(EMULATOR).with_suffix("").parts).removesuffix(".__init__"): set(
            imported(path, loaded)
        )
        for path in sorted(EMULATOR.rglob("*.py"))
        if path.parent != EMULATOR or path.stem != "__init__"
    }


def upward(found: dict[str, set[str]]) -> list[str]:
    """Return the imports of a later part."""
    place = {part: number for number, part in enumerate(ORDER)}
    return [
        f"{module} imports {target}"
        for module, targets in found.items()
        for target in targets
        if place[target.split(".")[0]] > place[module.split(".")[0]]
    ]


def test_each_part_imports_only_parts_before_it() -> None:
    found = modules()
    assert {module.split(".")[0] for module in found} == set(ORDER)
    assert not upward(found)


def test_an_import_of_a_later_part_is_reported() -> None:
    assert upward({"state.rows": {"kernel.spout"}}) == ["state.rows imports kernel.spout"]
    assert not upward({"kernel.spout": {"state.rows"}})


def test_no_module_imports_itself_indirectly() -> None:
    # Raises CycleError, which names the modules of a cycle. A module may import its own package.
    found = modules(loaded=True)
    TopologicalSorter({m: {t for t in ts if not m.startswith(f"{t}.")} for m, ts in found.items()}).prepare()


def test_contributing_lists_the_folders_in_this_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `emulator/` \|.*$", text, flags=re.MULTILINE)
    folders = [part for part in ORDER if (EMULATOR / part).is_dir()]
    assert re.findall(r"`(\w+)/`", row.partition("reading order")[2]) == folders
