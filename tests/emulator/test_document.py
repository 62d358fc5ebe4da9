"""The emulator's documentation page agrees with the code."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from storm_lab.emulator.cost import CostModel
from storm_lab.emulator.document import constants_table, with_constants
from storm_lab.emulator.queue_sizes import QueueSizes
from storm_lab.emulator.state import kinds
from storm_lab.model.constant import constants_of
from storm_lab.model.version import V0_8_2, V2_8_8

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "emulator.md"


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_table_of_constants_is_current() -> None:
    remedy = "run: python -m storm_lab.emulator.document docs/emulator.md"
    assert page() == with_constants(page()), remedy


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the lines"):
        with_constants("# Emulator\n")


def test_every_constant_of_the_cost_model_is_in_the_table_with_its_value() -> None:
    rows = {line.split("|")[1].strip(" `"): line for line in constants_table().splitlines()[2:]}
    assert set(rows) == {field.name for field in dataclasses.fields(CostModel)}
    for entry in constants_of(CostModel()):
        assert f"| {entry.value:g} |" in rows[entry.name]


@pytest.mark.parametrize("name", ["emulator.md", "mechanisms.md"])
def test_names_of_code_on_the_pages_exist(name: str) -> None:
    """Every `module.function` or `file.py` that a page mentions exists."""
    text = (DOCS / name).read_text(encoding="utf-8")
    package = DOCS.parent / "storm_lab" / "emulator"
    named = set(re.findall(r"`([a-z_]+)\.py`", text))
    assert named
    for module in named:
        assert list(package.rglob(f"{module}.py")), f"{module}.py is on the page and not in the package"
    for module, function in re.findall(r"`([a-z_]+)\.([a-z_]+)\(\)`", text):
        code = "".join(file.read_text(encoding="utf-8") for file in package.rglob(f"{module}.py"))
        assert re.search(rf"def {function}\b", code), f"{module}.{function} is on the page only"


def test_queue_sizes_on_the_page_are_those_of_the_code() -> None:
    old, new = QueueSizes.of(V0_8_2), QueueSizes.of(V2_8_8)
    (line,) = [line for line in page().splitlines() if line.startswith("| executor's receive queue |")]
    assert f"{old.main:,}" in line
    assert f"{new.main:,}" in line
    (line,) = [line for line in page().splitlines() if line.startswith("| worker's transfer queue |")]
    assert f"{old.transfer:,}" in line
    assert f"{new.transfer:,}" in line


def test_every_kind_of_thread_is_on_the_page() -> None:
    for kind in kinds.THREAD_NAMES:
        assert f"**{kind}**" in page()


def test_pictures_exist_and_are_legible_in_light_and_dark_mode() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+\.svg)\)", page())
    assert len(pictures) >= 4
    for name in pictures:
        text = (DOCS / name).read_text(encoding="utf-8")
        root = ET.fromstring(text)
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert "prefers-color-scheme: dark" in text
        # Colours are set in the style sheet only, which covers both schemes.
        assert not re.search(r'(fill|stroke)="#', text)
