"""``storm-lab recordings``: the emulator's prediction for every recorded run of a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from storm_lab.calibration.evaluation import steady_rates
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.machine.options import examples, json_option
from storm_lab.papers.rstorm.recording import PACKAGED, Recordings, load_recordings

Row = Mapping[str, Any]
_RATES = ("sink", "delivered")
_LINE = "{:16} {:10} {:>10} {:>10} {:>10} {:>10}"


def predicted_runs(recordings: Recordings, seed: int) -> Iterator[Row]:
    """Play every recorded run with its placement, in order.

    Yields:
        topology, run; sink_recorded and sink_predicted, the tuples that the sinks execute; delivered_recorded
        and delivered_predicted, those that all bolts with a recorded rate execute. Per 10 s; None if nothing
        was recorded.
    """
    for run in recordings.runs:
        rates = steady_rates(run, CostModel(), seed, recordings)
        sinks = recordings.topology(run.topology).sinks
        between = {name: rate for name, rate in run.executed.items() if name not in sinks}
        sink = sum(rates[name][0] for name in sinks)
        yield {
            "topology": run.topology,
            "run": run.scheduler,
            "sink_recorded": run.sink,
            "sink_predicted": round(sink, 1),
            "delivered_recorded": None if run.sink is None else run.sink + sum(between.values()),
            "delivered_predicted": round(sink + sum(rates[name][0] for name in between), 1),
        }


def _loaded(file: str) -> Recordings:
    """Load a file as `load_recordings` does, but refuse devices, which may have no end, and deep nesting."""
    # Not in `load_recordings`, because runs get their names from its code.
    remedy = "give a JSON file"
    try:
        if file != PACKAGED and Path(file).exists() and not Path(file).is_file():
            raise UserError("is not a regular file", field="recordings", value=file, remedy=remedy)
        return load_recordings(file)
    except (OSError, RecursionError) as error:
        message = f"the recordings cannot be read: {error}"
        raise UserError(message, field="recordings", value=file, remedy=remedy) from error


@click.command(
    name="recordings", epilog=examples("storm-lab recordings", "storm-lab recordings my_cluster.json --json")
)
@click.argument("file", required=False, default=PACKAGED, metavar="[FILE]")
@json_option
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0, 2**31 - 1), help="Seed of the emulations."
)
def recordings(file: str, as_json: bool, seed: int) -> None:
    """Predict every recorded run of FILE from its placement; without FILE those of the package.

    FILE has the form of storm_lab/papers/rstorm/recordings.json: topologies, what their components do, where
    their executors ran, and mean rates in tuples per 10 s where they were recorded.
    """
    known = _loaded(file)
    for name in known.left_out:
        click.echo(f"extra run {name} is skipped: its topology is unknown", err=True)
    bar = tqdm(predicted_runs(known, seed), total=len(known.runs), disable=None, file=sys.stderr, leave=False)
    rows = list(bar)
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    click.echo(_LINE.format("topology", "run", "sink", "predicted", "delivered", "predicted"))
    for row in rows:
        numbers = [row[f"{rate}_{source}"] for rate in _RATES for source in ("recorded", "predicted")]
        texts = ["-" if value is None else f"{value:.0f}" for value in numbers]
        click.echo(_LINE.format(row["topology"], row["run"], *texts))
