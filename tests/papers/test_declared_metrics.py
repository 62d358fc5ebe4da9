"""What every experiment declares: runs with names of their own, and the metric tables that it reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from storm_lab.experiments.experiment import Experiment
from storm_lab.experiments.readings import Tables
from storm_lab.papers.registry import experiments
from storm_lab.pipeline.metric_tables import TABLE_NAMES

ROOT = Path(__file__).resolve().parents[2]


def by_slug(experiment: Experiment) -> str:
    return experiment.slug


@pytest.mark.parametrize("experiment", experiments(), ids=by_slug)
def test_a_notebook_uses_only_declared_tables(experiment: Experiment) -> None:
    cells = json.loads((ROOT / "notebooks" / experiment.notebook).read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    named = {name for name in re.findall(r"\btables\.(\w+)", code) if name in TABLE_NAMES}
    assert named <= set(experiment.metrics) <= set(TABLE_NAMES)
    assert bool(experiment.metrics) == ("study.metrics()" in code)


@pytest.mark.parametrize("experiment", experiments(), ids=by_slug)
def test_no_two_runs_of_an_experiment_have_the_same_name_and_seed(experiment: Experiment) -> None:
    keys = [spec.key for spec in experiment.runs(experiment.checked())]
    assert len(set(keys)) == len(keys)


def test_measures_read_only_tables_that_the_pipeline_computes() -> None:
    assert set(Tables.__annotations__) <= {*TABLE_NAMES, "runs"}


@pytest.mark.parametrize("experiment", experiments(), ids=by_slug)
def test_no_published_notebook_computed_an_undeclared_table(experiment: Experiment) -> None:
    published = ROOT / "reports" / "notebooks" / f"{experiment.slug}.ipynb"
    assert "was not requested: loading" not in published.read_text(encoding="utf-8")
