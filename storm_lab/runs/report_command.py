"""The commands ``storm-lab report`` and ``storm-lab claims``: what is published."""

from __future__ import annotations

import json

import click

from storm_lab.machine.options import examples, json_option


@click.command(epilog=examples("storm-lab report"))
def report() -> None:
    """Write reports/index.html anew from the published verdicts and figures."""
    from storm_lab.runs.reproduce import build_report

    click.echo(build_report())


@click.command(
    epilog=examples(
        "storm-lab claims", "storm-lab claims --experiment tstorm-word-count", "storm-lab claims --json"
    )
)
@click.option("--experiment", "slug", metavar="EXPERIMENT", help="Only the claims of this experiment.")
@json_option
def claims(slug: str | None, as_json: bool) -> None:
    """List what the papers claim and what came out."""
    from storm_lab.experiments.ledger import load_claims
    from storm_lab.experiments.parameter import unknown_name
    from storm_lab.reporting.record import claim_rows
    from storm_lab.runs.reproduce import published_verdicts
    from storm_lab.runs.study import verdict_table

    ledger = load_claims()
    names = tuple(dict.fromkeys((*ledger.owners, *ledger.experiments)))
    if slug is not None and slug not in names:
        raise unknown_name("experiment", slug, names, "the ledger of claims")
    chosen = tuple(v for v in published_verdicts() if slug in (None, v.claim.owner, v.claim.experiment))
    if as_json:
        click.echo(json.dumps(claim_rows(chosen), indent=1, ensure_ascii=False))
    else:
        click.echo(verdict_table(chosen))
