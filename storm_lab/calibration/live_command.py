"""``storm-lab calibrate --live``: play on real Storm, fit, and write the file of constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import click

from storm_lab.calibration.live import (
    PLAYED,
    ROUNDS,
    LiveFit,
    OnTried,
    c1_ranges,
    fit_c1,
    fit_live,
    ranges_of,
)
from storm_lab.calibration.search import Ranges, Values, steps_of
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.live.records import Place
from storm_lab.live.releases import find_release
from storm_lab.live.storm import to_stderr
from storm_lab.live.suite.compare import FACTORS, median_factor
from storm_lab.live.suite.scene import C1_ONLY
from storm_lab.machine.progress import progress_bar
from storm_lab.runs.live_constants import FILE_NAME, MachineConstants, read_constants
from storm_lab.runs.live_record import plays, record_shown
from storm_lab.runs.live_trust import Recorded, recorded_runs


def calibrate_live(versions: Sequence[str], records: Path | None, out: Path, jobs: int = 2) -> None:
    """Fit the constants of the given versions to this machine and write them.

    ``versions`` are as for `find_release`. Without ``records`` of this machine, the sittings are played now.
    Raises `UserError` if a version, records or file cannot be used, or real Storm cannot be started here.
    """
    generations = [find_release(text).generation for text in versions]
    if not out.absolute().parent.is_dir():
        raise UserError("the folder does not exist", field="--out", value=str(out), remedy="create it first")
    with ExitStack() as scratch:
        home = records
        if home is None:
            # Placed among the clusters' folders, so that it is removed with them if the command is killed.
            place = Place.make(", ".join(generations))
            scratch.callback(place.remove)
            home = place.folder / "records"
            for _ in record_shown(plays(PLAYED, generations, 1), home, to_stderr):
                pass
        found = recorded_runs(home)
        machines = sorted({each.machine for each in found})
        if len(machines) > 1:
            message = "these records are from several machines"
            remedy = f"give the folder of one machine: {', '.join(machines)}"
            raise UserError(message, field="--records", value=str(home), remedy=remedy)
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
    start = known.get(generation, {})
    with _fitting(f"Storm {generation}", ranges_of(generation)) as on_tried:
        fit = fit_live(found, generation, start, jobs=jobs, on_tried=on_tried)
    _show(f"Storm {generation}", generation, fit)
    yield generation, fit
    c1, ranges = f"{generation}{C1_ONLY}", c1_ranges(found, generation)
    if ranges:
        what = f"Storm {generation}, first compiler alone"
        with _fitting(what, ranges) as on_tried:
            slower = fit_c1(found, generation, fit.constants, known.get(c1, {}), jobs=jobs, on_tried=on_tried)
        _show(what, generation, slower)
        yield c1, slower


@contextmanager
def _fitting(what: str, ranges: Ranges) -> Iterator[OnTried]:
    """Show a progress bar for one fit."""
    tried = count()
    with progress_bar(steps_of(ranges, ROUNDS), True, f"fitting {what}") as advance:
        yield lambda: advance(next(tried), 1.0)


def _show(what: str, generation: str, fit: LiveFit) -> None:
    click.echo(f"{what}, on {len(fit.scenes)} scenes")
    ranges = ranges_of(generation)
    for name, value in fit.constants.items():
        edge = ", at the limit of its range" if value in ranges.get(name, ()) else ""
        click.echo(f"  {name:20} {value:8.4g}  (was {getattr(CostModel(), name):g}{edge})")
    for name in FACTORS:
        before, after = (median_factor(name, rows) for rows in (fit.before, fit.after))
        if before is not None and after is not None:
            click.echo(f"  {name:20} {after:8.2f}  (was {before:.2f})")
