"""From the command to verdicts, figures and an executed notebook, on a short run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storm_lab.machine.places import DATA_VARIABLE, REPORTS_VARIABLE

SETTINGS = ("duration_s=120", "seeds=1,2", "lines_per_s=20", "gammas=1")


def storm_lab(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    # Started elsewhere on purpose: nothing may depend on the working folder.
    return subprocess.run(
        [sys.executable, "-m", "storm_lab.cli", *arguments],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.spark
def test_a_run_with_given_parameters_writes_verdicts_figures_and_a_notebook(tmp_path: Path) -> None:
    text = tmp_path / "mine.txt"
    text.write_text("to be or not to be\n\nthat is the question\n")
    given = [part for setting in (*SETTINGS, "text=mine.txt") for part in ("-p", setting)]
    first = storm_lab("run", "tstorm-word-count", *given, "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    verdicts = {row["id"]: row["verdict"] for row in answer["claims"]}
    assert verdicts["tstorm-fig6a-nodes"] == "reproduced"
    assert verdicts["tstorm-fig6b-nodes"] == "not run", "gamma 1.8 was not asked for"
    notebook = Path(answer["notebook"])
    assert "reports" not in notebook.parts, "the report compares with the papers' own settings"
    bytes_before = notebook.read_bytes(), notebook.with_suffix(".html").read_bytes()
    figures = notebook.parents[1] / "figures" / "tstorm-word-count"
    drawn = {"claims.svg", "figure-6.svg", "inserts.svg", "placement.svg", "placement-storm.svg"}
    assert {path.name for path in figures.iterdir()} == drawn

    second = storm_lab("run", "tstorm-word-count", *given, "--json", cwd=tmp_path)
    assert json.loads(second.stdout) == answer | {"reused": True}

    third = storm_lab("run", "tstorm-word-count", *given, "--json", "--fresh", cwd=tmp_path)
    assert json.loads(third.stdout) == answer
    assert (notebook.read_bytes(), notebook.with_suffix(".html").read_bytes()) == bytes_before


@pytest.mark.slow
def test_results_that_come_with_a_clone_are_computed_again(tmp_path: Path) -> None:
    def reproduced(data: str) -> bool:
        places = {DATA_VARIABLE: str(tmp_path / data), REPORTS_VARIABLE: str(tmp_path / "reports")}
        done = storm_lab("reproduce", "algorithms", cwd=tmp_path, **places)
        assert done.returncode == 0, done.stderr
        return "executing algorithms.ipynb" in done.stdout + done.stderr

    assert reproduced("mine")
    assert not reproduced("mine")
    assert reproduced("of a clone"), "its reports are current, but nothing was computed in it"
