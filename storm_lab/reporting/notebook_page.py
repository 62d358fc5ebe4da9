"""An executed notebook as a page: opens from disk without a network, in light and in dark, small.

Jupyter's own export carries the style of the whole JupyterLab in every page, 300 kB of it. This one has text,
code, outputs and figures, and a way back to the report. Style and script are in files that all pages share
(`page_files`), and a figure that was saved for the report is shown from there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from importlib import resources
from typing import Any

import nbformat
from markupsafe import Markup
from nbconvert.filters.ansi import ansi2html
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from storm_lab.reporting.page import rendered

LONG = 20
"""Lines of code from which on a cell is folded."""

STYLE = "notebook.css"
SCRIPT = "notebook.js"

_PIXEL = "data:image/png;base64,"

_ANCHOR = re.compile(r'&lt;a id=(?:"|&quot;)([\w-]+)(?:"|&quot;)&gt;(?:\s*)&lt;/a&gt;')
"""The one markup of code's outputs that is let through, as it comes out escaped: links lead there."""

_ADDRESS = re.compile(r"https?:|mailto:|[^:&]*([/?#]|$)", re.IGNORECASE)
"""Where links of code's outputs may lead: to the web, to a mailbox, or to a relative address.

Mistune's own check lets through a colon that is written as a character reference of a reference."""


def notebook_page(notebook: nbformat.NotebookNode, slug: str, *, report: str = "") -> str:
    """The page of an executed notebook; same notebook, same bytes.

    ``slug`` is the notebook's file name without ending, and its experiment's; ``report`` is the report's
    address, relative to the page, empty when there is none.
    """
    title = _title(notebook) or slug
    figures = f"../figures/{slug}/"
    return rendered(
        "notebook.html.j2",
        title=title,
        slug=slug,
        report=report,
        style=STYLE,
        script=SCRIPT,
        cells=[_cell(cell, title, figures) for cell in notebook.cells if cell.source.strip()],
    )


def page_files() -> dict[str, str]:
    """The files that lie beside the pages, by name: style and script."""
    folder = resources.files("storm_lab.reporting") / "templates"
    return {name: (folder / name).read_text(encoding="utf-8") for name in (STYLE, SCRIPT)}


def _title(notebook: nbformat.NotebookNode) -> str:
    for cell in notebook.cells:
        found = re.search(r"^# +(.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else None
        if found:
            return found[1].strip()
    return ""


def _cell(cell: nbformat.NotebookNode, title: str, figures: str) -> dict[str, Any]:
    if cell.cell_type != "code":
        return {"kind": "text", "html": _markdown(cell.source)}
    lines = cell.source.count("\n") + 1
    return {
        "kind": "code",
        "html": _code(cell.source),
        "lines": lines,
        "folded": lines >= LONG or "prose" in cell.metadata.get("tags", []),
        "injected": "injected-parameters" in cell.metadata.get("tags", []),
        "outputs": [_output(output, title, figures) for output in cell.get("outputs", [])],
    }


def _output(output: nbformat.NotebookNode, title: str, figures: str) -> dict[str, str]:
    if output.output_type == "stream":
        return {"kind": "error" if output.name == "stderr" else "printed", "html": _terminal(output.text)}
    if output.output_type == "error":
        return {"kind": "error", "html": _terminal("\n".join(output.traceback))}
    data: Mapping[str, str] = output.data
    if "image/png" in data:
        about = output.metadata.get("image/png", {})
        return {
            "kind": "picture",
            "address": figures + about["file"]
            if about.get("file")
            else _PIXEL + "".join(data["image/png"].split()),
            "name": str(about.get("file", "")).removesuffix(".svg"),
            "alt": str(about.get("alt") or f"A figure of the notebook {title}"),
            "width": str(about.get("width", "")),
            "height": str(about.get("height", "")),
        }
    if "text/markdown" in data:
        html = _markdown(data["text/markdown"], with_markup=False)
        return {"kind": "text", "html": Markup(_ANCHOR.sub(r'<a id="\1"></a>', str(html)))}
    return {"kind": "printed", "html": _terminal(data.get("text/plain", ""))}


class _Output(IPythonRenderer):
    """Markdown that code has put out: markup is escaped, and a link to anywhere else is left as its text."""

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, url, title) if _ADDRESS.match(url) else text


def _markdown(text: str, *, with_markup: bool = True) -> Markup:
    """Text as HTML; code may have put out anything, so only the templates' own markup is let through.

    What is not let through is escaped, so what code has escaped itself must not be once more.
    """
    text = text if with_markup else unescape(text)
    renderer = IPythonRenderer(escape=False) if with_markup else _Output()
    return Markup(MarkdownWithMath(renderer=renderer).render(text))


def _code(text: str) -> Markup:
    page = str(Highlight2HTML(pygments_lexer="ipython3")(text))  # type: ignore[no-untyped-call]
    # Long lines are scrolled, with the keyboard too.
    return Markup(page.replace("<pre>", '<pre tabindex="0">', 1))


def _terminal(text: str) -> Markup:
    return Markup(ansi2html(text))  # type: ignore[no-untyped-call]
