"""Figures in notebooks: sharp on screen and on paper, small on disk, with a text alternative."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

from storm_lab.reporting.figures.style import house_style

DPI = 220
"""Dots of the picture for one inch of the figure: two for each pixel of an ordinary screen."""

_SCREEN_DPI = 110


def picture_of(figure: Figure) -> tuple[bytes, dict[str, str | int]]:
    """The figure as PNG, and what a notebook keeps beside it.

    That is its size on screen in pixels, a text alternative, and the name of the file that it was saved as.
    The text is the figure's label, which `save_figure` sets, else its title. Same figure, same bytes.
    """
    # Only notebooks show, and what else draws needs neither Pillow nor IPython.
    from PIL import Image

    stream = BytesIO()
    with house_style():
        # Nobody keeps this one: it need not be small.
        figure.savefig(stream, format="png", dpi=DPI, pil_kwargs={"compress_level": 0})
    # Some flat colours with soft edges: 256 of them are all that is needed, at a third of the size.
    picture = Image.open(stream).convert("RGB")
    picture = picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    small = BytesIO()
    picture.save(small, format="PNG", optimize=True)
    width, height = (round(side * _SCREEN_DPI / DPI) for side in picture.size)
    about: dict[str, str | int] = {"width": width, "height": height}
    if figure.get_gid():
        about["file"] = str(figure.get_gid())
    alt = str(figure.get_label()) or figure.get_suptitle().strip()
    return small.getvalue(), {**about, "alt": alt} if alt else about


def show_in_notebook() -> None:
    """Have this notebook show figures as `picture_of` makes them; nothing outside of one."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.display_formatter.formatters["image/png"].for_type(Figure, picture_of)
