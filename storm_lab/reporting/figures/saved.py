"""Saving figures: SVG in light and dark for the report, other formats, and the picture in a notebook."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

from matplotlib.figure import Figure

from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import write_atomic
from storm_lab.reporting.figures.printed import claims_drawn, in_order
from storm_lab.reporting.figures.style import GRID, INK, MUTED, PAPER, foot, house_style

_LIGHT = {"ink": INK, "muted": MUTED, "grid": GRID, "paper": PAPER}
_DARK = {"ink": "#e8eaf0", "muted": "#a4abb8", "grid": "#3a3f4a", "paper": "#16181d"}

FORMATS = ("svg", "png", "pdf")

VARIABLE = "STORM_LAB_FIGURES"
"""Environment variable that makes a notebook write more figure files: folder, path separator, formats."""

_PRINT_DPI = 300
"""Dots per inch of a PNG, as required for print."""

_NOTEBOOK_DPI = 180
"""Dots per inch of a notebook's picture: crisp on dense screens and projectors, at three quarters of the
bytes that two dots for each pixel of an ordinary screen would take.
"""

_SCREEN_DPI = 110


@dataclass(frozen=True, slots=True)
class SavedFigure:
    """An SVG file, its title and text alternative, width over height, and the claims that it answers."""

    path: Path
    title: str
    alt: str
    shape: float = 0.0
    claims: tuple[str, ...] = ()

    @property
    def experiment(self) -> str:
        """Its experiment, after which its folder is named."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """Name among the figures of its experiment."""
        return self.path.stem


def save_figure(
    figure: Figure, path: Path, *, title: str, alt: str, claims: Sequence[str] = ()
) -> SavedFigure:
    """Write a figure as SVG, completely or not at all; the same figure gives the same bytes.

    ``claims`` are the ids of the claims that it answers, in addition to those whose printed numbers are drawn
    in it. Raises `UserError` without a title or text alternative, for an unknown claim or another suffix.
    """
    if path.suffix != ".svg":
        raise UserError("figures are saved as SVG", field="path", value=path.name, remedy="end it in .svg")
    if not title.strip() or not alt.strip():
        raise UserError("a figure needs a title and a text alternative", field=path.name)
    # A notebook that also shows the figure takes the text and the file's name from here.
    figure.set_label(" ".join(alt.split()))
    figure.set_gid(path.name)
    answered = in_order([*claims, *claims_drawn(figure)])
    if answered:
        foot(figure, "claims: " + ", ".join(answered), ", ")
    write_atomic(path, _themed(_svg(figure), title, alt, answered))
    return read_figure(path)


def read_figure(path: Path) -> SavedFigure:
    """Read a figure of `save_figure`; `UserError` if unreadable, or without title or text alternative."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"not a readable figure ({error})", field=path.name) from error
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    alt = re.search(r"<desc>(.*?)</desc>", text, re.DOTALL)
    if title is None or alt is None or not text.rstrip().endswith("</svg>"):
        raise UserError("not a complete figure of this project", field=path.name, remedy="draw it again")
    claims = re.search(r'data-claims="([^"]*)"', text)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    shape = float(box[1]) / float(box[2]) if box else 0.0
    answered = tuple(claims[1].split()) if claims else ()
    return SavedFigure(path, html.unescape(title[1]), html.unescape(alt[1]), shape, answered)


def _svg(figure: Figure) -> str:
    stream = StringIO()
    # Without a date and with a fixed salt, the same figure gives the same bytes.
    with house_style():
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _minified(stream.getvalue())


def _minified(svg: str) -> str:
    """Remove unused ids and metadata, and round coordinates to a hundredth of a point."""

    def rounded(found: re.Match[str]) -> str:
        numbers = re.sub(
            r"-?\d+\.\d{3,}", lambda one: f"{float(one[0]):.2f}".rstrip("0").rstrip("."), found[2]
        )
        return f'{found[1]}="{numbers}"'

    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<=\s)(d|x|y|x1|x2|y1|y2|width|height|transform|points)="([^"]*)"', rounded, svg)
    svg = re.sub(r"\s*\n\s*", "\n", re.sub(r'<g id="[^"]*"', "<g", svg))
    return _numbered_ids(svg)


def _numbered_ids(svg: str) -> str:
    """Replace matplotlib's ids of markers, clip paths and hatches by numbers, in order of appearance.

    Matplotlib hashes coordinates, whose last bit differs between processes in a constrained layout: its
    solver orders variables by their addresses.
    """
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"{found[0][0]}{len(numbers)}")

    return re.sub(r'(?:(?<=id=")|(?<=#))[hmp][0-9a-f]{10}\b', numbered, svg)


def _themed(svg: str, title: str, alt: str, claims: Sequence[str]) -> str:
    for name, colour in _LIGHT.items():
        svg = re.sub(re.escape(colour), f"var(--{name})", svg, flags=re.IGNORECASE)
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in colours.items()) for colours in (_LIGHT, _DARK)
    )
    head = (
        f"\n<title>{_escaped(title)}</title>\n<desc>{_escaped(alt)}</desc>\n"
        f"<style>:root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}</style>"
    )
    start = svg.index("<svg")
    end = svg.index(">", start)
    attribute = f' data-claims="{" ".join(claims)}"' if claims else ""
    return svg[:end] + f' role="img"{attribute}>' + head + svg[end + 1 :]


def _escaped(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False)


def write_formats(figure: Figure, name: str) -> None:
    """Write the figure in the formats that `VARIABLE` asks for; the same figure gives the same bytes."""
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        return
    folder, _, formats = asked.rpartition(os.pathsep)
    for kind in formats.split(","):
        path = Path(folder) / f"{name}.{kind}"
        if kind == "svg":
            path.write_text(_svg(figure), encoding="utf-8")
            continue
        # A date would differ each time.
        metadata = {"CreationDate": None} if kind == "pdf" else None
        with house_style():
            figure.savefig(path, format=kind, dpi=_PRINT_DPI, metadata=metadata)


def picture_of(figure: Figure) -> tuple[bytes, dict[str, str | int]]:
    """Return the figure as PNG, and metadata for a notebook; the same figure gives the same bytes.

    The metadata are its size on screen in pixels, a text alternative (that of `save_figure`, or the title),
    and the name of the file that it was saved as.
    """
    # Only notebooks show pictures; other code that draws needs neither Pillow nor IPython.
    from PIL import Image

    stream = BytesIO()
    with house_style():
        # This picture is temporary, so it is not compressed.
        figure.savefig(stream, format="png", dpi=_NOTEBOOK_DPI, pil_kwargs={"compress_level": 0})
    # Figures have a few flat colours with soft edges: 256 colours suffice, at a third of the size. They are
    # chosen to cover all that occur; chosen by area, small marks get the colour of others.
    picture = Image.open(stream).convert("RGB")
    picture = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    small = BytesIO()
    picture.save(small, format="PNG", optimize=True)
    width, height = (round(side * _SCREEN_DPI / _NOTEBOOK_DPI) for side in picture.size)
    about: dict[str, str | int] = {"width": width, "height": height}
    if figure.get_gid():
        about["file"] = str(figure.get_gid())
    alt = str(figure.get_label()) or figure.get_suptitle().strip()
    return small.getvalue(), {**about, "alt": alt} if alt else about


def show_in_notebook() -> None:
    """Make this notebook show figures as `picture_of` renders them; does nothing outside a notebook."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.display_formatter.formatters["image/png"].for_type(Figure, picture_of)
