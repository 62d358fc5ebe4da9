"""The introductory notebooks: all cells run without errors or warnings."""

from pathlib import Path

import nbformat
import pytest

from storm_lab.runs.notebook import notebooks_folder

papermill = pytest.importorskip("papermill")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["what_if", "watch", "how_storm_works", "advise"])
def test_the_notebook_runs_without_errors_or_warnings(
    name: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORM_LAB_DATA", str(tmp_path / "data"))
    done: Path = tmp_path / f"{name}.ipynb"
    papermill.execute_notebook(
        str(notebooks_folder() / f"{name}.ipynb"), str(done), cwd=str(tmp_path), progress_bar=False
    )
    for cell in nbformat.read(done, as_version=4).cells:
        for output in cell.get("outputs", []):
            text = str(output.get("text", ""))
            assert output.output_type != "error"
            assert "Warning" not in text
