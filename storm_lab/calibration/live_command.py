"""``storm-lab calibrate --live``: play on real Storm, fit, and write the file of constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from storm_lab.calibration.live import PLAYED, LiveFit, fit_c1, fit_live, fitted_on
from storm_lab.calibration.search import Values
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.live.records import Place
from storm_lab.live.releases import find_release
from storm_lab.live.suite.compare import FACTORS, median_factor
from storm_lab.live.suite.scene import C1_ONLY
from storm_lab.machine.atomic_file import check_folder
from storm_lab.runs.live_constants import FILE_NAME, MachineConstants, read_constants
from storm_lab.runs.live_record import plays, record_plays
from storm_lab.runs.live_trust import Recorded, recorded_runs


def calibrate_live(versions: Sequence[str], records: Path | None, out: Path, jobs: int = 2) -> None:
    """Fit the constants of the given versions to this machine and write them.

    ``versions`` are as for `find_release`. Without ``records`` of this machine, the sittings are played now.
    Raises `UserError` if a version, records or file cannot be used, or real Storm cannot be started here.
    """
    generations = list(dict.fromkeys(find_release(text).generation for text in versions))
    if not out.absolute().parent.is_dir():
        raise UserError("the folder does not exist", field="--out", value=str(out), remedy="create it first")
    check_folder(out.absolute().parent, field="--out")
    with ExitStack() as scratch:
        home = records
        if home is None:
            # Placed among the clusters' folders, so that it is removed with them if the command is killed.
            place = Place.make(", ".join(generations))
            scratch.callback(place.remove)
            home = place.folder / "records"
            for _ in record_plays(plays(PLAYED, generations, 1), home):
                pass
        found = recorded_runs(home)
        machines = sorted({each.machine for each in found})
        if len(machines) > 1:
            message = "these records are from several machines"
            remedy = f"give the folder of one machine: {', '.join(machines)}"
            raise UserError(message, field="--records", value=str(home), remedy=remedy)
        for generation in generations:
            if not fitted_on(found, generation):
                message = f"there are no recorded runs of this version to fit in {home}"
                remedy = "leave it out, or run storm-lab live record calibration bare calls with it"
                raise UserError(message, field="--version", value=generation, remedy=remedy)
        beside = home / FILE_NAME
        known = read_constants(beside).constants if beside.is_file() else {}
        fits = {name: fit for each in generations for name, fit in _fits(each, found, known, jobs)}
    facts = found[0].run.manifest.conditions
    machine = {name: facts[name] for name in ("processor", "core_mhz", "cores") if name in facts}
    MachineConstants(
        {generation: dict(fit.constants) for generation, fit in fits.items()},
        {generation: fit.scenes for generation, fit in fits.items()},
        machine,
    ).write(out)
    click.echo(f"written: {out}")


def _fits(
    generation: str, found: Sequence[Recorded], known: Mapping[str, Values], jobs: int
) -> Iterator[tuple[str, LiveFit]]:
    """Yield the constants of a generation, and those of its code under the first compiler alone, if played.

    The search begins at the ``known`` constants.
    """
    fit = fit_live(found, generation, known.get(generation), jobs=jobs)
    show_fit(fit)
    yield generation, fit
    c1 = f"{generation}{C1_ONLY}"
    if slower := fit_c1(found, generation, fit.constants, known.get(c1), jobs=jobs):
        show_fit(slower)
        yield c1, slower


def show_fit(fit: LiveFit) -> None:
    """Print the constants of a fit and how close its scenes are, before and after it."""
    click.echo(f"{fit.title}, on {len(fit.scenes)} scenes")
    for name, value in fit.constants.items():
        note = ", at the limit of its range" if value in fit.ranges.get(name, ()) else ""
        if name in fit.unmeasured:
            note = "; no run has a measurement, so it keeps the value from before"
        click.echo(f"  {name:20} {value:8.4g}  (was {getattr(CostModel(), name):g}{note})")
    for name in FACTORS:
        before, after = (median_factor(name, rows) for rows in (fit.before, fit.after))
        if before is not None and after is not None:
            click.echo(f"  {name:20} {after:8.2f}  (was {before:.2f})")
