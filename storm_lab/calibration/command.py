"""``storm-lab calibrate``: fit the shared constants of the cost model, or show how well they fit."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import click
from click.core import ParameterSource

from storm_lab.calibration.constants_file import constants_path, write_fit
from storm_lab.calibration.evaluation import Evaluation, code_digest, targets
from storm_lab.calibration.search import Ranges, search, steps_of
from storm_lab.emulator.constant import constants_of
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.options import examples, jobs_option
from storm_lab.machine.progress import progress_bar
from storm_lab.papers.rstorm.recording import load_recordings


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
