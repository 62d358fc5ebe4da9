"""The commands ``storm-lab run`` and ``storm-lab reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from storm_lab.errors import UserError
from storm_lab.experiments.ledger import load_claims
from storm_lab.machine.options import (
    answer,
    constants_option,
    examples,
    fresh_option,
    jobs_option,
    json_option,
    param_option,
    print_json,
)
from storm_lab.papers.registry import experiment
from storm_lab.reporting.record import claim_rows, judged, read_verdicts
from storm_lab.reporting.verdict import Verdict
from storm_lab.runs.completion import complete_experiment
from storm_lab.runs.execute import PlannedRun
from storm_lab.runs.expected import cost_text
from storm_lab.runs.live_constants import given_constants
from storm_lab.runs.prepare import prepare
from storm_lab.runs.reproduce import (
    Reproduced,
    build_report,
    costs_together,
    published_verdicts,
    studies,
    writable_reports,
)
from storm_lab.runs.reproduce import reproduce as reproduce_studies
from storm_lab.runs.study import NO_CLAIMS, QUICK, Study, quick_studies, verdict_table

_say = partial(click.echo, err=True)


@click.command(
    epilog=examples(
        "storm-lab run tstorm-word-count",
        "storm-lab run tstorm-word-count -p gammas=1,1.4,1.8 -p lines_per_s=150",
        "storm-lab run tstorm-word-count -p text=my_novel.txt --emulate-only",
        "storm-lab run tstorm-word-count --constants memory_slowdown=5,timers_drift=false",
    )
)
@click.argument("slug", metavar="EXPERIMENT", shell_complete=complete_experiment)
@param_option()
@click.option("--emulate-only", is_flag=True, help="Play the emulations and stop before the notebook.")
@constants_option
@jobs_option
@fresh_option
@json_option
def run(
    slug: str,
    parameters: tuple[str, ...],
    emulate_only: bool,
    constants: str | None,
    jobs: int,
    fresh: bool,
    as_json: bool,
) -> None:
    """Run one experiment with parameters of your own.

    With the default parameters the results go to reports/, otherwise to a folder that is named at the end.
    """
    found = experiment(slug)
    study = Study(found, found.parsed(parameters), given_constants(constants))
    if emulate_only:
        rows = _run_rows(study.play(jobs=jobs, show_progress=True, fresh=fresh))
        answer(as_json, rows, "\n".join(str(row["folder"]) for row in rows))
        return
    (done,) = _reproduced((study,), jobs, fresh)
    if as_json:
        print_json(_answer(done))
    else:
        _print_outcome(done)


@click.command(
    epilog=examples("storm-lab reproduce quick", "storm-lab reproduce", "storm-lab reproduce algorithms")
)
@click.argument("slugs", metavar="[EXPERIMENT]...", nargs=-1, shell_complete=complete_experiment)
@click.option(
    "--no-notebooks",
    is_flag=True,
    help="Play the emulations, compute the metrics and stop before the notebooks.",
)
@jobs_option
@fresh_option
@json_option
def reproduce(slugs: tuple[str, ...], no_notebooks: bool, jobs: int, fresh: bool, as_json: bool) -> None:
    """Reproduce all experiments, or some, and write the report.

    Results that are current are kept: a second call takes seconds, and after an interruption the same command
    continues. "quick" plays one small experiment of every paper, with one seed, in minutes.
    """
    first_look = QUICK in slugs
    if first_look and set(slugs) != {QUICK}:
        remedy = "run it alone, then the others"
        raise UserError("cannot be combined with experiments", field="experiment", value=QUICK, remedy=remedy)
    chosen = quick_studies() if first_look else studies(slugs)
    writable_reports()
    if not first_look and (costs := costs_together(chosen)):
        _say(f"from scratch this takes {cost_text(costs, jobs)}")
    if no_notebooks:
        prepared = prepare(chosen, jobs=jobs, fresh=fresh, say=_say)
        if as_json:
            print_json([row for played in prepared.runs for row in _run_rows(played)])
        return
    all_done = _reproduced(chosen, jobs, fresh)
    page = None if first_look else build_report()
    if as_json:
        print_json([_answer(done) for done in all_done])
    elif first_look:
        for done in all_done:
            found = done.study.experiment
            click.echo(f"\n{found.slug}: {found.title} ({found.paper}, {found.figure})")
            _print_outcome(done)
        click.echo(
            "\nthese are single seeds, for a first impression; for the report run: storm-lab reproduce"
        )
    else:
        _print_verdicts(chosen)
        click.echo(f"\nreport: {page}")


def _print_verdicts(chosen: Sequence[Study]) -> None:
    claims = {claim for study in chosen for claim in study.experiment.claims}
    verdicts = tuple(verdict for verdict in published_verdicts() if verdict.claim.id in claims)
    reasons = dict.fromkeys(_why_none(study.experiment.slug) for study in chosen)
    click.echo(verdict_table(verdicts, "\n".join(reasons)))


def _run_rows(played: Sequence[PlannedRun]) -> list[dict[str, object]]:
    return [
        {name: getattr(run.spec, name) for name in ("experiment", "variant", "seed")}
        | {"folder": str(run.folder), "reused": run.reused}
        for run in played
    ]


def _reproduced(studies: tuple[Study, ...], jobs: int, fresh: bool) -> tuple[Reproduced, ...]:
    return reproduce_studies(studies, jobs=jobs, fresh=fresh, say=_say)


def _print_outcome(done: Reproduced) -> None:
    found = done.study.experiment
    click.echo(verdict_table(_judged(done)) if found.claims else _why_none(found.slug))
    click.echo(f"\nnotebook: {done.notebook.with_suffix('.html')}")


def _why_none(slug: str) -> str:
    judged = [claim for claim in load_claims().claims if claim.experiment == slug]
    if not judged:
        return NO_CLAIMS
    owners = ", ".join(dict.fromkeys(claim.owner for claim in judged))
    return f"claims: judged in {owners}; see storm-lab claims --experiment {slug}"


def _judged(done: Reproduced) -> tuple[Verdict, ...]:
    return judged(done.study.experiment.claims, read_verdicts(done.verdicts).measurements)


def _answer(done: Reproduced) -> dict[str, object]:
    return {
        "experiment": done.study.experiment.slug,
        "notebook": str(done.notebook),
        "reused": done.reused,
        "claims": claim_rows(_judged(done)),
    }
