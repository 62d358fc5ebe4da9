"""The report's section that compares the emulator with real Storm agrees with its document."""

import json
import re
from dataclasses import replace
from pathlib import Path

import nbformat.v4 as v4
import pytest

from storm_lab.errors import UserError
from storm_lab.live.suite.compare import Compared, Ordering, Row, Trust
from storm_lab.live.suite.measure import Measured
from storm_lab.live.suite.scene import Half, Measure
from storm_lab.live.suite.trust_tables import (
    UNKNOWN,
    Reason,
    machines_table,
    misses_table,
    misses_text,
    orderings_table,
    reasons,
    report_document,
    trust_lines,
)
from storm_lab.reporting.notebook_page import notebook_page
from storm_lab.reporting.report import TRUST as EXPERIMENT
from storm_lab.reporting.report import read_trust, render_report
from tests.live.test_suite import all_scenes
from tests.reporting.example_report import write_example
from tests.reporting.test_report import Elements


def measured(value: float, half: float) -> Measured:
    return Measured(value, value - half, value + half, 7)


def row(name: str, half: Half, real: Measured | None, said: float) -> Row:
    missing = "" if real else "its workers were ready too late"
    each = Compared(Measure.CPU, real, measured(said, 0.0), missing)
    return Row(f"{name}@2.8", "light", "2.8", half, (each,))


TRUST = Trust(
    (
        row("near", Half.PREDICTED, measured(100.0, 5.0), 104.0),
        row("next", Half.PREDICTED, measured(100.0, 5.0), 250.0),
        row("far", Half.CALIBRATES, measured(100.0, 5.0), 120.0),
        row("late", Half.CALIBRATES, None, 120.0),
    ),
    (
        Ordering(Measure.CPU, "near@2.8", "next@2.8", False),
        Ordering(Measure.CPU, "near@2.8", "far@2.8", None),
    ),
)


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    write_example(tmp_path / "reports")
    path = tmp_path / "reports" / "documents" / f"{EXPERIMENT}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(report_document(TRUST, "2 cores of <some> processor")), encoding="utf-8")
    return tmp_path / "reports"


def test_medians_counts_reasons_and_every_scene_are_on_the_page(reports):
    page = render_report(reports)
    Elements(page)  # well formed
    section = page[page.index('id="trust"') : page.index('id="figures"')]
    assert "played 4 small scenes" in section
    assert "2 of the 3 scenes" in section
    # The median of 1.04 and 2.5, and 1.2 on the half that may calibrate.
    assert "<b>1.77</b>" in section and "<b>1.20</b>" in section
    assert "0 of 1 that real Storm distinguishes" in section
    assert "1 of 4 measurements" in section
    assert "<code>next@2.8</code> cpu 2.50" in section
    assert "<code>near@2.8</code> and <code>next@2.8</code>, by cpu" in section
    assert "unusable: its workers were ready too late" in section
    for each in TRUST.recorded:
        assert f">{each.name}</td>" in section
    assert "&lt;some&gt; processor" in section


def test_scenes_of_several_machines_are_distinguished(reports):
    elsewhere = row("near", Half.PREDICTED, measured(100.0, 5.0), 110.0)
    two = Trust(
        (
            *(replace(each, machine="amd") for each in TRUST.recorded),
            replace(elsewhere, machine="intel"),
        ),
        tuple(replace(each, machine="amd") for each in TRUST.orderings),
    )
    table = machines_table(two).set_index("machine")
    assert table["predicted scenes"].to_dict() == {"amd": 2, "intel": 1}
    assert table.loc["amd", "CPU per tuple"] == pytest.approx(1.77)
    assert table.loc["intel", "CPU per tuple"] == pytest.approx(1.1)
    assert table["orderings wrong"].to_dict() == {"amd": "1 of 1", "intel": "0 of 0"}
    assert orderings_table(two)["machine"].tolist() == ["amd", "amd"]
    assert misses_table(two)["scene"].tolist() == ["amd next@2.8"]
    assert any(line.endswith("Storm 2.8, intel") for line in trust_lines(two))
    path = reports / "documents" / f"{EXPERIMENT}.json"
    path.write_text(json.dumps(report_document(two, "amd and intel")), encoding="utf-8")
    page = render_report(reports)
    section = page[page.index('id="trust"') : page.index('id="figures"')]
    assert "CPU per tuple, on amd" in section and "CPU per tuple, on intel" in section
    assert "<code>amd next@2.8</code> cpu 2.50" in section
    assert "intel: light, Storm 2.8: 1 scene<" in section


def test_without_a_comparison_the_section_says_how_to_make_one(tmp_path):
    write_example(tmp_path / "reports")
    page = render_report(tmp_path / "reports")
    assert "storm-lab reproduce live-trust" in page[page.index('id="trust"') :]


def test_the_notebook_links_back_to_the_section_of_the_report(reports):
    notebook = notebook_page(v4.new_notebook(), EXPERIMENT, report="../index.html")
    (anchor,) = re.findall(r'href="\.\./index\.html#([^"]+)"', notebook)
    assert render_report(reports).count(f'<section id="{anchor}"') == 1


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"scenes": 1}'])
def test_a_damaged_document_is_named(reports, text):
    (reports / "documents" / f"{EXPERIMENT}.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"live-trust\.json.*storm-lab reproduce live-trust"):
        read_trust(reports)


def test_only_predicted_measurements_that_miss_their_goal_are_listed_with_a_reason():
    table = misses_table(TRUST)
    assert table[["scene", "factor"]].values.tolist() == [["next@2.8", 2.5]]
    assert table["why"].tolist() == [UNKNOWN]
    assert misses_text(table) == f"- {UNKNOWN} *next@2.8 (cpu)*"
    assert misses_text(table.iloc[:0]) == "No misses."


def test_a_reason_may_hold_on_some_machines_only():
    reason = Reason(("near@*",), (Measure.CPU,), "Only there.", ("there",))
    assert reason.covers("near@2.8", Measure.CPU, "there")
    assert not reason.covers("near@2.8", Measure.CPU, "here")
    assert not reason.covers("near@2.8", Measure.P50, "there")


def test_every_reason_covers_scenes_that_are_played_and_is_a_full_sentence():
    names = all_scenes()
    for reason in reasons():
        assert len(reason.why) > 40 and reason.why.endswith(".")
        assert reason.measures
        for pattern in reason.scenes:
            assert any(
                type(reason)((pattern,), reason.measures, "").covers(name, measure)
                for name, (_, _, scene) in names.items()
                for measure in scene.measures
            ), pattern
