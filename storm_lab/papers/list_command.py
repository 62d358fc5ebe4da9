"""The command ``storm-lab list``."""

from __future__ import annotations

import json
from typing import Any

import click

from storm_lab.experiments.experiment import Experiment
from storm_lab.machine.options import examples, json_option
from storm_lab.papers.registry import experiment, experiments


@click.command(
    "list", epilog=examples("storm-lab list", "storm-lab list tstorm-word-count", "storm-lab list --json")
)
@click.argument("slug", metavar="[EXPERIMENT]", required=False)
@json_option
def list_experiments(slug: str | None, as_json: bool) -> None:
    """List the experiments, or the parameters of one."""
    chosen = (experiment(slug),) if slug else experiments()
    if as_json:
        click.echo(json.dumps([_described(item) for item in chosen], indent=1, ensure_ascii=False))
    elif slug:
        click.echo(f"{chosen[0].slug}: {chosen[0].title} ({chosen[0].paper}, {chosen[0].figure})\n")
        for parameter in chosen[0].parameters:
            allowed = ", ".join(part for part in (parameter.type_name, parameter.range_text) if part)
            click.echo(f"  {parameter.name} = {_text(parameter.default)}  [{allowed}]\n      {parameter.doc}")
    else:
        width = max(len(item.slug) for item in chosen)
        for item in chosen:
            click.echo(
                f"{item.slug:{width}}  {item.title} ({item.paper}, {item.figure}; {len(item.claims)} claims)"
            )


def _described(experiment: Experiment) -> dict[str, Any]:
    return {
        "slug": experiment.slug,
        "paper": experiment.paper,
        "title": experiment.title,
        "figure": experiment.figure,
        "claims": list(experiment.claims),
        "parameters": [
            {
                "name": parameter.name,
                "default": parameter.default,
                "type": parameter.type_name,
                "unit": parameter.unit,
                "low": parameter.low,
                "high": parameter.high,
                "choices": list(parameter.choices),
                "doc": parameter.doc,
            }
            for parameter in experiment.parameters
        ],
    }


def _text(value: object) -> str:
    return ",".join(f"{item:g}" for item in value) if isinstance(value, tuple) else str(value)
