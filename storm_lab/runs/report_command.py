"""The command ``storm-lab report``."""

from __future__ import annotations

import click

from storm_lab.machine.options import examples
from storm_lab.runs.reproduce import build_report


@click.command(epilog=examples("storm-lab report"))
def report() -> None:
    """Write reports/index.html anew from the published verdicts and figures."""
    click.echo(build_report())
