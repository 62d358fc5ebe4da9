"""The command ``storm-lab compare``."""

from __future__ import annotations

import json

import click

from storm_lab.league.field import entrant_of
from storm_lab.machine.options import examples, jobs_option, json_option
from storm_lab.runs.grid import parse_seeds


@click.command(
    epilog=examples(
        "storm-lab compare my_idea.py:MyIdea default",
        "storm-lab compare my_idea.py my_other_idea.py --suite generated",
        "storm-lab compare tstorm:gamma=1.2 tstorm:gamma=1.8 --only tstorm --seeds 1-3",
    )
)
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option("--suite", "suite_name", default="papers", show_default=True, metavar="papers|generated|FILE")
@click.option("--only", multiple=True, metavar="NAME", help="Only cases that begin like this.")
@click.option("--seeds", default="1-5", show_default=True, help="Seeds, as 1-5 or 1,2,7; the same for both.")
@click.option("--instances", default=1, show_default=True, type=click.IntRange(1, 100), help="As of league.")
@click.option(
    "--duration",
    "duration_s",
    default=420.0,
    show_default=True,
    type=click.FloatRange(240, 7200),
    help="Virtual seconds of a run.",
)
@jobs_option
@click.option("--on-spark", is_flag=True, help="Play on Spark, as of league.")
@json_option
def compare(
    one: str,
    other: str,
    suite_name: str,
    only: tuple[str, ...],
    seeds: str,
    instances: int,
    duration_s: float,
    jobs: int,
    on_spark: bool,
    as_json: bool,
) -> None:
    """Say in one page whether scheduler A is better than B, where, and by how much.

    A and B as the league takes them. Exit status 0 whatever comes out.
    """
    from storm_lab.league.field import field
    from storm_lab.runs.comparison import compared, comparison_text
    from storm_lab.runs.suite import suite
    from storm_lab.runs.tournament import Tournament

    entrants = field((one, other), ())
    cases = suite(suite_name, only=only, instances=instances, duration_s=duration_s)
    rows = Tournament(entrants, cases, parse_seeds(seeds)).play(jobs=jobs, on_spark=on_spark)
    first, second = (entrant_of(text).name for text in (one, other))
    found = compared(rows, first, second)
    if as_json:
        click.echo(json.dumps(found.document(), indent=1, ensure_ascii=False))
    else:
        click.echo(comparison_text(found))
