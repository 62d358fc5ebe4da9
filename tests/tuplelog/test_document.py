"""The reference page of the tuple log matches the schema."""

from __future__ import annotations

from pathlib import Path

from storm_lab.tuplelog import TABLES
from storm_lab.tuplelog.document import document

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tuple-log.md"


def test_the_page_is_current() -> None:
    remedy = "run: python -m storm_lab.tuplelog.document > docs/tuple-log.md"
    assert PAGE.read_text(encoding="utf-8") == document(), remedy


def test_every_column_has_a_meaning_and_every_measured_one_a_unit() -> None:
    lines = document().splitlines()
    for name, schema in TABLES.items():
        start = lines.index(f"## {name}")
        for field in schema:
            line = next(line for line in lines[start:] if line.startswith(f"| `{field.name}` |"))
            _, _, _, unit, meaning, *_ = (cell.strip() for cell in line.split("|"))
            assert meaning
            if field.name.endswith(("_ns", "_ms", "_mhz", "_mb", "bytes")):
                assert unit
