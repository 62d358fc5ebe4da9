"""The command ``storm-lab report``."""

from __future__ import annotations

import click

from storm_lab.machine.options import examples, json_option, print_json
from storm_lab.runs.reproduce import build_report


@click.command(epilog=examples("storm-lab report"))
@json_option
def report(as_json: bool) -> None:
    """Write reports/index.html anew from the published verdicts and figures."""
    path = str(build_report())
    if as_json:
        print_json({"report": path})
    else:
        click.echo(path)
