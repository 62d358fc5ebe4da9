"""Figures as files: SVG that follows the reader's light or dark setting and says in words what it shows."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from matplotlib.figure import Figure

from storm_lab.errors import UserError
from storm_lab.machine.whole_file import write_whole
from storm_lab.reporting.figures.printed import claims_drawn, in_order
from storm_lab.reporting.figures.style import GRID, INK, MUTED, PAPER, house_style, more_foot

_LIGHT = {"ink": INK, "muted": MUTED, "grid": GRID, "paper": PAPER}
_DARK = {"ink": "#e8eaf0", "muted": "#a4abb8", "grid": "#3a3f4a", "paper": "#16181d"}


@dataclass(frozen=True, slots=True)
class SavedFigure:
    """An SVG file with what it says of itself.

    Attributes:
        path: the file.
        title: one line.
        alt: what the picture shows, for readers who cannot see it.
        shape: width over height; 0 where the file does not say.
        claims: ids of the claims that it answers.
    """

    path: Path
    title: str
    alt: str
    shape: float = 0.0
    claims: tuple[str, ...] = ()


def save_figure(
    figure: Figure, path: Path, *, title: str, alt: str, claims: Sequence[str] = ()
) -> SavedFigure:
    """Write a figure as SVG; a reader sees the old file or the whole new one. Same figure, same bytes.

    ``claims`` are the ids of the claims that it answers, beside those whose printed numbers are drawn in it.

    Raises:
        UserError: no title or no text alternative, a claim that does not exist, or the file name does not end
            in ``.svg``.
    """
    if path.suffix != ".svg":
        raise UserError("figures are saved as SVG", field="path", value=path.name, remedy="end it in .svg")
    if not title.strip() or not alt.strip():
        raise UserError("a figure needs a title and a text alternative", field=path.name)
    # A notebook that shows the figure too has the text and the file's name from here.
    figure.set_label(" ".join(alt.split()))
    figure.set_gid(path.name)
    answered = in_order([*claims, *claims_drawn(figure)])
    if answered:
        more_foot(figure, "claims: " + ", ".join(answered))
    write_whole(path, _themed(_svg(figure), title, alt, answered))
    return read_figure(path)


def read_figure(path: Path) -> SavedFigure:
    """A figure that `save_figure` wrote.

    Raises:
        UserError: unreadable, or without title and text alternative.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"not a readable figure ({error})", field=path.name) from error
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    alt = re.search(r"<desc>(.*?)</desc>", text, re.DOTALL)
    if title is None or alt is None or not text.rstrip().endswith("</svg>"):
        raise UserError("not a whole figure of this project", field=path.name, remedy="draw it again")
    claims = re.search(r'data-claims="([^"]*)"', text)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    shape = float(box[1]) / float(box[2]) if box else 0.0
    return SavedFigure(
        path,
        html.unescape(title[1]),
        html.unescape(alt[1]),
        shape,
        tuple(claims[1].split()) if claims else (),
    )


def _svg(figure: Figure) -> str:
    stream = StringIO()
    # Without date and with a fixed salt the same figure gives the same bytes.
    with house_style():
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _slim(stream.getvalue())


def _slim(svg: str) -> str:
    """Without names and notes that nobody reads, and with coordinates to a hundredth of a point."""

    def rounded(found: re.Match[str]) -> str:
        numbers = re.sub(
            r"-?\d+\.\d{3,}", lambda one: f"{float(one[0]):.2f}".rstrip("0").rstrip("."), found[2]
        )
        return f'{found[1]}="{numbers}"'

    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<=\s)(d|x|y|x1|x2|y1|y2|width|height|transform|points)="([^"]*)"', rounded, svg)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r'<g id="[^"]*"', "<g", svg))


def _themed(svg: str, title: str, alt: str, claims: Sequence[str]) -> str:
    for name, colour in _LIGHT.items():
        svg = re.sub(re.escape(colour), f"var(--{name})", svg, flags=re.IGNORECASE)
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    light = "".join(f"--{name}:{colour};" for name, colour in _LIGHT.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in _DARK.items())
    head = (
        f"\n<title>{_escaped(title)}</title>\n<desc>{_escaped(alt)}</desc>\n"
        f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    )
    start = svg.index("<svg")
    end = svg.index(">", start)
    said = f' data-claims="{" ".join(claims)}"' if claims else ""
    return svg[:end] + f' role="img"{said}>' + head + svg[end + 1 :]


def _escaped(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False)
