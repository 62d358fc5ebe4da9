"""The command ``storm-lab figures``: an experiment's figures as SVG, PNG or PDF."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import answer, examples, jobs_option, json_option, param_option
from storm_lab.machine.places import variables
from storm_lab.papers.registry import experiment
from storm_lab.reporting.figures.saved import FORMATS, VARIABLE
from storm_lab.runs.completion import complete_experiment
from storm_lab.runs.prepare import prepare
from storm_lab.runs.reproduce import notebook_job
from storm_lab.runs.study import Study


@click.command(
    epilog=examples(
        "storm-lab figures tstorm-word-count --to paper/figures",
        "storm-lab figures rstorm-yahoo --format pdf --to paper/figures -p seeds=1,2",
    )
)
@click.argument("slug", metavar="EXPERIMENT", shell_complete=complete_experiment)
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    help="Repeatable; by default all three are written.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Folder for the files.",
)
@param_option()
@jobs_option
@json_option
def figures(
    slug: str, formats: tuple[str, ...], folder: Path, parameters: tuple[str, ...], jobs: int, as_json: bool
) -> None:
    """Write an experiment's figures as SVG, PNG or PDF.

    Plays the runs that are missing and executes the notebook. The results in reports/ do not change.
    """
    found = experiment(slug)
    study = Study(found, found.parsed(parameters))
    check_folder(folder, field="to")
    prepare([study], jobs=jobs, say=lambda line: click.echo(line, err=True))
    files = [str(path) for path in draw(study, formats or FORMATS, folder)]
    answer(as_json, files, "\n".join(files))


def draw(study: Study, formats: tuple[str, ...], folder: Path) -> list[Path]:
    """Execute a study's notebook and return its figures' files in ``folder``; `StormLabError` if it fails."""
    with tempfile.TemporaryDirectory(prefix="storm_lab-figures-") as scratch:
        with variables({VARIABLE: f"{scratch}{os.pathsep}{','.join(formats)}"}):
            notebook_job(study).execute_at(Path(scratch) / "executed" / f"{study.experiment.slug}.ipynb")
        folder.mkdir(parents=True, exist_ok=True)
        made = sorted(path for path in Path(scratch).iterdir() if path.is_file())
        return [Path(shutil.copy(path, folder / path.name)) for path in made]
