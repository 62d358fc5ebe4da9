"""Rendering an executed notebook as a small page that opens from disk, without a network, in light and dark.

Jupyter's own export includes the style of JupyterLab in every page, 300 kB of it. This page has text, code,
outputs and figures, and a link back to the report. Style and script are in files shared by all pages
(`page_files`). A figure that was saved for the report is shown from its file there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from importlib import resources
from typing import Any
from urllib.parse import quote

import nbformat
from markupsafe import Markup
from nbconvert.filters.ansi import ansi2html
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from storm_lab.reporting.page import rendered

LONG = 20
"""Least number of lines for which a code cell is folded."""

STYLE = "notebook.css"
SCRIPT = "notebook.js"

_PIXEL = "data:image/png;base64,"

_ANCHOR = re.compile(r'&lt;a id=(?:"|&quot;)([\w-]+)(?:"|&quot;)&gt;(?:\s*)&lt;/a&gt;')
"""The only markup in outputs of code that is kept, in its escaped form: links lead to these anchors."""

_ADDRESS = re.compile(r"https?:|mailto:|[^:&]*([/?#]|$)", re.IGNORECASE)
"""Allowed targets of links in outputs of code: the web, a mailbox, or a relative address.

Mistune's own check accepts a colon that is written as a character reference of a reference.
"""

_BARE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def notebook_page(notebook: nbformat.NotebookNode, slug: str, *, report: str = "") -> str:
    """Return the page of an executed notebook; the same notebook gives the same bytes.

    ``slug`` names the notebook's file and experiment; ``report`` is the report's relative address, or empty.
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
    """The files beside the pages, by name: style and script."""
    folder = resources.files("storm_lab.reporting") / "templates"
    return {name: (folder / name).read_text(encoding="utf-8") for name in (STYLE, SCRIPT)}


def _title(notebook: nbformat.NotebookNode) -> str:
    texts = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = re.search(r"^# +(.+)$", texts, re.MULTILINE)
    return found[1].strip() if found else ""


def _cell(cell: nbformat.NotebookNode, title: str, figures: str) -> dict[str, Any]:
    if cell.cell_type != "code":
        return {"kind": "text", "html": _markdown(cell.source)}
    lines, tags = cell.source.count("\n") + 1, cell.metadata.get("tags", [])
    return {
        "kind": "code",
        "html": _code(cell.source),
        "lines": lines,
        "folded": lines >= LONG or "prose" in tags,
        "injected": "injected-parameters" in tags,
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
        file = str(about.get("file", ""))
        return {
            "kind": "picture",
            "address": figures + quote(file) if file else _PIXEL + "".join(data["image/png"].split()),
            "name": file.removesuffix(".svg"),
            "alt": str(about.get("alt") or f"A figure of the notebook {title}"),
            "width": str(about.get("width", "")),
            "height": str(about.get("height", "")),
        }
    if "text/markdown" in data:
        html = _markdown(data["text/markdown"], with_markup=False)
        return {"kind": "text", "html": Markup(_ANCHOR.sub(r'<a id="\1"></a>', str(html)))}
    return {"kind": "printed", "html": _terminal(data.get("text/plain", ""))}


class _Template(IPythonRenderer):
    """Markdown in which a percent sign that encodes nothing is itself encoded, so that links are valid."""

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, _BARE_PERCENT.sub("%25", url), title)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return super().image(text, _BARE_PERCENT.sub("%25", url), title)


class _Output(_Template):
    """Markdown from the output of code: markup is escaped, and links to other targets become text."""

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, url, title) if _ADDRESS.match(url) else text


def _markdown(text: str, *, with_markup: bool = True) -> Markup:
    """Convert text to HTML. Outputs of code may contain anything, so only the templates' own markup is kept.

    All other markup is escaped. Text that the code has already escaped must not be escaped again.
    """
    text = text if with_markup else unescape(text)
    renderer = _Template(escape=False) if with_markup else _Output()
    return Markup(MarkdownWithMath(renderer=renderer).render(text))


def _code(text: str) -> Markup:
    page = str(Highlight2HTML(pygments_lexer="ipython3")(text))  # type: ignore[no-untyped-call]
    # Long lines scroll, also with the keyboard.
    return Markup(page.replace("<pre>", '<pre tabindex="0">', 1))


def _terminal(text: str) -> Markup:
    return Markup(ansi2html(text))  # type: ignore[no-untyped-call]
