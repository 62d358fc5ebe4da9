"""The pages under axe, the checker of accessibility rules: no violation, at two widths, light and dark.

axe comes with the package ``axe-core-python``; ``STORM_LAB_AXE`` may name a newer ``axe.min.js``.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import nbformat.v4 as v4
import pytest

from storm_lab.reporting.notebook_page import notebook_page, page_files
from tests.reporting.browser import BROWSER, ask
from tests.reporting.example_report import write_example

AXE = Path(os.environ.get("STORM_LAB_AXE") or str(files("axe_core_python") / "axe.min.js"))

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

RUN = """
  answer.violations = ["pending"];
  document.querySelectorAll("details").forEach(function (fold) { fold.open = true; });
  %s
  axe.run(document, { resultTypes: ["violations"] }).then(function (found) {
    answer.violations = found.violations.map(function (each) {
      return each.id + ": " + each.nodes.slice(0, 3).map(function (n) { return n.html.slice(0, 160); });
    });
    done();
  });
"""


def violations(page: Path, folder: Path, width: int) -> list[str]:
    """Return the violations that axe finds on the page."""
    answer = ask(page, folder, RUN % AXE.read_text(encoding="utf-8"), width=width, waits=True)
    assert answer["problems"] == []
    found: list[str] = answer["violations"]
    return found


def pages(folder: Path) -> list[Path]:
    """Write a report and the page of a notebook, and return their paths."""
    report = write_example(folder / "reports")
    cells = [
        v4.new_markdown_cell("# Title\n\nText with a [link](https://example.org) and `code`.\n\n## Part"),
        v4.new_code_cell(
            f"x = {'1 + ' * 60}1", outputs=[v4.new_output("stream", name="stdout", text="a table\n")]
        ),
    ]
    path = report.parent / "notebooks" / "tstorm-word-count.html"
    page = notebook_page(v4.new_notebook(cells=cells), "tstorm-word-count", report="../index.html")
    for name, text in {path.name: page, **page_files()}.items():
        path.with_name(name).write_text(text, encoding="utf-8")
    return [report, path]


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (1280, False),
        (1280, True),
        pytest.param(400, False, marks=pytest.mark.slow),
        pytest.param(400, True, marks=pytest.mark.slow),
    ],
)
def test_pages_break_no_accessibility_rule(tmp_path: Path, width: int, dark: bool) -> None:
    for page in pages(tmp_path):
        if dark:
            for file in (page, page.with_name("notebook.css")):
                if file.is_file():
                    text = file.read_text(encoding="utf-8")
                    file.write_text(
                        text.replace("screen and (prefers-color-scheme: dark)", "all"), encoding="utf-8"
                    )
        assert violations(page, tmp_path, width) == [], page.name
