"""``storm-lab bench expected``: record the cost of the last reproduction, for ``storm-lab list``."""

from __future__ import annotations

import click

from storm_lab.errors import UserError
from storm_lab.runs.expected import cost_text, read_cost, write_expected
from storm_lab.runs.reproduce import costs_together, studies


@click.command("expected")
def command() -> None:
    """Write the table of expected times and disk, from what reproducing everything took."""
    all_studies = studies(())
    found = {study.experiment.slug: read_cost(study.workspace) for study in all_studies}
    costs = {slug: cost for slug, cost in found.items() if cost is not None}
    if len(costs) < len(found):
        raise UserError(
            "has not been reproduced from scratch here",
            field="experiment",
            value=next(slug for slug in found if slug not in costs),
            remedy="run: storm-lab reproduce --fresh",
        )
    write_expected(costs)
    click.echo(cost_text(costs_together(all_studies)))
