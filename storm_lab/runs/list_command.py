"""The command ``storm-lab list``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from storm_lab.errors import UserError
from storm_lab.experiments.experiment import Experiment
from storm_lab.machine.facts import usable_cores
from storm_lab.machine.options import examples, json_option, param_option, print_json
from storm_lab.papers.registry import experiment, experiments
from storm_lab.runs.completion import complete_experiment
from storm_lab.runs.digest import scalar
from storm_lab.runs.execute import PlannedRun, is_complete_run
from storm_lab.runs.expected import cost_text, expected_costs


@click.command(
    "list",
    epilog=examples(
        "storm-lab list",
        "storm-lab list tstorm-word-count",
        "storm-lab list tstorm-word-count --runs -p seeds=1,2",
        "storm-lab list --json",
    ),
)
@click.argument("slug", metavar="[EXPERIMENT]", required=False, shell_complete=complete_experiment)
@click.option("--runs", "of_runs", is_flag=True, help="List the runs that it would play, and which exist.")
@param_option("Set a parameter, with --runs.")
@json_option
def list_experiments(slug: str | None, of_runs: bool, parameters: tuple[str, ...], as_json: bool) -> None:
    """List the experiments, or the parameters of one, or the runs that it would play."""
    if parameters and not (slug and of_runs):
        remedy = "give EXPERIMENT and --runs"
        raise UserError("can only be used with --runs", field="param", value=parameters[0], remedy=remedy)
    chosen = (experiment(slug),) if slug else experiments()
    if of_runs:
        _list_runs(chosen, parameters, as_json)
    elif as_json:
        print_json([_described(item) for item in chosen])
    elif slug:
        click.echo(f"{chosen[0].slug}: {chosen[0].title} ({chosen[0].paper}, {chosen[0].figure})")
        click.echo(f"{_cost(chosen[0])}\n".lstrip())
        for parameter in chosen[0].parameters:
            allowed = ", ".join(part for part in (parameter.type_name, parameter.range_text) if part)
            click.echo(f"  {parameter.name} = {scalar(parameter.default)}  [{allowed}]")
            click.echo(f"      {parameter.doc}")
    else:
        width = max(len(item.slug) for item in chosen)
        for item in chosen:
            count = len(item.claims)
            claims = f"{count} claim{'s' * (count != 1)}"
            line = f"{item.slug:{width}}  {item.title} ({item.paper}, {item.figure}; {claims})"
            click.echo("  ".join(filter(None, (line, _cost(item)))))


def _list_runs(chosen: Sequence[Experiment], given: tuple[str, ...], as_json: bool) -> None:
    rows: dict[str, dict[str, Any]] = {}
    for item in chosen:
        for spec in item.planned(item.parsed(given)):
            run = PlannedRun.of(spec)
            if run.identity.run not in rows:
                rows[run.identity.run] = {
                    "experiment": spec.experiment,
                    "run": run.identity.run,
                    "variant": spec.variant,
                    "seed": spec.seed,
                    "parameters": dict(run.identity.parameters),
                    "folder": str(run.folder),
                    "there": is_complete_run(run.folder, verify=True),
                }
    if as_json:
        print_json(list(rows.values()))
        return
    width = max(map(len, rows), default=0)
    for name, row in rows.items():
        values = " ".join(f"{name}={value}" for name, value in row["parameters"].items())
        click.echo(f"{name:{width}}  {'exists' if row['there'] else '-':6}  seed {row['seed']}  {values}")
    existing = sum(row["there"] for row in rows.values())
    click.echo(f"{existing} of {len(rows)} runs exist already (same code, same inputs)")


def _cost(experiment: Experiment) -> str:
    known = expected_costs().get(experiment.slug)
    return cost_text((known,), usable_cores()) if known else ""


def _described(experiment: Experiment) -> dict[str, Any]:
    cost = expected_costs().get(experiment.slug)
    return {
        **{name: getattr(experiment, name) for name in ("slug", "paper", "title", "figure", "claims")},
        "expected": asdict(cost) if cost else None,
        "parameters": [
            {"name": parameter.name, "default": parameter.default, "type": parameter.type_name}
            | {name: getattr(parameter, name) for name in ("unit", "low", "high", "choices", "doc")}
            for parameter in experiment.parameters
        ],
    }
