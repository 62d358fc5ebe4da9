"""The report: complete in itself, true to the verdicts, and usable in a real browser."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from storm_lab.errors import UserError
from storm_lab.experiments.cause import load_contradictions
from storm_lab.experiments.ledger import load_claims
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.report import render_report, write_report
from storm_lab.reporting.tally import Tally, count_standings
from storm_lab.reporting.verdict import Outcome
from tests.reporting.browser import BROWSER, ask
from tests.reporting.example_report import CONSTANTS, write_example

in_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example(tmp_path_factory.mktemp("example") / "reports")


class Elements(HTMLParser):
    """All start tags with their attributes, and whether tags are closed in order."""

    VOID = frozenset({"meta", "link", "img", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] in ("option", "dt", "dd", "li", "p") and self.open[-1] != tag:
            self.open.pop()
        assert self.open.pop() == tag


def alternatives(page: Path) -> list[str | None]:
    """Return the text alternative of each picture on a page."""
    found = Elements(page.read_text(encoding="utf-8")).found
    return [attributes["alt"] for tag, attributes in found if tag == "img"]


def test_the_page_is_well_formed_and_its_ids_are_unique(page):
    elements = Elements(page.read_text(encoding="utf-8")).found
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_page_loads_nothing_from_the_network(page):
    for tag, attributes in Elements(page.read_text(encoding="utf-8")).found:
        for name in ("src", "href"):
            address = attributes.get(name) or ""
            assert not re.match(r"[a-z]+:(?<!data:)|//", address), (tag, address)


def test_each_claim_has_one_row_and_each_internal_link_has_a_target(page):
    elements = Elements(page.read_text(encoding="utf-8")).found
    rows = [attributes for tag, attributes in elements if tag == "tr" and "data-verdict" in attributes]
    assert [row["id"] for row in rows] == [claim.id for claim in load_claims().claims]
    ids = {attributes.get("id") for _, attributes in elements}
    for tag, attributes in elements:
        if tag == "a" and (attributes["href"] or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in ids


def test_a_percent_sign_in_the_name_of_a_figure_is_encoded_in_its_links(tmp_path):
    figure = write_example(tmp_path).parent / "figures" / "tstorm-word-count" / "figure-6.svg"
    figure.rename(figure.with_name("at-5%.svg"))
    found = Elements(render_report(tmp_path)).found
    links = [each[name] for _, each in found for name in ("src", "href") if "%" in (each.get(name) or "")]
    assert links == ["figures/tstorm-word-count/at-5%25.svg"] * 2


def test_every_figure_has_a_text_alternative(page):
    assert alternatives(page) == ["Processing time of both schedulers in three panels"]


def test_counts_add_up_to_the_rows(page):
    verdicts = collect_verdicts(page.parent / "verdicts")
    total = Tally.of("all", verdicts)
    assert total.total == len(load_claims().claims)
    text = page.read_text(encoding="utf-8")
    for outcome, count in total.cells:
        assert text.count(f'data-verdict="{outcome}"') == count
    for each, count in count_standings(verdicts).items():
        assert text.count(f'data-standing="{each}"') == count
        assert f"<b>{count}</b> {each}" in text
    assert total.counts[0] and total.counts[1] and total.counts[2]


def test_a_notebooks_page_that_is_damaged_is_linked_nevertheless(tmp_path):
    page = write_example(tmp_path)
    (tmp_path / "notebooks" / "tstorm-word-count.html").write_bytes(b"\xff\xfe")
    assert 'href="notebooks/tstorm-word-count.html"' in render_report(page.parent)


def test_notebooks_are_linked_only_where_they_exist(page):
    text = page.read_text(encoding="utf-8")
    assert 'href="notebooks/tstorm-word-count.html"' in text
    assert "log-stream.html" not in text


def test_fitted_constants_contradictions_and_damaged_runs_are_listed(page):
    text = page.read_text(encoding="utf-8")
    assert "2 constants, 1 of them fitted" in text
    for constant in CONSTANTS:
        assert constant.name in text and constant.source in text
    for entry in load_contradictions():
        assert f'id="contradiction-{entry.id}"' in text
    assert "<code>tstorm-word-count/storm-default-s2</code>: truncated" in text


def test_the_same_content_gives_the_same_bytes(page, tmp_path):
    text = render_report(page.parent, constants=CONSTANTS)
    assert text == render_report(page.parent, constants=CONSTANTS)
    before = sorted(page.parent.iterdir())
    written = write_report(page.parent, text)
    assert written.read_text(encoding="utf-8") == text
    assert sorted(page.parent.iterdir()) == before


def test_text_from_outside_cannot_become_markup(tmp_path):
    page = write_example(tmp_path / "reports", alt='"><script>alert(1)</script>')
    assert alternatives(page) == ['"><script>alert(1)</script>']


def test_an_empty_report_says_that_nothing_has_been_run(tmp_path):
    verdicts = collect_verdicts(tmp_path / "none" / "verdicts")
    assert {verdict.outcome for verdict in verdicts} == {Outcome.NOT_RUN, Outcome.NOT_TESTABLE}
    text = render_report(tmp_path / "none")
    assert "There are none" in text
    assert "0 runs were refused" in text and "No figure yet." in text
    Elements(text)


def test_figures_of_an_unknown_experiment_are_refused(tmp_path):
    stray = tmp_path / "figures" / "no-such-experiment" / "a.svg"
    stray.parent.mkdir(parents=True)
    stray.write_text("<svg/>", encoding="utf-8")
    with pytest.raises(UserError, match="no-such-experiment"):
        render_report(tmp_path)


@in_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_opens_without_errors_and_without_scrolling_sideways(page, tmp_path, width):
    script = """
      answer.images = [].map.call(document.images, function (i) { i.loading = "eager"; return i.complete; });
      answer.wide = [].filter.call(document.querySelectorAll("main *"), function (e) {
        return e.getBoundingClientRect().right > innerWidth + 1; }).map(function (e) { return e.outerHTML; });
    """
    answer = ask(page, tmp_path, script, width=width)
    assert answer["problems"] == []
    assert (answer["width"], answer["page_width"]) == (width, width)
    assert answer["wide"] == []


@in_browser
def test_filters_combine_and_can_be_cleared(page, tmp_path):
    script = """
      var rows = document.querySelectorAll("#claims-table tbody tr");
      function seen() { return [].filter.call(rows, function (r) { return r.offsetParent !== null; }); }
      function set(id, value) { var e = document.getElementById(id); e.value = value;
        e.dispatchEvent(new Event("input", { bubbles: true })); }
      answer.all = seen().length;
      set("by-paper", "T-Storm"); answer.paper = seen().length;
      set("by-verdict", "reproduced");
      answer.both = seen().map(function (r) { return [r.dataset.paper, r.dataset.verdict]; });
      answer.said = document.getElementById("shown").textContent;
      set("find", "no such words"); answer.none = seen().length;
      answer.told = !document.getElementById("nothing").hidden;
      set("by-paper", ""); set("by-verdict", ""); set("find", "GAMMA 2.2 nodes");
      answer.found = seen().map(function (r) { return r.id; });
    """
    answer = ask(page, tmp_path, script, width=1280)
    assert (answer["all"], answer["paper"], answer["none"], answer["told"]) == (177, 48, 0, True)
    assert answer["both"] and all(pair == ["T-Storm", "reproduced"] for pair in answer["both"])
    assert answer["said"] == f"{len(answer['both'])} of 177 claims"
    assert "tstorm-fig6c-nodes" in answer["found"] and len(answer["found"]) < 10
    assert answer["problems"] == []


@in_browser
def test_columns_sort_both_ways_and_set_aria_sort(page, tmp_path):
    script = """
      var button = document.querySelector("button[data-key=rank]");
      function first() { return document.querySelector("#claims-table tbody tr").dataset.verdict; }
      button.click(); answer.up = [first(), button.closest("th").getAttribute("aria-sort")];
      button.click(); answer.down = [first(), button.closest("th").getAttribute("aria-sort")];
      document.querySelector("button[data-key=measured]").click();
      var texts = [].map.call(document.querySelectorAll("#claims-table tbody tr"), function (r) {
        return r.dataset.measured; });
      var empty = texts.indexOf("");
      answer.empty_last = empty > 0 && texts.slice(empty).every(function (t) { return !t; });
      answer.sorted = document.querySelectorAll("th[aria-sort=ascending],th[aria-sort=descending]").length;
    """
    answer = ask(page, tmp_path, script, width=1280)
    assert answer["up"] == ["reproduced", "ascending"]
    assert answer["down"] == ["not run", "descending"]
    assert (answer["empty_last"], answer["sorted"]) == (True, 1)


@in_browser
def test_clicking_a_number_of_the_overview_shows_its_claims(page, tmp_path):
    script = """
      var link = document.querySelector("a[data-by-paper='T-Storm'][data-by-verdict='reproduced']");
      document.getElementById("find").value = "no such words";
      link.click();
      answer.told = Number(link.textContent);
      answer.seen = [].filter.call(document.querySelectorAll("#claims-table tbody tr"), function (r) {
        return r.offsetParent !== null; }).map(function (r) { return [r.dataset.paper, r.dataset.verdict]; });
    """
    answer = ask(page, tmp_path, script, width=400)
    assert answer["problems"] == []
    assert len(answer["seen"]) == answer["told"] > 0
    assert all(pair == ["T-Storm", "reproduced"] for pair in answer["seen"])


@in_browser
def test_figures_are_folded_until_a_link_or_printing_opens_them(page, tmp_path):
    script = """
      var folds = document.querySelectorAll("details.experiment");
      function open() { return [].filter.call(folds, function (f) { return f.open; }).length; }
      answer.counts = [folds.length, open()];
      dispatchEvent(new Event("beforeprint")); answer.counts.push(open());
      dispatchEvent(new Event("afterprint")); answer.counts.push(open());
      location.hash = "experiment-tstorm-word-count";
      dispatchEvent(new Event("hashchange")); answer.counts.push(open());
    """
    answer = ask(page, tmp_path, script, width=1280)
    assert answer["problems"] == []
    assert answer["counts"] == [1, 0, 1, 0, 1]
