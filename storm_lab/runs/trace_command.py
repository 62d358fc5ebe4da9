"""The command ``storm-lab trace``."""

from __future__ import annotations

from glob import escape
from pathlib import Path

import click

from storm_lab.errors import UserError
from storm_lab.machine.options import answer, examples, json_option
from storm_lab.machine.places import runs_folder
from storm_lab.tuplelog import open_run
from storm_lab.tuplelog.chrome_trace import write_chrome_trace


@click.command(
    "trace", epilog=examples("storm-lab trace data/runs/tstorm-word-count/RUN trace.json --from 100 --to 101")
)
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--from", "from_s", default=0.0, show_default=True, help="Start in virtual seconds.")
@click.option("--to", "to_s", type=float, help="End in virtual seconds; by default the end of the run.")
@json_option
def trace(folder: Path, file: Path, from_s: float, to_s: float | None, as_json: bool) -> None:
    """Write a run as FILE for Chrome's trace viewer or Perfetto (ui.perfetto.dev).

    RUN is the folder of a run, or its name of sixteen digits, which is looked up in all folders of runs.
    """
    run = open_run(_folder_of(folder), verify=True)
    count = write_chrome_trace(run, file, from_s=from_s, to_s=to_s)
    answer(as_json, {"executions": count, "file": str(file)}, f"{count} executions: {file}")


def _folder_of(run: Path) -> Path:
    if run.is_dir():
        return run
    found = sorted(runs_folder().glob(f"*/{escape(run.name)}")) if run.name == str(run) else []
    if not found:
        message = "neither a folder nor the name of a run"
        remedy = "give a folder that holds a manifest.json, or the name of a run"
        raise UserError(message, field="run", value=str(run), remedy=remedy)
    return found[0]
