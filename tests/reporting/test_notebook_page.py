"""The page of an executed notebook: complete, small, usable offline, with a link back to the report."""

import base64
import re
from io import BytesIO
from pathlib import Path

import nbformat.v4 as v4
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from storm_lab.reporting.figures.migration_gantt import migration_gantt
from storm_lab.reporting.figures.saved import picture_of, save_figure
from storm_lab.reporting.figures.style import LINES, About, foot, house_style, new_figure
from storm_lab.reporting.notebook_page import LONG, notebook_page, page_files
from tests.reporting.browser import BROWSER, ask

in_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")


def drawing() -> Figure:
    with house_style():
        figure = new_figure(2.0)
        figure.subplots().plot([1, 2, 3], [3, 1, 2])
        foot(figure, "one seed")
    return figure


def example(tmp_path: Path) -> str:
    figure = drawing()
    figures = tmp_path / "figures" / "tstorm-word-count"
    save_figure(figure, figures / "a.svg", title="A line", alt="Falls & rises")
    data, about = picture_of(figure)
    shown = v4.new_output(
        "display_data", {"image/png": base64.b64encode(data).decode()}, metadata={"image/png": about}
    )
    cells = [
        v4.new_markdown_cell("# Title of it\n\nSome *text*."),
        v4.new_code_cell("x = 1\nprint(x)", outputs=[v4.new_output("stream", name="stdout", text="1 < 2\n")]),
        v4.new_code_cell("\n".join(f"y{i} = {i}" for i in range(LONG)), outputs=[shown]),
    ]
    return notebook_page(v4.new_notebook(cells=cells), "tstorm-word-count", report="../index.html")


def test_the_page_has_the_text_the_printed_output_and_the_figures(tmp_path: Path) -> None:
    page = example(tmp_path)
    assert "<title>Title of it (tstorm-word-count)</title>" in page and "<em>text</em>" in page
    assert "1 &lt; 2" in page and 'alt="Falls &amp; rises"' in page
    assert page == example(tmp_path)


def test_markup_in_the_output_of_code_is_escaped() -> None:
    said = {
        "text/markdown": "*so*, 1 &lt; 2\n\n<script>alert(1)</script>\n\n&lt;script&gt;so()&lt;/script&gt;",
        "text/html": "<b>x</b>",
        "text/plain": "<i>",
    }
    outputs = [v4.new_output("display_data", said)]
    cells = [v4.new_markdown_cell("# T\n\n<u>own</u>"), v4.new_code_cell("show()", outputs=outputs)]
    page = notebook_page(v4.new_notebook(cells=cells), "tstorm-word-count", report="../index.html")
    assert "<em>so</em>, 1 &lt; 2" in page, "escaped once"
    assert "&lt;script&gt;alert" in page and "&lt;script&gt;so" in page and "<script>" not in page
    assert "<u>own</u>" in page


@pytest.mark.parametrize(
    ("address", "followed"),
    [
        ("https://storm.apache.org/a?b=c:d", True),
        ("mailto:a@b.org", True),
        ("../index.html#why-a:b", True),
        ("#why", True),
        ("javascript:alert(1)", False),
        ("JavaScript&#58;alert(1)", False),
        ("javascript&amp;#58;alert(1)", False),
        ("javascript&amp;amp;#58;alert(1)", False),
        ("<\x01javascript:alert(1)>", False),
        ("vbscript:x", False),
        ("data:text/html,x", False),
    ],
)
def test_links_in_output_lead_only_to_the_web_a_mailbox_or_a_relative_address(
    address: str, followed: bool
) -> None:
    outputs = [v4.new_output("display_data", {"text/markdown": f"*here* [there]({address})"})]
    page = notebook_page(v4.new_notebook(cells=[v4.new_code_cell("show()", outputs=outputs)]), "a")
    (told,) = re.findall(r"<em>here</em> (.*)</p>", page)
    assert told == (f'<a href="{address}">there</a>' if followed else "there")


def test_a_percent_sign_that_encodes_nothing_is_encoded_in_every_link(tmp_path: Path) -> None:
    text = "[a](50%.html) [b](50%25.html) ![c](%zz.svg)"
    figure = drawing()
    save_figure(figure, tmp_path / "5%.svg", title="A line", alt="Falls")
    outputs = [
        v4.new_output("display_data", {"text/markdown": text}),
        v4.new_output("display_data", {"image/png": ""}, metadata={"image/png": picture_of(figure)[1]}),
    ]
    cells = [v4.new_markdown_cell(text), v4.new_code_cell("show()", outputs=outputs)]
    page = notebook_page(v4.new_notebook(cells=cells), "a")
    links = re.findall(r'(?:href|src)="([^"]*%[^"]*)"', page)
    assert links == ["50%25.html", "50%25.html", "%25zz.svg"] * 2 + ["../figures/a/5%25.svg"]


def test_long_code_is_folded_and_short_code_is_not(tmp_path: Path) -> None:
    page = example(tmp_path)
    assert page.count("<details") == 1 and f"code, {LONG} lines" in page


def test_the_page_links_back_to_its_experiment_in_the_report(tmp_path: Path) -> None:
    assert 'href="../index.html#experiment-tstorm-word-count"' in example(tmp_path)


def test_the_page_loads_nothing_from_the_network_and_is_small(tmp_path: Path) -> None:
    page = example(tmp_path)
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "base64" not in page and len(page) < 10_000


def test_small_marks_keep_their_colours_in_a_picture() -> None:
    tasks = range(1, 45)
    stays = pd.DataFrame(
        [("count", task, *ends, "w", f"node{task % 2}") for task in tasks for ends in ((0, 50), (60, 100))],
        columns=["component", "start_task", "from_s", "to_s", "worker", "node"],
    )
    actions = [(45.0 + 3 * place, "nimbus", name, "t", "") for place, name in enumerate("abcdef")]
    control = pd.DataFrame(actions, columns=["time_s", "actor", "action", "subject", "detail"])
    figure = migration_gantt(stays, control, start_s=40, end_s=70, about=About(seeds=1))
    for line in figure.axes[0].lines:
        line.set_alpha(1.0)
    shown = np.asarray(Image.open(BytesIO(picture_of(figure)[0])).convert("RGB")).reshape(-1, 3).astype(int)
    for colour in LINES:
        wanted = [round(255 * part) for part in to_rgb(colour)]
        assert np.abs(shown - wanted).max(axis=1).min() <= 2, colour


def test_a_picture_is_denser_than_a_screen_and_has_the_text_of_the_saved_figure(
    tmp_path: Path,
) -> None:
    figure = drawing()
    plain, about = picture_of(figure)
    assert about == {"width": 880, "height": 220}
    assert int.from_bytes(plain[16:20], "big") == 1440
    save_figure(figure, tmp_path / "a.svg", title="A line", alt="Falls and rises")
    again, told = picture_of(figure)
    assert (told["alt"], told["file"]) == ("Falls and rises", "a.svg") and again == plain


@in_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_opens_without_errors_and_without_scrolling_sideways(tmp_path: Path, width: int) -> None:
    path = tmp_path / "notebooks" / "page.html"
    path.parent.mkdir()
    for name, text in {path.name: example(tmp_path), **page_files()}.items():
        path.with_name(name).write_text(text, encoding="utf-8")
    script = """
      document.getElementById("unfold").click();
      answer.open = document.querySelectorAll("details[open]").length;
      answer.picture = document.images[0].naturalWidth;
      answer.styled = getComputedStyle(document.querySelector("header")).display;
    """
    answer = ask(path, tmp_path, script, width=width)
    assert answer["problems"] == []
    assert (answer["open"], answer["page_width"]) == (1, width)
    assert answer["picture"] > 0, "the figure is shown from its own file"
