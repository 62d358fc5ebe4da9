"""Figures in other formats than the report's SVG, for those who put them into a text of their own."""

from __future__ import annotations

import os
from pathlib import Path

from matplotlib.figure import Figure

from storm_lab.reporting.figures.style import house_style

FORMATS = ("svg", "png", "pdf")

VARIABLE = "STORM_LAB_FIGURES"
"""Environment variable that asks a notebook for more than it keeps: folder, path separator, formats."""

_DPI = 300
"""Dots per inch of a PNG, what printers ask for."""


def write_formats(figure: Figure, name: str) -> None:
    """Write the figure in the formats that `VARIABLE` asks for. Same figure, same bytes."""
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        return
    folder, _, formats = asked.rpartition(os.pathsep)
    for kind in formats.split(","):
        path = Path(folder) / f"{name}.{kind}"
        # A date would be another one each time.
        date = {"svg": "Date", "pdf": "CreationDate"}.get(kind)
        with house_style():
            figure.savefig(path, format=kind, dpi=_DPI, metadata={date: None} if date else None)
