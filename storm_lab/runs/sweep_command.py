"""The command ``storm-lab sweep``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pandas as pd

from storm_lab.errors import UserError
from storm_lab.experiments.parameter import ParameterValue, read_values
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import (
    constants_option,
    examples,
    jobs_option,
    json_option,
    on_spark_option,
    param_option,
    print_json,
)
from storm_lab.runs.completion import complete_experiment
from storm_lab.runs.execute import count_existing, reused_line
from storm_lab.runs.grid import Subject, parse_axis, parse_seeds
from storm_lab.runs.live_constants import given_constants
from storm_lab.runs.sweep import planned
from storm_lab.runs.sweep_table import shown
from storm_lab.schedulers.scheduler_file import schedulers_option


@click.command(
    epilog=examples(
        "storm-lab sweep tstorm-word-count --vary lines_per_s=80,100,120 --seeds 1-5",
        "storm-lab sweep tstorm-word-count --param alpha=0.5 --vary gammas=1:2:0.2",
        'storm-lab sweep tstorm-word-count --seeds 1-5 --metric "steady latency" --json',
        "storm-lab sweep tstorm-word-count --scheduler default --scheduler online:tstorm:gamma=1.8",
        "storm-lab sweep rstorm-network-bound --scheduler my_idea.py:MyIdea --scheduler rstorm",
        "storm-lab sweep tstorm-word-count --seeds 1-5 --constants memory_slowdown=5",
        "storm-lab sweep tstorm-word-count --seeds 1-20 --on-spark",
    )
)
@click.argument("slug", metavar="EXPERIMENT", shell_complete=complete_experiment)
@param_option("Set a parameter.")
@click.option(
    "--vary",
    metavar="NAME=VALUES",
    multiple=True,
    help="Values to try: 80,100,120, 80:120:20 or 1-5. Repeatable, for every combination.",
)
@click.option("--seeds", metavar="SEEDS", help="Seeds, as 1-5 or 1,2,7; by default the experiment's own.")
@schedulers_option(
    "Scheduler to use instead of the experiment's own; repeatable. Prefix online: for measured load.",
    "NAME|FILE.py:CLASS[:K=V,...]",
)
@click.option(
    "--only", metavar="PATTERN", multiple=True, help="Only variants that match this pattern (tstorm-*)."
)
@click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="Metric for the summary; repeatable."
)
@constants_option
@on_spark_option
@jobs_option
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for the tables.")
@click.option("--fresh", is_flag=True, help="Play runs again that already exist.")
@click.option("--dry-run", is_flag=True, help="Show what would run and how many runs exist.")
@json_option
def sweep(
    slug: str,
    parameters: tuple[str, ...],
    vary: tuple[str, ...],
    seeds: str | None,
    schedulers: tuple[str, ...],
    only: tuple[str, ...],
    metrics: tuple[str, ...],
    constants: str | None,
    on_spark: bool,
    jobs: int,
    out: Path | None,
    fresh: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run an experiment over parameters, schedulers and seeds.

    Every run gives a row of metrics computed from its tuple log. The summary has means and 95 % intervals
    over seeds. Existing runs are not played again, and after an interruption the same command continues. The
    exit status is 1 if a run failed.
    """
    subject = Subject.of(slug, schedulers)
    axes: dict[str, list[ParameterValue]] = {}
    for text in vary:
        name, values = parse_axis(text, subject)
        if name in axes:
            raise UserError("is varied twice", field=f"parameter {name}", remedy="give all values at once")
        axes[name] = values
    chosen = parse_seeds(seeds) if seeds is not None else None
    fixed = read_values(subject.declared, parameters, slug)
    found = planned(subject, fixed, axes, chosen, only, metrics, given_constants(constants))
    if dry_run:
        count = {"settings": len(found.settings), **count_existing(found.specs)}
        click.echo(json.dumps(count) if as_json else " ".join(f"{k} {v}" for k, v in count.items()))
        return
    if out is not None:
        check_folder(out, field="out")
    done = found.run(on_spark=on_spark, jobs=jobs, show_progress=True, fresh=fresh)
    folder = done.write(out)
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "runs": _records(done.rows),
                "summary": _records(done.summary),
                "reused": done.reused,
                "failures": list(done.failures),
            }
        )
    else:
        click.echo(shown(done.summary))
        click.echo(f"\n{reused_line(done.reused, done.rows['run'].nunique())}; tables in {folder}")
        for reason in dict.fromkeys(done.failures):
            click.echo(f"failed: {reason.splitlines()[0]}", err=True)
        if len(found.seeds) == 1:
            click.echo("one seed, so no interval: add --seeds 1-5", err=True)
    if done.failures:
        sys.exit(1)


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows as JSON objects; missing values are null."""
    records: list[dict[str, object]] = json.loads(frame.to_json(orient="records"))
    return records
