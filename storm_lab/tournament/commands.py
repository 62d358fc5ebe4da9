"""The commands ``storm-lab league`` and ``storm-lab compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from storm_lab.errors import UserError
from storm_lab.league.entrant import Entrant
from storm_lab.league.field import BASELINE, RUNS_ON_MEASURED_LOAD, entrant_of, field
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import (
    FiniteRange,
    answer,
    constants_option,
    examples,
    jobs_option,
    json_option,
    on_spark_option,
    print_json,
)
from storm_lab.machine.places import data_folder
from storm_lab.runs.completion import complete_suite
from storm_lab.runs.digest import text_digest
from storm_lab.runs.execute import count_existing
from storm_lab.runs.grid import parse_seeds
from storm_lab.runs.live_constants import given_constants
from storm_lab.schedulers.scheduler_file import (
    complete_scheduler,
    names_of,
    policies_option,
    schedulers_option,
)
from storm_lab.tournament.comparison import compared, comparison_text
from storm_lab.tournament.report import LeagueReport
from storm_lab.tournament.suite import DURATION_S, suite
from storm_lab.tournament.tournament import Tournament

_defaulting = partial(click.option, show_default=True)
_SUITE_OPTIONS = (
    _defaulting(
        "--suite",
        "suite_name",
        default="papers",
        metavar="papers|generated|FILE",
        shell_complete=complete_suite,
        help="Suite of cases; a YAML file lists your own.",
    ),
    click.option("--only", multiple=True, metavar="NAME", help="Only cases whose names begin with NAME."),
    _defaulting("--seeds", default="1-5", help="Seeds, as 1-5 or 1,2,7; the same for all schedulers."),
    _defaulting(
        "--instances",
        default=1,
        type=click.IntRange(1, 100),
        help="Generated suite: instances of each family on each kind of machines.",
    ),
    _defaulting("--suite-seed", "seed", default=1, help="Generated suite: first seed of generated cases."),
    _defaulting(
        "--duration",
        "duration_s",
        default=DURATION_S,
        type=FiniteRange(240, 7200),
        help="Virtual duration of each run in seconds.",
    ),
    constants_option,
    jobs_option,
    on_spark_option,
    json_option,
)

_OPTION_OF = {"suite_name": "suite", "seed": "suite_seed"}
"""Arguments of the commands whose names differ from those of their options."""


def suite_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose cases, seeds, duration and machine, and how to play and answer."""
    for option in reversed(_SUITE_OPTIONS):
        command = option(command)
    return command


def _tournament(
    entrants: tuple[Entrant, ...], *, suite_name: str, seeds: str, constants: str | None, **of_suite: Any
) -> Tournament:
    cases = suite(suite_name, **of_suite)
    return Tournament(entrants, cases, parse_seeds(seeds), given_constants(constants))


@click.command(
    epilog=examples(
        "storm-lab league --scheduler my_idea.py:MyIdea",
        "storm-lab league --scheduler my_idea.py:MyIdea:nodes=3 --suite generated --instances 3",
        "storm-lab league --scheduler online:my_idea.py --policies default,tstorm --only tstorm --seeds 1-3",
    )
)
@schedulers_option("Your own scheduler, or an installed one by name; prefix online: for measured load.")
@policies_option("Built-in policies to play against; all by default.")
@_defaulting("--baseline", default=BASELINE, help="Scheduler that gains are measured against.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the results.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be played and how many runs are already on disk."
)
@suite_options
def league(
    schedulers: tuple[str, ...],
    policies: str | None,
    baseline: str,
    jobs: int,
    on_spark: bool,
    out: Path | None,
    dry_run: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Rank schedulers on many topologies and machines, with paired seeds and tests.

    Runs that have been played before are not played again; after an interruption, the same command continues.
    A scheduler that fails loses the case, and the others continue. The folder that is printed at the end
    holds all tables as CSV and LaTeX, the critical-difference diagram and a notebook.
    """
    names = list(RUNS_ON_MEASURED_LOAD) if policies is None else names_of(policies, others=bool(schedulers))
    entrants = field(schedulers, names)
    known = [entrant.name for entrant in entrants]
    if baseline not in known:
        remedy = f"choose one of {', '.join(known)}"
        raise UserError("is not among the schedulers", field="baseline", value=baseline, remedy=remedy)
    tournament = _tournament(entrants, **chosen)
    if dry_run:
        specs = (spec for own in tournament.specs().values() for spec in own)
        count = {"entrants": len(entrants), "cases": len(tournament.cases), **count_existing(specs)}
        click.echo(json.dumps(count) if as_json else " ".join(f"{k} {v}" for k, v in count.items()))
        return
    if out is not None:
        check_folder(out, field="out")
    rows = tournament.play(jobs=jobs, on_spark=on_spark)
    own = tuple(entrant_of(text).name for text in dict.fromkeys(schedulers))
    options = {_OPTION_OF.get(name, name): value for name, value in chosen.items()}
    report = LeagueReport(rows, own, baseline, {**options, **tournament.settings()})
    if report.scores.empty:
        message = f"no scheduler finished a case; first reason: {rows['problem'].iloc[0]}"
        raise UserError(message, field="league")
    if out is None:
        asked = text_digest(*sorted(rows["run"]))[:12]
        out = data_folder() / "leagues" / f"{Path(chosen['suite_name']).stem}-{asked}"
    report.write(out)
    if as_json:
        document = {"folder": str(out), "standing": json.loads(report.standing.to_json(orient="records"))}
        print_json(document)
    else:
        click.echo(report.text())
        click.echo(f"\nTables, diagram and notebook are in {out}")


@click.command(
    epilog=examples(
        "storm-lab compare my_idea.py:MyIdea default",
        "storm-lab compare my_idea.py my_other_idea.py --suite generated",
        "storm-lab compare tstorm:gamma=1.2 tstorm:gamma=1.8 --only tstorm --seeds 1-3",
    )
)
@click.argument("one", metavar="A", shell_complete=complete_scheduler)
@click.argument("other", metavar="B", shell_complete=complete_scheduler)
@suite_options
def compare(one: str, other: str, jobs: int, on_spark: bool, as_json: bool, **chosen: Any) -> None:
    """Say in one page whether scheduler A is better than B, where, and by how much.

    A and B are given as in the league. The exit status is 0 whatever the result.
    """
    if one == other:
        remedy = "give another one, or other settings of it, such as tstorm:gamma=1.8"
        raise UserError("A and B are the same scheduler", field="B", value=other, remedy=remedy)
    rows = _tournament(field((one, other), ()), **chosen).play(jobs=jobs, on_spark=on_spark)
    first, second = (entrant_of(text).name for text in (one, other))
    found = compared(rows, first, second)
    answer(as_json, found.document(), comparison_text(found))
