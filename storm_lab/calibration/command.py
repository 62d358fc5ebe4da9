"""``storm-lab calibrate`` and ``storm-lab recordings``: fit the cost model, and show how well it fits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from tqdm import tqdm

from storm_lab.calibration.constants_file import constants_path, write_fit
from storm_lab.calibration.evaluation import Evaluation, code_digest, steady_rates, targets
from storm_lab.calibration.search import Ranges, search, steps_of
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import examples, jobs_option, json_option
from storm_lab.machine.progress import progress_bar
from storm_lab.model.constant import constants_of
from storm_lab.papers.rstorm.recording import PACKAGED, Recordings, load_recordings


def fitted_ranges() -> Ranges:
    """Return the constants that the cost model marks as fitted, with their physical ranges."""
    return {c.name: (c.low, c.high) for c in constants_of(CostModel()) if c.fitted}


def _refuse_options_without_effect(live: bool) -> None:
    """Refuse options that only the other kind of calibration reads."""
    context = click.get_current_context()
    others = ("--rounds", "--seed") if live else ("--version", "--records", "--out")
    problem = "has no effect with --live" if live else "has no effect without --live"
    remedy = "leave it out" if live else "add --live, or leave it out"
    for option in context.command.params:
        name = str(option.name)
        if option.opts[0] in others and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            given = context.params[name]
            value = ", ".join(given) if isinstance(given, tuple) else str(given)
            raise UserError(problem, field=option.opts[0], value=value, remedy=remedy)


@click.command(
    epilog=examples(
        "storm-lab calibrate",
        "storm-lab calibrate --rounds 0",
        "storm-lab calibrate --rounds 6 --jobs 4",
        "storm-lab calibrate --live --out my-machine.json",
    )
)
@click.option(
    "--rounds",
    default=3,
    show_default=True,
    type=click.IntRange(0, 50),
    help="Without --live: rounds of the search.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, 2**31 - 1),
    help="Without --live: seed of the emulations.",
)
@jobs_option
@click.option("--live", is_flag=True, help="Fit to real Storm on this machine; takes some minutes.")
@click.option(
    "--version", "versions", multiple=True, metavar="V", help="With --live: version of Storm (default: 2.8)."
)
@click.option(
    "--records",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="With --live: use these recorded runs instead of playing.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("machine.json"),
    show_default=True,
    help="With --live: file to which the constants are written.",
)
def calibrate(
    rounds: int, seed: int, jobs: int, live: bool, versions: tuple[str, ...], records: Path | None, out: Path
) -> None:
    """Fit the constants of the cost model on the recorded runs.

    The search starts from the cost model's current values and stays inside their physical ranges; with 0
    rounds the current values are only checked. Otherwise the outcome goes to calibration/constants.json in
    the folder of data; to use it, copy its values into storm_lab/emulator/cost.py. An interrupted
    search continues where it stopped.

    With --live it fits what depends on the machine: real Storm plays for five minutes, and the constants go
    into a file of their own.
    """
    _refuse_options_without_effect(live)
    if live:
        # Only --live needs real Storm.
        from storm_lab.calibration.live import calibrate_live

        calibrate_live(versions or ("2.8",), records, out, jobs)
        return
    if rounds:
        check_folder(constants_path().parent, field="data")
    ranges = fitted_ranges()
    current = {c.name: c.value for c in constants_of(CostModel()) if c.name in ranges}
    tried = count()
    with (
        progress_bar(steps_of(ranges, rounds) + 1, True, "calibrating") as advance,
        Evaluation(seed, jobs, lambda: advance(next(tried), 1.0)) as evaluation,
    ):
        found = search(current, ranges, evaluation.residuals, rounds)
        predicted = evaluation.predicted(found.values)
    fit_targets = targets(load_recordings())
    for name, value in found.values.items():
        click.echo(f"{name:20} {value:8.4g}  (was {current[name]:g})")
    for target in fit_targets:
        error = 100 * (predicted[target.name] / target.measured - 1)
        click.echo(f"{target.name:32} {target.measured:10.4g} {predicted[target.name]:10.4g} {error:+6.1f} %")
    if rounds:
        write_fit(constants_path(), found.values, seed, fit_targets, predicted, code_digest())
        click.echo(f"\nwritten: {constants_path()}")


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
