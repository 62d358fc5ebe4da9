"""The main job: emulations, notebooks and verdicts of one experiment or of all, then the report.

Each step is skipped where its result is there and nothing that it depends on has changed, so a second time
takes seconds and an interrupted job goes on where it stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from storm_lab.papers.registry import experiments
from storm_lab.platform.places import reports_folder
from storm_lab.runs.execute import JOBS
from storm_lab.runs.notebook import execute_notebook, is_current, notebook_digest, notebooks_folder
from storm_lab.runs.study import Study

if TYPE_CHECKING:
    from storm_lab.reporting.verdict import Verdict

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What became of a study: its executed notebook and verdict file, and whether they were current."""

    study: Study
    notebook: Path
    verdicts: Path
    reused: bool


def reproduce(
    study: Study,
    *,
    jobs: int = JOBS,
    show_progress: bool = False,
    fresh: bool = False,
    say: Say = lambda line: None,
) -> Reproduced:
    """Play the runs of a study and execute its notebook.

    With the default parameters verdicts, figures and notebook are published in ``reports/``; with others they
    stay in the study's workspace, for the report compares with the papers.

    Raises:
        StormLabError: a run or the notebook fails; what was published before stays.
        KeyboardInterrupt: nothing half done is left.
    """
    slug = study.experiment.slug
    digest = study.digest
    template = notebooks_folder() / study.experiment.notebook
    home = reports_folder() if study.is_default else study.workspace
    executed = home / "notebooks" / f"{slug}.ipynb"
    stamp = notebook_digest(template, digest)
    verdicts = home / "verdicts" / f"{slug}.json"
    played = study.play(jobs=jobs, show_progress=show_progress, fresh=fresh)
    new = sum(not run.reused for run in played)
    say(f"{slug}: {len(played)} runs, {new} of them new")
    if not fresh and is_current(executed, stamp) and verdicts.is_file():
        say(f"{slug}: the notebook is current")
        return Reproduced(study, executed, verdicts, reused=True)
    say(f"{slug}: executing {study.experiment.notebook}")
    given = {
        name: value for name, value in study.parameters.items() if value != study.experiment.checked()[name]
    }
    for made in ("figures", "verdicts"):
        shutil.rmtree(study.workspace / made, ignore_errors=True)
    execute_notebook(template, executed, given, stamp)
    if home != study.workspace:
        _publish(study, home)
    return Reproduced(study, executed, verdicts, reused=False)


def studies(slugs: Sequence[str]) -> tuple[Study, ...]:
    """The studies of these experiments, or of all, with default parameters.

    Raises:
        UserError: no such experiment.
    """
    return tuple(Study.of(slug) for slug in (slugs or [item.slug for item in experiments()]))


def build_report() -> Path:
    """Write ``reports/index.html`` from what is published.

    Raises:
        UserError: a published file is damaged.
    """
    from storm_lab.emulator.constant import constants_of
    from storm_lab.emulator.control.times import ControlTimes
    from storm_lab.emulator.cost import CostModel
    from storm_lab.reporting.report import ConstantRecord, collect_report, write_report

    constants = [
        ConstantRecord(**{field.name: getattr(entry, field.name) for field in fields(ConstantRecord)})
        for model in (CostModel(), ControlTimes())
        for entry in constants_of(model)
    ]
    home = reports_folder()
    notebooks = {item.slug: f"notebooks/{item.slug}.html" for item in experiments()}
    return write_report(home / "index.html", collect_report(home, constants=constants, notebooks=notebooks))


def published_verdicts() -> tuple[Verdict, ...]:
    """One verdict for every claim of the ledger, from what is published.

    Raises:
        UserError: a verdict file is damaged.
    """
    from storm_lab.reporting.record import collect_verdicts

    return collect_verdicts(reports_folder() / "verdicts")


def _publish(study: Study, home: Path) -> None:
    """Bring figures and verdict file from the workspace to ``home``, the verdicts last."""
    slug = study.experiment.slug
    figures = home / "figures" / slug
    made = study.workspace / "figures" / slug
    if made.is_dir():
        new = figures.with_name(f".{slug}.{os.getpid()}.part")
        shutil.rmtree(new, ignore_errors=True)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, new)
        shutil.rmtree(figures, ignore_errors=True)
        new.rename(figures)
    verdicts = home / "verdicts" / f"{slug}.json"
    verdicts.parent.mkdir(parents=True, exist_ok=True)
    part = verdicts.with_name(f".{verdicts.name}.{os.getpid()}.part")
    try:
        shutil.copyfile(study.workspace / "verdicts" / verdicts.name, part)
        part.replace(verdicts)
    finally:
        part.unlink(missing_ok=True)
