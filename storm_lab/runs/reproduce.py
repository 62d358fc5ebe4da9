"""The main job: emulations, metrics, notebooks and verdicts of some or all experiments, then the report.

Each step is skipped if its result exists and nothing that it depends on has changed. So a second call takes
seconds, and an interrupted job continues where it stopped.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from storm_lab.emulator.control.times import ControlTimes
from storm_lab.emulator.control.zookeeper import ZooKeeperPlan
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import StormLabError
from storm_lab.experiments.parameter import ParameterValue
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.places import REPORTS_VARIABLE, checkout, reports_folder, runs_folder
from storm_lab.model.constant import constants_of
from storm_lab.papers.registry import experiments, place_of
from storm_lab.reporting.record import collect_verdicts
from storm_lab.reporting.verdict import Verdict
from storm_lab.runs.execute import JOBS
from storm_lab.runs.expected import Cost, expected_costs, write_cost
from storm_lab.runs.namespace import CHOICE, CONSTANTS
from storm_lab.runs.notebook import is_current, notebook_digest, notebooks_folder
from storm_lab.runs.pool import Advance
from storm_lab.runs.prepare import Say, prepare
from storm_lab.runs.publish import has_own_verdicts, is_published, publish
from storm_lab.runs.study import Study
from storm_lab.tuplelog import find_runs


@dataclass(frozen=True, slots=True)
class Reproduced:
    """Result of a study: its executed notebook and verdict file, and whether they were current before.

    ``cost`` is None if some results were reused; ``cells_s`` is the part that the notebook's cells took.
    """

    study: Study
    notebook: Path
    verdicts: Path
    reused: bool
    cost: Cost | None = None
    cells_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NotebookJob:
    """A notebook to execute; can be sent to another process."""

    template: Path
    executed: Path
    parameters: dict[str, ParameterValue]
    stamp: str

    def execute_at(self, executed: Path) -> float:
        """Write the executed notebook and return its cells' seconds; `StormLabError` if either fails."""
        # Papermill and the rendering of pages take seconds to import, and most notebooks are current.
        from storm_lab.runs.notebook_run import execute_notebook

        try:
            return execute_notebook(self.template, executed, self.parameters, self.stamp)
        except OSError as error:
            raise StormLabError(f"{executed.name} cannot be written ({error.strerror or error})") from error


def reproduce(
    studies: Sequence[Study],
    *,
    jobs: int = JOBS,
    fresh: bool = False,
    say: Say = lambda line: None,
) -> tuple[Reproduced, ...]:
    """Play the runs of some studies, compute their metrics in one Spark session and execute their notebooks.

    A notebook is executed as soon as its metrics exist. With the default parameters, verdicts, figures and
    notebook are published in ``reports/``. With others they stay in the study's workspace, because the report
    compares with the papers. Raises `StormLabError` if a run or a notebook failed, after all other notebooks
    are executed and published.
    """
    writable_reports()
    notebooks = [notebook_job(study) for study in studies]
    pairs = enumerate(zip(studies, notebooks, strict=True))
    stale = [place for place, pair in pairs if fresh or not _has_current_results(*pair)]
    for place in stale:
        for made in ("figures", "documents", "verdicts"):
            shutil.rmtree(studies[place].workspace / made, ignore_errors=True)
    failed: dict[int, StormLabError] = {}

    def on_progress(place: int, share: float) -> None:
        study = studies[place]
        if share == 0.0:
            say(f"{study.experiment.slug}: executing {study.experiment.notebook}")
        # Published as soon as it is complete, so that an interruption does not lose it.
        if share >= 1.0 and study.is_default and place not in failed:
            try:
                publish(study, notebooks[place].stamp)
            except StormLabError as error:
                failed[place] = error

    prepared = prepare(
        studies,
        jobs=jobs,
        fresh=fresh,
        say=say,
        side_tasks={place: partial(_execute, notebooks[place]) for place in longest_first(studies, stale)},
        on_side_progress=on_progress,
        on_side_failure=failed.__setitem__,
    )
    done = []
    for place, study in enumerate(studies):
        verdicts = _home(study) / "verdicts" / f"{study.experiment.slug}.json"
        found = Reproduced(study, notebooks[place].executed, verdicts, reused=place not in stale)
        if place in prepared.side_results:
            seconds, cells_s = prepared.side_results[place]
            cost = prepared.cost_of(place, seconds)
            found = replace(found, cost=cost, cells_s=cells_s)
            if cost is not None:
                write_cost(study.workspace, cost)
        done.append(found)
    if len(failed) == 1:
        raise next(iter(failed.values()))
    if failed:
        raise StormLabError("\n".join(str(error) for error in failed.values()))
    return tuple(done)


def costs_together(studies: Sequence[Study]) -> tuple[Cost, ...]:
    """Return the expected cost of each study whose cost is known, without runs that one before it plays, too.

    All runs of a study are taken to cost the same. Raises `UserError` if inputs cannot be read.
    """
    known = expected_costs()
    found, played = [], set[tuple[str, str, int]]()
    for study in studies:
        keys = {spec.key for spec in study.specs()}
        own = len(keys - played) / len(keys) if keys else 1.0
        played |= keys
        if cost := known.get(study.experiment.slug):
            emulation_s, metrics_s, disk_mb = cost.emulation_s * own, cost.metrics_s * own, cost.disk_mb * own
            found.append(Cost(emulation_s, metrics_s, cost.notebook_s, disk_mb))
    return tuple(found)


def longest_first(studies: Sequence[Study], places: Sequence[int]) -> list[int]:
    """Sort the studies so that no core waits at the end for a long notebook that began last."""
    seconds = {slug: cost.notebook_s for slug, cost in expected_costs().items()}
    return sorted(places, key=lambda place: seconds.get(studies[place].experiment.slug, 0.0), reverse=True)


def notebook_job(study: Study) -> NotebookJob:
    """The notebook of a study with the parameters that differ from its defaults."""
    defaults = study.experiment.checked()
    template = notebooks_folder() / study.experiment.notebook
    changed = {name: value for name, value in study.parameters.items() if value != defaults[name]}
    if sum(item.notebook == study.experiment.notebook for item in experiments()) > 1:
        changed = {CHOICE: study.experiment.slug, **changed}
    if study.machine is not None:
        changed = {CONSTANTS: study.machine.as_notebook_value(study.workspace), **changed}
    return NotebookJob(
        template,
        _home(study) / "notebooks" / f"{study.experiment.slug}.ipynb",
        changed,
        notebook_digest(template, study.digest, place_of(study.experiment.slug)),
    )


def _home(study: Study) -> Path:
    return reports_folder() if study.is_default else study.workspace


def _has_current_results(study: Study, notebook: NotebookJob) -> bool:
    return (
        is_current(notebook.executed, notebook.stamp)
        # A clone brings verdicts along. They may be right, but reproducing is meant to show it.
        and has_own_verdicts(study)
        and (not study.is_default or is_published(study, notebook.stamp))
    )


def _execute(job: NotebookJob, advance: Advance) -> tuple[float, float]:
    """Execute a notebook and return the seconds that it took, and those of its cells."""
    advance(0.0)
    began = time.perf_counter()
    cells_s = job.execute_at(job.executed)
    return time.perf_counter() - began, cells_s


def studies(slugs: Sequence[str]) -> tuple[Study, ...]:
    """Studies of some experiments or all, each once, with default parameters; `UserError`: unknown name."""
    return tuple(Study.of(slug) for slug in dict.fromkeys(slugs or [item.slug for item in experiments()]))


def writable_reports() -> Path:
    """Folder of the reports, created if missing; `UserError`, before any work, if it is not writable."""
    home = reports_folder()
    check_folder(home, field=REPORTS_VARIABLE)
    return home


def build_report() -> Path:
    """Write ``reports/index.html`` from the published results, with the damaged run folders.

    Raises `UserError` if a published file is damaged or the folder is not writable.
    """
    # Imported here, because it loads matplotlib, which is not needed to play runs.
    from storm_lab.reporting.report import render_report, write_report

    constants = [*constants_of(CostModel()), *constants_of(ControlTimes())]
    constants += [
        replace(
            each,
            source=f"heartbeats of {workers} workers, one in 3 s each, beside 333 offsets a second",
            fitted=True,
            chosen_on=(claim,),
        )
        for plan, workers, claim in (
            (ZooKeeperPlan.dedicated(), 300, "twitter-zk-limit-dedicated"),
            (ZooKeeperPlan(), 1200, "twitter-zk-limit-db-hw"),
        )
        for each in constants_of(plan)
        if each.name == "writes_per_s"
    ]
    home = writable_reports()
    # Reads every byte of every log: three seconds of processor time for 1,500 runs.
    _, damaged = find_runs(runs_folder(), verify=True)
    page = render_report(home, constants=constants, damaged=damaged, made_from=_commit())
    return write_report(home, page)


def _commit() -> str:
    """The checkout's last commit and its date; empty without a checkout or git."""
    root = checkout()
    if root is None:
        return ""
    command = ["git", "-C", str(root), "log", "-1", "--format=commit %h of %cs"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def published_verdicts() -> tuple[Verdict, ...]:
    """Verdict for every claim, from the published files; `UserError` if a verdict file is damaged."""
    return collect_verdicts(reports_folder() / "verdicts")
