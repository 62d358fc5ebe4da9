"""An experiment without claims: the report shows its figures and links its notebook, but has no verdicts."""

from pathlib import Path

import pandas as pd
import pytest

from storm_lab.papers.mfstorm.beyond import EXPERIMENT, SLUG
from storm_lab.papers.registry import experiment
from storm_lab.reporting.figures.grouped_bars import grouped_bars
from storm_lab.reporting.figures.saved import save_figure
from storm_lab.reporting.figures.style import About
from storm_lab.reporting.readme import verdict_table
from storm_lab.reporting.record import VerdictFile, collect_verdicts, read_verdicts, write_verdicts
from storm_lab.reporting.report import render_report
from storm_lab.reporting.verdict import Outcome
from tests.reporting.test_grouped_bars import ROWS


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A reports folder that holds only the experiment's own files."""
    record = VerdictFile(
        experiment=SLUG, parameters={"seeds": [1]}, seeds=(1,), code_digest="0" * 64, measurements=()
    )
    write_verdicts(tmp_path / "verdicts", record)
    figure = grouped_bars(
        ROWS, {"rate": "tuples/s"}, group="scenario", variants=("a", "b"), about=About(seeds=2)
    )
    save_figure(figure, tmp_path / "figures" / SLUG / "throughput.svg", title="Awake spouts", alt="Bars.")
    notebook = tmp_path / "notebooks" / f"{SLUG}.html"
    notebook.parent.mkdir()
    notebook.write_text("<p>executed</p>")
    return tmp_path


def test_the_experiment_measures_nothing() -> None:
    class Empty:
        steady = component_throughput_60s = pd.DataFrame()

    assert EXPERIMENT.measure(Empty(), EXPERIMENT.checked()) == ()
    assert experiment(SLUG) is EXPERIMENT


def test_the_verdict_file_is_empty_and_changes_no_other_verdict(reports: Path) -> None:
    assert read_verdicts(reports / "verdicts" / f"{SLUG}.json").measurements == ()
    verdicts = collect_verdicts(reports / "verdicts")
    assert {verdict.outcome for verdict in verdicts} <= {Outcome.NOT_RUN, Outcome.NOT_TESTABLE}
    assert "MF-Storm" in verdict_table(verdicts)


def test_the_report_shows_its_figures_under_its_paper_and_links_its_notebook(reports: Path) -> None:
    page = render_report(reports)
    after = page[page.index("<h3>MF-Storm</h3>") :]
    gallery = after[: after.index("<h3>", 5) if "<h3>" in after[5:] else None]
    assert "Awake spouts" in gallery
    assert f'href="notebooks/{SLUG}.html"' in gallery
