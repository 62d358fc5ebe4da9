"""The command ``storm-lab import``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from storm_lab.machine.options import (
    FILE,
    examples,
    file_option,
    json_option,
    overlay_option,
    print_json,
)
from storm_lab.workloads.importers.importing import PYTHON_S, import_topology
from storm_lab.workloads.importers.plain import export_loadgen, export_topology
from storm_lab.workloads.importers.report import report_json, report_text


@click.command(
    "import",
    epilog=examples(
        "storm-lab import topology.yaml --overlay costs.yaml",
        "storm-lab import my-project/topologies/wordcount.py --run-python --out wordcount.yaml",
        "storm-lab import http://ui.example:8080/api/v1/topology/wc-1-1700000000",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@overlay_option
@file_option("--machines", "YAML of machines, or the name of a paper's cluster.")
@click.option(
    "--run-python", is_flag=True, help="Run Python components over their input: their code, with your rights."
)
@click.option(
    "--python-seconds",
    default=PYTHON_S,
    show_default=True,
    type=click.FloatRange(1, 3600),
    help="How long Python may run.",
)
@click.option("--env", "environment", is_flag=True, help="Take ${ENV-NAME} of Flux from the environment.")
@file_option("--out", "Write the topology as storm-lab YAML.")
@file_option("--out-loadgen", "Write it for storm-loadgen, to play it on real Storm.")
@json_option
def import_command(
    files: tuple[str, ...],
    overlay: str | None,
    machines: str | None,
    run_python: bool,
    python_seconds: float,
    environment: bool,
    out: str | None,
    out_loadgen: str | None,
    as_json: bool,
) -> None:
    """Read a topology written for Storm: Flux, storm-loadgen, streamparse, Storm's UI, or storm-lab YAML.

    Prints what was read, what was assumed and what could not be used. Exit status 0: the topology can be
    played; 1: something is missing; 2: the files have none of these formats. Without --run-python no code of
    the files is run.
    """
    imported = import_topology(
        *files,
        overlay=overlay,
        machines=machines,
        run_python=run_python,
        python_seconds=python_seconds,
        environment=environment,
    )
    written: tuple[Path, ...] = ()
    if out is not None and imported.playable is not None:
        written = export_topology(imported.playable, Path(out))
    lost: list[str] = []
    if out_loadgen is not None and imported.playable is not None:
        lost = export_loadgen(imported.playable, Path(out_loadgen))
        written = (*written, Path(out_loadgen))
    if as_json:
        report = report_json(imported) | {"written": [str(path) for path in written], "lost": lost}
        print_json(report)
    else:
        click.echo(report_text(imported), nl=False)
        for path in written:
            click.echo(f"written: {path}")
        if lost:
            click.echo(f"lost in {out_loadgen}: {'; '.join(lost)}")
    if imported.playable is None:
        sys.exit(1)
