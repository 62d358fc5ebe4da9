"""The command ``storm-lab compare``."""

from __future__ import annotations

from pathlib import Path

import click

from storm_lab.league.field import entrant_of, field
from storm_lab.machine.options import examples, print_json
from storm_lab.runs.grid import parse_seeds
from storm_lab.runs.live_constants import read_constants
from storm_lab.schedulers.scheduler_file import complete_scheduler
from storm_lab.tournament.comparison import compared, comparison_text
from storm_lab.tournament.league_command import suite_options
from storm_lab.tournament.suite import suite
from storm_lab.tournament.tournament import Tournament


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
def compare(
    one: str,
    other: str,
    suite_name: str,
    only: tuple[str, ...],
    seeds: str,
    instances: int,
    suite_seed: int,
    duration_s: float,
    constants: Path | None,
    jobs: int,
    on_spark: bool,
    as_json: bool,
) -> None:
    """Say in one page whether scheduler A is better than B, where, and by how much.

    A and B as the league takes them. Exit status 0 whatever comes out.
    """
    entrants = field((one, other), ())
    cases = suite(suite_name, only=only, instances=instances, seed=suite_seed, duration_s=duration_s)
    machine = None if constants is None else read_constants(constants)
    rows = Tournament(entrants, cases, parse_seeds(seeds), machine).play(jobs=jobs, on_spark=on_spark)
    first, second = (entrant_of(text).name for text in (one, other))
    found = compared(rows, first, second)
    if as_json:
        print_json(found.document())
    else:
        click.echo(comparison_text(found))
