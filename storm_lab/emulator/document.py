"""Writes the table of constants into the page: ``python -m storm_lab.emulator.document docs/emulator.md``."""

from __future__ import annotations

import sys
from pathlib import Path

from storm_lab.emulator.cost import CostModel
from storm_lab.model.constant import constants_of

BEGIN = "<!-- constants: generated, do not edit -->"
END = "<!-- end of constants -->"


def constants_table() -> str:
    """Return all constants of the cost model as a Markdown table, in order of declaration."""
    rows = ["| constant | value | unit | allowed | source |", "|---|---|---|---|---|"]
    for entry in constants_of(CostModel()):
        unit = "" if entry.unit == "1" else entry.unit
        source = entry.source.replace("|", "\\|") + ("; **fitted**" if entry.fitted else "")
        allowed = f"{entry.low:g} to {entry.high:g}"
        rows.append(f"| `{entry.name}` | {entry.value:g} | {unit} | {allowed} | {source} |")
    return "\n".join(rows)


def with_constants(page: str) -> str:
    """Return the page with the current constants; `ValueError` if it lacks the markers of the table."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{constants_table()}\n\n{END}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_constants(path.read_text(encoding="utf-8")), encoding="utf-8")
