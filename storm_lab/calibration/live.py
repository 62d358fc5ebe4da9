"""Fit the constants that depend on the machine to scenes that real Storm has played on it.

Only scenes of the calibrating half are used. Each generation of Storm is fitted to its own scenes, because
the message paths of the generations share little code. Code compiled only by HotSpot's first compiler is
slower: for sittings played in that way, some constants are fitted again, with the others as found.
`docs/live-suite.md` lists which constants are fitted and which are measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count, groupby, islice, product
from multiprocessing import active_children, get_context
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from storm_lab.calibration.measurements import calibrating, links_of, measurements_of, polls_of
from storm_lab.calibration.search import LEAST, Ranges, Values, search, steps_of
from storm_lab.emulator.cost import CostModel
from storm_lab.errors import UserError
from storm_lab.live.records import Place
from storm_lab.live.releases import find_release
from storm_lab.live.suite.build import SUITE_COST
from storm_lab.live.suite.compare import FACTORS, Row, compare_sitting, median_factor
from storm_lab.live.suite.scene import C1_ONLY, Measure
from storm_lab.live.suite.sittings import CALIBRATION, LOGGED
from storm_lab.machine.atomic_file import check_folder
from storm_lab.machine.process_end import end_with_parent
from storm_lab.machine.progress import progress_bar
from storm_lab.model.constant import constants_of
from storm_lab.model.version import V2_0_0
from storm_lab.runs.live_constants import FILE_NAME, MachineConstants, read_constants
from storm_lab.runs.live_play import plays, record_plays
from storm_lab.runs.live_trust import Recorded, emulated, play_of, recorded_runs, with_measured_jvm_start

WEIGHTS = {Measure.THROUGHPUT: 1.0, Measure.CPU: 1.0, Measure.P50: 1.0, Measure.P95: 0.25}
"""Weights of the logarithm of predicted over measured. Tails have causes that the emulator does not play."""

PRIOR_WEIGHT = 0.1
"""Penalty of a constant at twice or half its assumed value: that of an error of a tenth in one measure. Ten
constants fit ten scenes in many ways, and these predict different values for all other scenes.
"""
LARGEST_ERROR = 1.0
"""Largest error, as a logarithm; larger ones count the same, as does a scene without a prediction."""
SOFT_L1_SCALE = 0.2
"""Larger errors count less, so that a scene that the emulator cannot play does not decide all costs."""


def residuals(row: Row) -> list[float]:
    """Return a residual for each weighted measure that is usable, even if the emulator has no prediction."""
    terms = []
    for each in row.compared:
        if each.measured is None or each.unusable or each.measure not in WEIGHTS:
            continue
        value = 0.0 if each.predicted is None else each.predicted.value
        error = LARGEST_ERROR if value <= 0 else math.log(value / each.measured.value)
        terms.append(WEIGHTS[each.measure] * softened(max(-LARGEST_ERROR, min(LARGEST_ERROR, error))))
    return terms


def prior_residuals(values: Values, prior: Values) -> list[float]:
    """Return a residual for each constant with an assumed value: the distance from that value."""
    return [PRIOR_WEIGHT * math.log2(max(values[name], LEAST) / value) for name, value in prior.items()]


def softened(error: float) -> float:
    """Return a residual whose square grows linearly beyond `SOFT_L1_SCALE`, quadratically below (soft L1)."""
    return error * math.sqrt(2 / (math.hypot(1.0, error / SOFT_L1_SCALE) + 1))


PLAYED = (CALIBRATION, "bare", "calls")
"""Played to calibrate a machine: light load, and floods of one worker, which separate code from waits."""
_FITTED_ON = (*PLAYED, "waiting", "light", "flood", "load")
"""Sittings used for a fit if their runs exist already."""

ROUNDS = 3

_FITTED = (
    "code_factor",
    "wake_us",
    "timer_slack_us",
    "asleep_us",
    "write_us",
    "read_us",
    "warm_up_calls",
    "warm_up_factor",
)
"""Fitted for every generation; also `consumer_wake_us` before 2.0."""
_PRIOR: Values = {
    "code_factor": 0.5,
    "wake_us": 10.0,
    "consumer_wake_us": 19.0,
    "asleep_us": 100.0,
    "write_us": 57.0,
    "read_us": 50.0,
    "warm_up_calls": 4_000.0,
    "warm_up_factor": 15.0,
}
"""Values that a machine's constants are assumed to have, where they differ from the defaults: near what
threads of live Storm 0.9.2 took by their own CPU clocks. Half of the work of compilers was done after some
14,000 calls, so a seventh after 4,000. A search begins here, unless an earlier one has found values.
"""
_FIXED: Values = {
    "switch_us": 0.0,
    "slice_us": 0.0,
    "turn_us": 1400.0,
    "cold_cache_us": 120.0,
    "process_penalty": SUITE_COST.process_penalty,
    "serialise_us": 1.6,
    "deserialise_us": 1.0,
    "send_us": 3.0,
    "kryo_2_factor": 1.15,
}
"""No context switch per burst: `consumer_wake_us` includes the switch of the wake. Turns are those of Linux
since 6.6 on two cores. The cost of cold caches is best for the calibrating scenes of all recorded machines.
Serialising and sending are those of Java 17: classes of 0.9.2 in a loop, and what send threads take more for
tuples that leave their worker (`docs/live-suite.md`); in 2.x they cost what they did.
"""
_FITTED_LOGGED = ("write_us", "log_receive_us")
"""Also fitted where a log is written: a bolt's line, and writing to other workers over very many connections.
A spout's line was measured (`log_emit_us`).
"""
_C1_FACTOR = 2.5
"""Expected cost of code from the first compiler, relative to both; fitted on two machines: 2.4 and 4.1."""
_C1_CALLS = 200.0
"""Calls after which HotSpot's first compiler compiles a method (Tier3InvocationThreshold of Java 17)."""
_UPPER_LIMITS = {**{c.name: c.high for c in constants_of(CostModel())}, "wake_us": 20.0}
"""By a trace of the scheduler a woken thread runs after 10 to 20 us on idle cores. Longer times form a second
minimum of the fit, in which a spout sleeps once too often.
"""


@dataclass(frozen=True, slots=True)
class LiveFit:
    """Fitted constants of one generation on one machine, and the scenes compared before and after the fit.

    ``unmeasured`` constants would be measured, but no recorded run does; they keep the value from before.
    """

    title: str
    ranges: Ranges
    constants: Values
    before: Sequence[Row]
    after: Sequence[Row]
    unmeasured: tuple[str, ...] = ()

    @property
    def scenes(self) -> tuple[str, ...]:
        """The scenes on which the constants were fitted."""
        return tuple(row.name for row in self.after)


def fitted_on(recorded: Sequence[Recorded], generation: str) -> list[Recorded]:
    """Return the runs to which `fit_live` fits a generation."""
    return [
        each for each in recorded if each.release.generation == generation and each.sitting.name in _FITTED_ON
    ]


def _ranges(names: Sequence[str]) -> Ranges:
    """Return the ranges in which constants are fitted."""
    constants = [c for c in constants_of(CostModel()) if c.name in names]
    return {c.name: (max(c.low, LEAST), _UPPER_LIMITS[c.name]) for c in constants}


def fit_live(
    recorded: Sequence[Recorded], generation: str, known: Values | None = None, *, jobs: int = 2
) -> LiveFit:
    """Fit a generation's constants to its recorded runs, ``jobs`` sittings at a time, with a progress bar.

    The search begins at ``known`` values, if an earlier one has found any. Raises `UserError` if no
    calibrating scene is usable.
    """
    own = fitted_on(recorded, generation)
    storm = find_release(generation).storm
    waits = () if storm >= V2_0_0 else ("consumer_wake_us",)
    ranges = _ranges((*_FITTED, *waits))
    prior = _start_values(ranges, _PRIOR)
    start = {
        **links_of(own),
        **polls_of(own, storm),
        **_FIXED,
        **_start_values(ranges, {**prior, **(known or {})}),
    }
    return _fit(f"Storm {generation}", own, generation, start, ranges, prior, jobs)


def _start_values(names: Iterable[str], given: Values) -> Values:
    """Return the values at which a search begins: those given, else those of the cost model."""
    return {name: given.get(name, float(getattr(CostModel(), name))) for name in names}


def fit_c1(
    recorded: Sequence[Recorded],
    generation: str,
    found: Values,
    known: Values | None = None,
    *,
    jobs: int = 2,
) -> LiveFit | None:
    """Fit a generation's constants for code that only the first compiler compiled; None without such runs.

    ``recorded`` are runs of any sittings; those played in this way are used. ``found`` are the constants of
    `fit_live`; those that are fitted again begin at ``known`` values. Raises `UserError` as `fit_live`.
    """
    own = [each for each in recorded if each.release.generation == generation and each.sitting.c1_only]
    if not own:
        return None
    logged = any(each.sitting.name == LOGGED for each in own)
    ranges = _ranges(("code_factor", *(_FITTED_LOGGED if logged else ())))
    start = {**found, **_start_values(ranges, {**found, **(known or {})}), "warm_up_calls": _C1_CALLS}
    title = f"Storm {generation}, first compiler alone"
    prior = {"code_factor": _C1_FACTOR * found["code_factor"]}
    return _fit(title, own, generation, start, ranges, prior, jobs)


def _fit(
    title: str,
    own: Sequence[Recorded],
    generation: str,
    start: Values,
    ranges: Ranges,
    prior: Values,
    jobs: int,
) -> LiveFit:
    no_usable_scene = UserError(
        "no recorded scene is usable for calibration",
        field="records",
        value=generation,
        remedy=f"record {CALIBRATION} again on a less busy machine",
    )
    if not own:
        raise no_usable_scene
    measured = measurements_of(own)
    played: dict[tuple[tuple[str, float], ...], list[Row]] = {}
    tried = count()
    with (
        progress_bar(steps_of(ranges, ROUNDS), True, f"fitting {title}") as advance,
        ProcessPoolExecutor(jobs, get_context("spawn"), end_with_parent) as pool,
    ):

        def evaluate(sets: Sequence[Values]) -> list[NDArray[np.float64]]:
            found = []
            for values, rows in zip(sets, _rows(own, list(map(measured.added_to, sets)), pool), strict=True):
                terms = [term for row in rows for term in residuals(row)]
                if not terms:
                    raise no_usable_scene
                played[tuple(values.items())] = rows
                found.append(np.array(terms + prior_residuals(values, prior)))
                advance(next(tried), 1.0)
            return found

        try:
            best = search(start, ranges, evaluate, ROUNDS).values
        except BaseException:
            # On an interrupt, wait neither for the plays in progress nor for those still to come.
            pool.shutdown(wait=False, cancel_futures=True)
            for player in active_children():
                player.terminate()
            raise
    return LiveFit(
        title,
        ranges,
        constants=measured.added_to(best),
        before=played[tuple(start.items())],
        after=played[tuple(best.items())],
        unmeasured=measured.missing,
    )


def _rows(own: Sequence[Recorded], sets: Sequence[Values], pool: Executor) -> Iterator[list[Row]]:
    """Yield the calibrating scenes with the emulator's predictions, for each set of constants."""
    sittings = [list(group) for _, group in groupby(own, key=play_of)]
    played = pool.map(_compared, *zip(*product(sets, sittings), strict=True))
    for _ in sets:
        yield [row for rows in islice(played, len(sittings)) for row in rows if row.usable]


def _compared(values: Values, plays: Sequence[Recorded]) -> list[Row]:
    """Compare a sitting's calibrating scenes on real Storm with the emulator's."""
    first, cost = plays[0], replace(CostModel(), **values)
    with emulated(first, 1, with_measured_jvm_start(cost, plays)) as tables:
        recorded = [each.tables() for each in plays]
        return compare_sitting(first.sitting, first.label, calibrating(first), recorded, [tables])


def calibrate_live(versions: Sequence[str], records: Path | None, out: Path, jobs: int = 2) -> None:
    """Fit the constants of the given versions (see `find_release`) to this machine and write them.

    Without ``records`` of this machine, the sittings are played now. Raises `UserError` if a version, records
    or file cannot be used, or real Storm cannot be started here.
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
        beside = home / machines[0] / FILE_NAME
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
    """Yield a generation's constants and, if played, those under the first compiler alone, from ``known``."""
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
